// The best k by a weighted sum, one query at a time: all parts are searched, joined and asked for what is missing
// before the next query, so that nothing is looked up twice. The answer is that of candidates/weighted_sum.hpp, to the
// last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "candidates/best_sums.hpp"
#include "candidates/item_slots.hpp"
#include "candidates/live_side.hpp"
#include "candidates/open_items.hpp"
#include "candidates/small_slots.hpp"
#include "common/clones.hpp"

namespace vizsla {

namespace detail {

// What a part gives, what at most where that is not known, and how much it counts.
struct LiveColumn {
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
VIZSLA_CLONES static void add_column(const LiveColumn& column, std::size_t count, bool first, double* __restrict sums,
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

// Rounds each sum once, and parts totals from what those with a gap add up to at most: NaN in the other's place.
// Returns whether any sum is no number.
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
class LiveSum {
 public:
  LiveSum(std::span<const LiveTerm> terms, std::span<LiveSource* const> sources, std::size_t taken, std::size_t k)
      : taken_(taken), k_(k) {
    for (std::size_t p = 0; p < terms.size(); ++p) {
      sides_.emplace_back(terms[p], *sources[p], taken);
      most_ += std::min(sides_[p].wanted(), taken);
      order_.push_back(p);
    }
    // Who can tell what others ask comes last; whose numbers would have to be translated for that, before.
    const auto turn = [this](std::size_t p) { return sides_[p].reads_along() ? sides_[p].renumbers() ? 1 : 2 : 0; };
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return turn(a) < turn(b); });
    segments_.resize(sides_.size());
    small_ = SmallSlots::fits(sources[0]->items(), most_);
    if (small_) small_slots_.resize(sources[0]->items());
    room_ = (most_ / 32 + 1) * 32;
    scores_.resize(sides_.size() * room_);
    bounds_.resize(sides_.size() * room_);
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
    for (std::size_t p = 0; p < sides_.size(); ++p) tell(p);
    for (std::size_t p = 0; p < sides_.size(); ++p) look_deeper(p);
    add_up();
    if (!open_.empty()) settle_open();
    return best_.finish();
  }

  // Whether no item outside of all lists can be among the best of the last query.
  bool certain() const {
    double bound = 0;
    for (const LiveSide& side : sides_) bound += side.weight() * static_cast<double>(side.lowest(taken_));
    return best_.full() && best_.least() > static_cast<float>(bound);
  }

  // Whether the part's list of the last query surely holds the best.
  bool certain(std::size_t part) const { return sides_[part].certain(); }

  std::uint64_t take_read(std::size_t part) { return sides_[part].part().take_read(); }
  std::uint64_t take_scored(std::size_t part) { return sides_[part].take_scored(); }

 private:
  static constexpr float unknown = missing_score;
  static constexpr std::size_t few = 8;  // scored at a time: what they get rules out others

  struct Segment {
    std::size_t begin = 0, end = 0;
  };

  void start() {
    if (small_) small_slots_.clear(joined());
    else slots_.start(most_);
    count_ = 0;
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      detail::start_column(column(p), bounds(p), room_, sides_[p].by_rank() ? 0.0F : unknown);
    }
  }

  float* column(std::size_t part) { return scores_.data() + part * room_; }
  float* bounds(std::size_t part) { return bounds_.data() + part * room_; }
  std::span<const std::int32_t> joined() const { return std::span(items_).first(count_); }

  // Searches a part, and joins what it found with what the others did.
  void ask(std::size_t row, std::size_t p) {
    LiveSide& side = sides_[p];
    const auto before = side.reads_along() && !side.by_rank() ? joined() : joined().first(0);
    side.search(row, {in_numbers_of(side, before), {column(p), before.size()}, {bounds(p), before.size()}});
    const auto found = side.items().first(std::min(taken_, side.items().size()));
    for (LiveSide& other : sides_) {
      if (&other != &side) other.expect(found);
    }
    segments_[p].begin = count_;
    if (small_) join(small_slots_, found, side.scores(), column(p));
    else join(slots_, found, side.scores(), column(p));
    segments_[p].end = count_;
  }

  template <class Slots>
  void join(Slots& slots, std::span<const std::int32_t> found, std::span<const float> scores, float* into) {
    if (count_ == 0) join_first(slots, found, scores, into);
    else join_more(slots, found, scores, into);
  }

  // Nobody was found before, and no list names an item twice.
  template <class Slots>
  void join_first(Slots& slots, std::span<const std::int32_t> found, std::span<const float> scores, float* into) {
    std::copy(found.begin(), found.end(), items_.begin());
    std::copy_n(scores.begin(), found.size(), into);
    for (std::size_t place = 0; place < found.size(); ++place)
      slots.put(found[place], static_cast<std::uint32_t>(place));
    count_ = static_cast<std::uint32_t>(found.size());
  }

  template <class Slots>
  void join_more(Slots& slots, std::span<const std::int32_t> found, std::span<const float> scores, float* into) {
    std::int32_t* const items = items_.data();
    std::uint32_t count = count_;
    for (std::size_t place = 0; place < found.size(); ++place) {
      const std::uint32_t at = slots.place(found[place], count);
      items[count] = found[place];  // there is room for one more than are joined: who is new is not guessed
      count += at == count;
      into[at] = scores[place];
    }
    count_ = count;
  }

  std::span<const std::int32_t> in_numbers_of(const LiveSide& side, std::span<const std::int32_t> items) {
    if (!side.renumbers()) return items;
    own_.clear();
    for (const std::int32_t item : items) own_.push_back(side.own_number(item));
    return own_;
  }

  // What lies deeper than the candidates only tells scores.
  void look_deeper(std::size_t p) {
    const LiveSide& side = sides_[p];
    for (std::size_t place = taken_; place < side.items().size(); ++place) {
      const std::int32_t item = side.items()[place];
      const std::uint32_t at = small_ ? small_slots_.known(item) : slots_.known(item);
      if (at != ItemSlots::none) column(p)[at] = side.scores()[place];
    }
  }

  // The part says of what only others found its scores, where its search came by them, or what they are at most.
  void tell(std::size_t p) {
    if (!sides_[p].part().tells()) return;
    tell(p, 0, segments_[p].begin);
    tell(p, segments_[p].end, count_);
  }

  void tell(std::size_t p, std::size_t first, std::size_t end) {
    if (first == end) return;
    const auto items = in_numbers_of(sides_[p], joined().subspan(first, end - first));
    sides_[p].tell({items, {column(p) + first, items.size()}, {bounds(p) + first, items.size()}});
  }

  // Totals of those whom every part has scored; the others are open if what they can get reaches the k-th best of
  // these.
  void add_up() {
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      detail::add_column({column(p), bounds(p), sides_[p].weight(), sides_[p].ceiling()}, room_, p == 0, sums_.data(),
                         gaps_.data());
    }
    if (detail::part_sums(sums_.data(), gaps_.data(), room_, totals_.data(), most_sums_.data())) settle_strange();
    std::fill(totals_.begin() + count_, totals_.end(), unknown);
    best_.start(k_, joined(), totals_);
    open_.start(std::span(most_sums_).first(count_), best_.least());
  }

  // Where a bound and a score are infinite there is no saying what they add up to; where scores are, it is refused.
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

  // Asks for what may reach the k-th best, the most promising first.
  void settle_open() {
    bounded_ = false;
    for (std::size_t p = 0; p < sides_.size(); ++p) bound(p);
    if (bounded_) bound_again();
    open_.drop_below(best_.least());
    const std::size_t step = std::max(few, k_ / 2);
    if (open_.size() > step) open_.put_best_first();
    for (std::size_t first = 0; first < open_.size() && open_.bound(first) >= best_.least();) {
      std::size_t end = first + 1;
      while (end < std::min(first + step, open_.size()) && open_.bound(end) >= best_.least()) ++end;
      const auto some = open_.places().subspan(first, end - first);
      for (std::size_t p = 0; p < sides_.size(); ++p) score(p, some);
      for (const std::uint32_t at : some) best_.add(items_[at], total(at));
      best_.raise();
      first = end;
    }
  }

  // The part looks closer at who is still open.
  void bound(std::size_t p) {
    if (!sides_[p].part().tells() || !find_lacking(p, open_.places())) return;
    limits_.assign(own_.size(), std::numeric_limits<float>::infinity());
    sides_[p].bound(own_, limits_);
    put_limits(p);
    bounded_ = true;
  }

  void score(std::size_t p, std::span<const std::uint32_t> some) {
    if (!find_lacking(p, some)) return;
    sides_[p].score(own_, std::span(values_).first(own_.size()));
    put_values(p);
  }

  // Finds those of whom a part has not said anything yet: `own_` in its numbers, `places_` among the joined.
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
    for (std::size_t i = 0; i < count; ++i) own_[i] = sides_[p].own_number(items_[places_[i]]);
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
    open_.clear_sums();
    for (std::size_t p = 0; p < sides_.size(); ++p) open_.add(column(p), bounds(p), sides_[p].weight());
    open_.round();
  }

  bool complete(std::size_t at) {
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      if (std::isnan(column(p)[at])) return false;
    }
    return true;
  }

  // The sum of what every part has said.
  float total(std::size_t at) {
    double sum = 0;
    for (std::size_t p = 0; p < sides_.size(); ++p) sum += sides_[p].weight() * static_cast<double>(column(p)[at]);
    check_sum(!std::isnan(sum));
    return static_cast<float>(sum);
  }

  std::vector<LiveSide> sides_;
  std::vector<std::size_t> order_;  // in which the parts are searched
  std::size_t taken_, k_, most_ = 0, room_ = 0;
  bool small_ = false;  // which slots are used
  SmallSlots small_slots_;
  ItemSlots slots_;
  BestSums best_;
  OpenItems open_;
  std::uint32_t count_ = 0;
  bool bounded_ = false;                // somebody has looked closer
  std::vector<std::int32_t> items_;     // of all lists, each once; `count_` are joined
  std::vector<float> scores_, bounds_;  // a column a part: what it gives, and what at most where that is not known
  std::vector<Segment> segments_;       // a part's list: those of whom it was the first to speak
  std::vector<double> sums_;
  std::vector<float> gaps_;                // NaN where a score is missing
  std::vector<float> totals_, most_sums_;  // what they add up to; where a score is missing, at most
  std::vector<std::int32_t> own_;
  std::vector<float> values_, limits_;
  std::vector<std::uint32_t> places_;
};

}  // namespace vizsla
