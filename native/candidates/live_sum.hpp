// The best k by a weighted sum, one query at a time: all parts are searched, joined and asked for what is missing before the
// next query, so that nothing is looked up twice. The answer is that of candidates/weighted_sum.hpp, to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "candidates/item_slots.hpp"
#include "candidates/live_part.hpp"
#include "candidates/part_rows.hpp"
#include "candidates/rank.hpp"
#include "common/checks.hpp"

namespace vizsla {

enum class Scaling { none, minmax, zscore, rank };

// How a part's scores enter the sum, and what its item numbers are in the sum's; no numbers: they are the same.
struct LiveTerm {
  double weight;
  Scaling scaling;
  std::size_t depth;
  std::span<const std::int32_t> to_merged, from_merged;

  std::size_t wanted(std::size_t taken) const { return scaling == Scaling::none ? taken : std::max(taken, depth); }
};

// One thread's work.
class LiveSum {
 public:
  LiveSum(std::span<const LiveTerm> terms, std::span<LiveSource* const> sources, std::size_t taken, std::size_t k)
      : taken_(taken), k_(k) {
    for (std::size_t p = 0; p < terms.size(); ++p) {
      const std::size_t wanted = std::min(terms[p].wanted(taken), sources[p]->items());
      auto part = sources[p]->open(std::max<std::size_t>(wanted, 1), terms[p].scaling != Scaling::rank);
      Side& side = sides_.emplace_back(Side{terms[p], std::move(part), wanted, sources[p]->reads_along(), {}, {}, {}, 0});
      if (terms[p].scaling == Scaling::rank) {
        for (std::size_t place = 0; place < wanted; ++place) side.places.push_back(reciprocal_place(place, terms[p].depth));
      }
      most_ += std::min(wanted, taken);
      order_.push_back(p);
    }
    // Who can tell what others ask comes last; whose numbers would have to be translated for that, before.
    const auto turn = [this](std::size_t p) { return sides_[p].reads_along ? sides_[p].term.to_merged.empty() ? 2 : 1 : 0; };
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return turn(a) < turn(b); });
  }

  // The best k of a query, as keys for `signed_score_of` and `item_of`, valid until the next one.
  std::span<const std::uint64_t> search(std::size_t row) {
    start();
    for (const std::size_t p : order_) ask(row, p);
    for (std::size_t p = 0; p < sides_.size(); ++p) look_deeper(p);
    add_up();
    settle_open();
    ranker_.clear();
    for (std::size_t at = 0; at < items_.size(); ++at) {
      if (totals_[at] >= least()) ranker_.push(items_[at], totals_[at]);
    }
    return ranker_.best(k_);
  }

  // Whether no item outside of all lists can be among the best of the last query.
  bool certain() const {
    double bound = 0;
    for (const Side& side : sides_) bound += side.term.weight * static_cast<double>(side.floor());
    return best_.size() == k_ && best_.front() > static_cast<float>(bound);
  }

  // Whether the part's list of the last query surely holds the best.
  bool certain(std::size_t part) const { return sides_[part].found.certain; }

  std::uint64_t take_read(std::size_t part) { return sides_[part].part->take_read(); }
  std::uint64_t take_scored(std::size_t part) { return std::exchange(sides_[part].scored, 0); }

 private:
  static constexpr float unknown = missing_score;
  static constexpr std::size_t few = 8;  // scored at a time: what they get rules out others

  struct Side {
    LiveTerm term;
    std::unique_ptr<LivePart> part;
    std::size_t wanted;
    bool reads_along;
    std::vector<float> places;  // by rank: what each gives
    LiveAnswer found;
    RowScale scale;
    std::uint64_t scored;

    float at_place(std::size_t place) const {
      return term.scaling == Scaling::rank ? places[place] : scale.of(found.scores[place]);
    }
    // The score of the last that was found; infinity where nothing was.
    float floor() const {
      return found.items.empty() ? std::numeric_limits<float>::infinity() : at_place(found.items.size() - 1);
    }
    // What no item outside of the list exceeds.
    float ceiling() const { return found.certain || term.scaling == Scaling::rank ? floor() : scale.of(found.ceiling); }
  };

  struct Open {
    float bound;
    std::size_t at;
  };

  void start() {
    slots_.start(most_);
    items_.clear();
    best_.clear();
    scores_.resize(sides_.size() * most_);
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      std::fill_n(column(p), most_, sides_[p].term.scaling == Scaling::rank ? 0.0F : unknown);
    }
  }

  float* column(std::size_t part) { return scores_.data() + part * most_; }

  // Searches a part, and joins what it found with what the others did.
  void ask(std::size_t row, std::size_t p) {
    Side& side = sides_[p];
    AlsoWanted also{};
    const std::size_t before = side.reads_along && side.term.scaling != Scaling::rank ? items_.size() : 0;
    if (before > 0) {
      own_.clear();
      for (const std::int32_t item : items_) own_.push_back(own_number(side, item));
      values_.assign(before, unknown);
      also = {own_, values_};
    }
    side.part->search(row, std::max<std::size_t>(side.wanted, 1), also, side.found);
    to_merged(side);
    side.scale = scale_of(side);
    float* scores = column(p);
    for (std::size_t at = 0; at < before; ++at) {
      if (!std::isnan(values_[at])) scores[at] = side.scale.of(values_[at]);
    }
    join(side, scores);
  }

  void join(const Side& side, float* scores) {
    const std::size_t candidates = std::min(taken_, side.found.items.size());
    for (std::size_t place = 0; place < candidates; ++place) {
      const auto next = static_cast<std::uint32_t>(items_.size());
      const std::uint32_t at = slots_.place(side.found.items[place], next);
      if (at == next) items_.push_back(side.found.items[place]);
      scores[at] = side.at_place(place);
    }
  }

  // What lies deeper than the candidates only tells scores.
  void look_deeper(std::size_t p) {
    const Side& side = sides_[p];
    for (std::size_t place = taken_; place < side.found.items.size(); ++place) {
      const std::uint32_t at = slots_.known(side.found.items[place]);
      if (at != ItemSlots::none) column(p)[at] = side.at_place(place);
    }
  }

  // Maps are as long as a catalogue, so they are checked where they are used, not whole at every call.
  static std::int32_t translated(std::span<const std::int32_t> numbers, std::int32_t item, std::size_t most) {
    require(static_cast<std::size_t>(item) < numbers.size(), "every item must have a number in both catalogues");
    const std::int32_t number = numbers[static_cast<std::size_t>(item)];
    require(number >= 0 && static_cast<std::size_t>(number) < most, "every item must have a number in both catalogues");
    return number;
  }

  static std::int32_t own_number(const Side& side, std::int32_t item) {
    const LiveTerm& term = side.term;
    return term.from_merged.empty() ? item : translated(term.from_merged, item, term.to_merged.size());
  }

  // Equals go by the sum's numbers.
  static void to_merged(Side& side) {
    if (side.term.to_merged.empty()) return;
    std::vector<std::int32_t>& items = side.found.items;
    const std::vector<float>& scores = side.found.scores;
    for (std::int32_t& item : items) item = translated(side.term.to_merged, item, side.term.from_merged.size());
    for (std::size_t first = 0, end = 0; first < items.size(); first = end) {
      for (end = first + 1; end < items.size() && scores[end] == scores[first];) ++end;
      if (end > first + 1) {
        std::sort(items.begin() + static_cast<std::ptrdiff_t>(first), items.begin() + static_cast<std::ptrdiff_t>(end));
      }
    }
  }

  static RowScale scale_of(const Side& side) {
    const auto ranked = std::span(side.found.scores).first(std::min(side.term.depth, side.found.scores.size()));
    if (side.term.scaling == Scaling::minmax) return minmax_scale(ranked);
    if (side.term.scaling == Scaling::zscore) return zscore_scale(ranked);
    return {};
  }

  // Totals of those whom every part has scored; the others are open, with a bound by the parts' ceilings.
  void add_up() {
    const std::size_t count = items_.size();
    totals_.assign(count, unknown);
    sums_.assign(count, 0.0);
    limits_.resize(sides_.size());
    open_.clear();
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      const float* scores = column(p);
      const double weight = sides_[p].term.weight;
      for (std::size_t at = 0; at < count; ++at) sums_[at] += weight * static_cast<double>(scores[at]);
      limits_[p] = sides_[p].ceiling();
    }
    for (std::size_t at = 0; at < count; ++at) {
      if (!std::isnan(sums_[at])) {
        close(at, static_cast<float>(sums_[at]));
      } else if (complete(at)) {  // infinite scores: there is no saying
        close(at, std::numeric_limits<float>::infinity());
      } else {
        open_.push_back({bounded(at, limits_.data()), at});
      }
    }
  }

  // Asks for what may reach the k-th best, the most promising first.
  void settle_open() {
    drop_hopeless();
    if (open_.empty()) return;
    tighten();
    drop_hopeless();
    std::sort(open_.begin(), open_.end(), [](const Open& a, const Open& b) { return a.bound > b.bound; });
    const std::size_t step = std::max(few, k_ / 2);
    std::size_t expected = 0;
    for (std::size_t first = 0; first < open_.size() && open_[first].bound >= least();) {
      expected = expect(expected, first + 3 * few);
      std::size_t end = first + 1;
      while (end < std::min(first + step, open_.size()) && open_[end].bound >= least()) ++end;
      const auto some = std::span(open_).subspan(first, end - first);
      for (std::size_t p = 0; p < sides_.size(); ++p) score(p, some);
      for (const Open& one : some) {
        if (complete(one.at)) close(one.at, bounded(one.at, limits_.data()));
      }
      first = end;
    }
  }

  // Says to the parts who comes next, up to `end`; returns how far it is known.
  std::size_t expect(std::size_t from, std::size_t end) {
    end = std::min(std::max(from, end), open_.size());
    for (std::size_t p = 0; from < end && p < sides_.size(); ++p) {
      if (!sides_[p].part->bounds()) continue;
      lacking(p, std::span(open_).subspan(from, end - from));
      sides_[p].part->expect(own_);
    }
    return end;
  }

  void drop_hopeless() {
    std::erase_if(open_, [least = least()](const Open& open) { return open.bound < least; });
  }

  // Each part says of the items that it lacks what they can get at most.
  void tighten() {
    const std::size_t parts = sides_.size();
    bounds_.resize(parts * open_.size());
    for (std::size_t i = 0; i < open_.size(); ++i) std::copy_n(limits_.begin(), parts, bounds_.begin() + static_cast<std::ptrdiff_t>(i * parts));
    for (std::size_t p = 0; p < parts; ++p) {
      if (!sides_[p].part->bounds()) continue;
      lacking(p, open_);
      if (own_.empty()) continue;
      values_.resize(own_.size());
      sides_[p].part->bound(own_, values_);
      for (std::size_t i = 0, next = 0; i < open_.size() && next < own_.size(); ++i) {
        if (open_[i].at != places_[next]) continue;
        float& bound = bounds_[i * parts + p];
        bound = std::min(bound, sides_[p].scale.of(values_[next++]));
      }
    }
    for (std::size_t i = 0; i < open_.size(); ++i) open_[i].bound = bounded(open_[i].at, bounds_.data() + i * parts);
  }

  void score(std::size_t p, std::span<const Open> some) {
    lacking(p, some);
    if (own_.empty()) return;
    values_.resize(own_.size());
    sides_[p].part->score(own_, values_);
    sides_[p].scored += own_.size();
    for (std::size_t i = 0; i < own_.size(); ++i) {
      require(!std::isnan(values_[i]), "scores must be numbers; got NaN");
      column(p)[places_[i]] = sides_[p].scale.of(values_[i]);
    }
  }

  // Those of whom a part has not said anything yet: `own_` in its numbers, `places_` among the joined.
  void lacking(std::size_t p, std::span<const Open> some) {
    own_.clear();
    places_.clear();
    for (const Open& one : some) {
      if (!std::isnan(column(p)[one.at])) continue;
      own_.push_back(own_number(sides_[p], items_[one.at]));
      places_.push_back(one.at);
    }
  }

  bool complete(std::size_t at) {
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      if (std::isnan(column(p)[at])) return false;
    }
    return true;
  }

  // The sum with what a part gives at most where its score is missing: a bound, since every step of a sum is monotone.
  float bounded(std::size_t at, const float* limits) {
    double total = 0;
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      const float score = column(p)[at];
      total += sides_[p].term.weight * static_cast<double>(std::isnan(score) ? limits[p] : score);
    }
    return std::isnan(total) ? std::numeric_limits<float>::infinity() : static_cast<float>(total);
  }

  void close(std::size_t at, float total) {
    totals_[at] = total;
    if (best_.size() < k_) {
      best_.push_back(total);
      std::push_heap(best_.begin(), best_.end(), std::greater<>());
    } else if (total > best_.front()) {
      std::pop_heap(best_.begin(), best_.end(), std::greater<>());
      best_.back() = total;
      std::push_heap(best_.begin(), best_.end(), std::greater<>());
    }
  }

  // The k-th best so far.
  float least() const { return best_.size() < k_ ? -std::numeric_limits<float>::infinity() : best_.front(); }

  std::vector<Side> sides_;
  std::vector<std::size_t> order_;  // in which the parts are searched
  std::size_t taken_, k_, most_ = 0;
  ItemSlots slots_;
  RowRanker ranker_;
  std::vector<std::int32_t> items_;      // of all lists, each once
  std::vector<float> scores_;            // a column a part
  std::vector<float> limits_, bounds_;   // what each part gives at most to anybody, and to each that is open
  std::vector<double> sums_;
  std::vector<float> totals_, best_;     // the sums as they are shown, and a heap of the best k, the least in front
  std::vector<Open> open_;
  std::vector<std::int32_t> own_;
  std::vector<float> values_;
  std::vector<std::size_t> places_;
};

}  // namespace vizsla
