// The best k by a weighted sum, one query at a time: all parts are searched, joined and asked for missing scores before
// the next query, so that nothing is looked up twice. The answer equals that of candidates/weighted_sum.hpp bit for
// bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "candidates/best_sums.hpp"
#include "candidates/id_map.hpp"
#include "candidates/scaled_cursor.hpp"
#include "candidates/undecided.hpp"
#include "common/clones.hpp"

namespace vizsla {

namespace detail {

// A part's scores, the upper bounds where scores are missing, its weight and the bound of all unlisted items.
struct ScoreColumn {
  const float* scores;
  float* bounds;
  double weight;
  float ceiling;
};

VIZSLA_CLONES static void start_column(float* __restrict scores, float* __restrict bounds, std::size_t count,
                                       float score) {
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] = score;
    bounds[i] = std::numeric_limits<float>::infinity();
  }
}

// Adds a part's scores, or where they are missing its bounds, which are lowered to its ceiling; notes by NaN where any
// is missing. The first part's are added to nothing, which need not be there.
VIZSLA_CLONES static void add_column(const ScoreColumn& column, std::size_t count, bool first, double* __restrict sums,
                                     float* __restrict gaps) {
  const float* __restrict const scores = column.scores;
  float* __restrict const bounds = column.bounds;
  const double weight = column.weight;
  const float ceiling = column.ceiling;
  for (std::size_t i = 0; i < count; ++i) {
    const float score = scores[i], bound = bounds[i] < ceiling ? bounds[i] : ceiling;
    bounds[i] = bound;
    gaps[i] = score == score ? first ? 0.0F : gaps[i] : score;
    sums[i] = (first ? 0.0 : sums[i]) + weight * static_cast<double>(score == score ? score : bound);
  }
}

// Rounds each sum once, and separates complete totals from the upper bounds of incomplete ones: NaN in the other array.
// Returns whether any sum is NaN.
VIZSLA_CLONES static bool part_sums(const double* __restrict sums, const float* __restrict gaps, std::size_t count,
                                    float* __restrict totals, float* __restrict most) {
  std::int32_t strange = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto sum = static_cast<float>(sums[i]);
    const bool whole = gaps[i] == gaps[i];
    totals[i] = whole ? sum : missing_score;
    most[i] = whole ? missing_score : sum;
    strange |= sum == sum ? 0 : 1;
  }
  return strange != 0;
}

}  // namespace detail

// One thread's work.
class CursorSum {
 public:
  CursorSum(std::span<const SumTerm> terms, std::span<CursorSource* const> sources, std::size_t taken, std::size_t k)
      : taken_(taken), k_(k) {
    for (std::size_t p = 0; p < terms.size(); ++p) {
      cursors_.emplace_back(terms[p], *sources[p], taken);
      most_ += std::min(cursors_[p].wanted(), taken);
      order_.push_back(p);
    }
    // Parts that can score requested items come last; before them those that would have to translate the numbers.
    const auto stage = [this](std::size_t p) {
      return cursors_[p].reads_along() ? cursors_[p].renumbers() ? 1 : 2 : 0;
    };
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return stage(a) < stage(b); });
    segments_.resize(cursors_.size());
    small_ = ByteIdMap::fits(sources[0]->items(), most_);
    if (small_) byte_map_.resize(sources[0]->items());
    room_ = (most_ / 32 + 1) * 32;
    scores_.resize(cursors_.size() * room_);
    bounds_.resize(cursors_.size() * room_);
    items_.resize(room_);
    totals_.resize(room_);
    most_sums_.resize(room_);
    sums_.resize(room_);
    gaps_.resize(room_);
    values_.resize(room_);
  }

  // The best k of a query, as keys for `signed_score_of` and `item_of`, valid until the next one.
  std::span<const std::uint64_t> search(std::size_t row) {
    start();
    for (const std::size_t p : order_) ask(row, p);
    for (std::size_t p = 0; p < cursors_.size(); ++p) tell(p);
    for (std::size_t p = 0; p < cursors_.size(); ++p) look_deeper(p);
    add_up();
    if (!undecided_.empty()) score_undecided();
    return best_.finish();
  }

  // Whether no item outside of all lists can be among the best of the last query.
  bool certain() const {
    double bound = 0;
    for (const ScaledCursor& cursor : cursors_) bound += cursor.weight() * static_cast<double>(cursor.lowest(taken_));
    return best_.full() && best_.least() > static_cast<float>(bound);
  }

  // Whether the part's list of the last query surely holds the best.
  bool certain(std::size_t part) const { return cursors_[part].certain(); }

  std::uint64_t take_read(std::size_t part) { return cursors_[part].part().take_read(); }
  std::uint64_t take_scored(std::size_t part) { return cursors_[part].take_scored(); }

 private:
  static constexpr float unknown = missing_score;
  static constexpr std::size_t few = 8;  // items scored at a time: their totals rule out others

  struct Segment {
    std::size_t begin = 0, end = 0;
  };

  void start() {
    if (small_) byte_map_.clear(joined());
    else hash_map_.start(most_);
    count_ = 0;
    for (std::size_t p = 0; p < cursors_.size(); ++p) {
      detail::start_column(column(p), bounds(p), room_, cursors_[p].by_rank() ? 0.0F : unknown);
    }
  }

  float* column(std::size_t part) { return scores_.data() + part * room_; }
  float* bounds(std::size_t part) { return bounds_.data() + part * room_; }
  std::span<const std::int32_t> joined() const { return std::span(items_).first(count_); }

  // Searches a part, and joins its hits with those of the other parts.
  void ask(std::size_t row, std::size_t p) {
    ScaledCursor& cursor = cursors_[p];
    const auto before = cursor.reads_along() && !cursor.by_rank() ? joined() : joined().first(0);
    cursor.search(row, {in_numbers_of(cursor, before), {column(p), before.size()}, {bounds(p), before.size()}});
    const auto found = cursor.items().first(std::min(taken_, cursor.items().size()));
    for (ScaledCursor& other : cursors_) {
      if (&other != &cursor) other.expect(found);
    }
    segments_[p].begin = count_;
    if (small_) join(byte_map_, found, cursor.scores(), column(p));
    else join(hash_map_, found, cursor.scores(), column(p));
    segments_[p].end = count_;
  }

  template <class IdMap>
  void join(IdMap& map, std::span<const std::int32_t> found, std::span<const float> scores, float* into) {
    if (count_ == 0) join_first(map, found, scores, into);
    else join_more(map, found, scores, into);
  }

  // The first list: all items are new, and no list has an item twice.
  template <class IdMap>
  void join_first(IdMap& map, std::span<const std::int32_t> found, std::span<const float> scores, float* into) {
    std::copy(found.begin(), found.end(), items_.begin());
    std::copy_n(scores.begin(), found.size(), into);
    for (std::size_t place = 0; place < found.size(); ++place) map.put(found[place], static_cast<std::uint32_t>(place));
    count_ = static_cast<std::uint32_t>(found.size());
  }

  template <class IdMap>
  void join_more(IdMap& map, std::span<const std::int32_t> found, std::span<const float> scores, float* into) {
    std::int32_t* const items = items_.data();
    std::uint32_t count = count_;
    for (std::size_t place = 0; place < found.size(); ++place) {
      const std::uint32_t at = map.place(found[place], count);
      items[count] = found[place];  // without a branch on whether it is new; there is room for one more than are joined
      count += at == count;
      into[at] = scores[place];
    }
    count_ = count;
  }

  std::span<const std::int32_t> in_numbers_of(const ScaledCursor& cursor, std::span<const std::int32_t> items) {
    if (!cursor.renumbers()) return items;
    own_.clear();
    for (const std::int32_t item : items) own_.push_back(cursor.own_number(item));
    return own_;
  }

  // Hits beyond the first `taken` add no candidates; they only supply scores.
  void look_deeper(std::size_t p) {
    const ScaledCursor& cursor = cursors_[p];
    for (std::size_t place = taken_; place < cursor.items().size(); ++place) {
      const std::int32_t item = cursor.items()[place];
      const std::uint32_t at = small_ ? byte_map_.known(item) : hash_map_.known(item);
      if (at != HashIdMap::none) column(p)[at] = cursor.scores()[place];
    }
  }

  // Asks a part about items that only others found: scores its search computed, or upper bounds.
  void tell(std::size_t p) {
    if (!cursors_[p].part().tells()) return;
    tell(p, 0, segments_[p].begin);
    tell(p, segments_[p].end, count_);
  }

  void tell(std::size_t p, std::size_t first, std::size_t end) {
    if (first == end) return;
    const auto items = in_numbers_of(cursors_[p], joined().subspan(first, end - first));
    cursors_[p].tell({items, {column(p) + first, items.size()}, {bounds(p) + first, items.size()}});
  }

  // Computes totals of items that every part has scored. The others are undecided if their bound reaches the k-th best
  // total.
  void add_up() {
    for (std::size_t p = 0; p < cursors_.size(); ++p) {
      detail::add_column({column(p), bounds(p), cursors_[p].weight(), cursors_[p].ceiling()}, room_, p == 0,
                         sums_.data(), gaps_.data());
    }
    if (detail::part_sums(sums_.data(), gaps_.data(), room_, totals_.data(), most_sums_.data())) settle_strange();
    std::fill(totals_.begin() + count_, totals_.end(), unknown);
    best_.start(k_, joined(), totals_);
    undecided_.start(std::span(most_sums_).first(count_), best_.least());
  }

  // An infinite bound plus an infinite score has no defined sum, so the bound is infinity; two scores are an error.
  void settle_strange() {
    for (std::size_t at = 0; at < count_; ++at) {
      if (!std::isnan(totals_[at]) || !std::isnan(most_sums_[at])) continue;
      check_sum(!complete(at));
      most_sums_[at] = std::numeric_limits<float>::infinity();
    }
  }

  static void check_sum(bool right) {
    require(right, "scores must add up; got infinity less infinity, or 0 times infinity: clip them");
  }

  // Scores undecided items, the most promising first, until none can reach the k-th best.
  void score_undecided() {
    bounded_ = false;
    for (std::size_t p = 0; p < cursors_.size(); ++p) bound(p);
    if (bounded_) bound_again();
    undecided_.drop_below(best_.least());
    const std::size_t step = std::max(few, k_ / 2);
    if (undecided_.size() > step) undecided_.put_best_first();
    for (std::size_t first = 0; first < undecided_.size() && undecided_.bound(first) >= best_.least();) {
      std::size_t end = first + 1;
      while (end < std::min(first + step, undecided_.size()) && undecided_.bound(end) >= best_.least()) ++end;
      const auto some = undecided_.places().subspan(first, end - first);
      for (std::size_t p = 0; p < cursors_.size(); ++p) score(p, some);
      for (const std::uint32_t at : some) best_.add(items_[at], total(at));
      best_.raise();
      first = end;
    }
  }

  // Asks a part for tighter bounds of the undecided items.
  void bound(std::size_t p) {
    if (!cursors_[p].part().tells() || !find_lacking(p, undecided_.places())) return;
    limits_.assign(own_.size(), std::numeric_limits<float>::infinity());
    cursors_[p].bound(own_, limits_);
    put_limits(p);
    bounded_ = true;
  }

  void score(std::size_t p, std::span<const std::uint32_t> some) {
    if (!find_lacking(p, some)) return;
    cursors_[p].score(own_, std::span(values_).first(own_.size()));
    put_values(p);
  }

  // Finds the items without a score of this part: `own_` in its numbers, `places_` among the joined.
  bool find_lacking(std::size_t p, std::span<const std::uint32_t> some) {
    places_.resize(some.size());
    const float* const scores = column(p);
    std::size_t count = 0;
    for (const std::uint32_t at : some) {
      places_[count] = at;
      count += std::isnan(scores[at]);
    }
    places_.resize(count);
    own_.resize(count);
    for (std::size_t i = 0; i < count; ++i) own_[i] = cursors_[p].own_number(items_[places_[i]]);
    return count > 0;
  }

  void put_values(std::size_t p) {
    for (std::size_t i = 0; i < places_.size(); ++i) column(p)[places_[i]] = values_[i];
  }

  void put_limits(std::size_t p) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      float& bound = bounds(p)[places_[i]];
      bound = std::min(bound, limits_[i]);
    }
  }

  void bound_again() {
    undecided_.clear_sums();
    for (std::size_t p = 0; p < cursors_.size(); ++p) undecided_.add(column(p), bounds(p), cursors_[p].weight());
    undecided_.round();
  }

  bool complete(std::size_t at) {
    for (std::size_t p = 0; p < cursors_.size(); ++p) {
      if (std::isnan(column(p)[at])) return false;
    }
    return true;
  }

  // The weighted sum of all parts' scores.
  float total(std::size_t at) {
    double sum = 0;
    for (std::size_t p = 0; p < cursors_.size(); ++p) sum += cursors_[p].weight() * static_cast<double>(column(p)[at]);
    check_sum(!std::isnan(sum));
    return static_cast<float>(sum);
  }

  std::vector<ScaledCursor> cursors_;
  std::vector<std::size_t> order_;  // in which the parts are searched
  std::size_t taken_, k_, most_ = 0, room_ = 0;
  bool small_ = false;  // which map are used
  ByteIdMap byte_map_;
  HashIdMap hash_map_;
  BestSums best_;
  UndecidedItems undecided_;
  std::uint32_t count_ = 0;
  bool bounded_ = false;                // some bounds were tightened
  std::vector<std::int32_t> items_;     // of all lists, each once; `count_` are joined
  std::vector<float> scores_, bounds_;  // one column per part: scores, and bounds where they are missing
  std::vector<Segment> segments_;       // per part: the items it was the first to find
  std::vector<double> sums_;
  std::vector<float> gaps_;                // NaN where a score is missing
  std::vector<float> totals_, most_sums_;  // complete sums, and upper bounds of incomplete ones
  std::vector<std::int32_t> own_;
  std::vector<float> values_, limits_;
  std::vector<std::uint32_t> places_;
};

}  // namespace vizsla
