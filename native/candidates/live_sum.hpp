// The best k by a weighted sum, one query at a time: all parts are searched, joined and asked for what is missing before the
// next query, so that nothing is looked up twice. The answer is that of candidates/weighted_sum.hpp, to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "candidates/item_slots.hpp"
#include "candidates/live_side.hpp"
#include "common/clones.hpp"
#include "common/topk.hpp"

namespace vizsla {

namespace detail {

// Adds a part's scores, and again with bounds, which are lowered to the ceiling, where scores are missing.
VIZSLA_CLONES static void add_column(const float* scores, float* bounds, std::size_t count, double weight, float ceiling,
                                     double* sums, double* highest) {
  for (std::size_t at = 0; at < count; ++at) {
    const float score = scores[at], bound = bounds[at] < ceiling ? bounds[at] : ceiling;
    bounds[at] = bound;
    sums[at] += weight * static_cast<double>(score);
    highest[at] += weight * static_cast<double>(score == score ? score : bound);
  }
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
    scores_.resize(sides_.size() * most_);
    bounds_.resize(sides_.size() * most_);
  }

  // The best k of a query, as keys for `signed_score_of` and `item_of`, valid until the next one.
  std::span<const std::uint64_t> search(std::size_t row) {
    start();
    for (const std::size_t p : order_) ask(row, p);
    for (std::size_t p = 0; p < sides_.size(); ++p) look_deeper(p);
    add_up();
    settle_open();
    return best_.finish();
  }

  // Whether no item outside of all lists can be among the best of the last query.
  bool certain() const {
    double bound = 0;
    for (const LiveSide& side : sides_) bound += side.weight() * static_cast<double>(side.floor());
    return best_.floor() != 0 && least_ > static_cast<float>(bound);
  }

  // Whether the part's list of the last query surely holds the best.
  bool certain(std::size_t part) const { return sides_[part].certain(); }

  std::uint64_t take_read(std::size_t part) { return sides_[part].part().take_read(); }
  std::uint64_t take_scored(std::size_t part) { return sides_[part].take_scored(); }

 private:
  static constexpr float unknown = missing_score;
  static constexpr std::size_t few = 8;  // scored at a time: what they get rules out others

  struct Open {
    float bound;
    std::size_t at;
  };

  void start() {
    slots_.start(most_);
    items_.clear();
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      std::fill_n(column(p), most_, sides_[p].by_rank() ? 0.0F : unknown);
      std::fill_n(bounds(p), most_, std::numeric_limits<float>::infinity());
    }
  }

  float* column(std::size_t part) { return scores_.data() + part * most_; }
  float* bounds(std::size_t part) { return bounds_.data() + part * most_; }

  // Searches a part, and joins what it found with what the others did.
  void ask(std::size_t row, std::size_t p) {
    LiveSide& side = sides_[p];
    const std::size_t before = side.reads_along() && !side.by_rank() ? items_.size() : 0;
    own_.clear();
    for (std::size_t at = 0; at < before; ++at) own_.push_back(side.own_number(items_[at]));
    side.search(row, {own_, {column(p), before}, {bounds(p), before}});
    const std::size_t candidates = std::min(taken_, side.items().size());
    for (std::size_t place = 0; place < candidates; ++place) {
      const auto next = static_cast<std::uint32_t>(items_.size());
      const std::uint32_t at = slots_.place(side.items()[place], next);
      if (at == next) items_.push_back(side.items()[place]);
      column(p)[at] = side.scores()[place];
    }
  }

  // What lies deeper than the candidates only tells scores.
  void look_deeper(std::size_t p) {
    const LiveSide& side = sides_[p];
    for (std::size_t place = taken_; place < side.items().size(); ++place) {
      const std::uint32_t at = slots_.known(side.items()[place]);
      if (at != ItemSlots::none) column(p)[at] = side.scores()[place];
    }
  }

  // Totals of those whom every part has scored; the others are open if what they can get reaches the k-th best of these.
  void add_up() {
    const std::size_t count = items_.size();
    sums_.assign(count, 0.0);
    highest_.assign(count, 0.0);
    for (std::size_t p = 0; p < sides_.size(); ++p) add_column(p);
    best_.start(std::min(k_, count + 1), count + 1);  // room for all: nothing is compared before they are there
    least_ = -std::numeric_limits<float>::infinity();
    bool strange = false;
    for (std::size_t at = 0; at < count; ++at) {
      best_.push_if(!std::isnan(sums_[at]), key(at, static_cast<float>(sums_[at])));
      strange |= std::isnan(highest_[at]);
    }
    for (std::size_t at = 0; strange && at < count; ++at) {
      if (std::isnan(highest_[at])) close_or_keep(at);
    }
    raise_least();
    open_.resize(count);
    std::size_t open = 0;
    for (std::size_t at = 0; at < count; ++at) {
      const auto bound = static_cast<float>(highest_[at]);
      open_[open] = {bound, at};
      open += static_cast<std::size_t>(std::isnan(sums_[at])) & static_cast<std::size_t>(bound >= least_);
    }
    open_.resize(open);
  }

  void add_column(std::size_t p) {
    const LiveSide& side = sides_[p];
    detail::add_column(column(p), bounds(p), items_.size(), side.weight(), side.ceiling(), sums_.data(), highest_.data());
  }

  // Infinite scores of both signs: there is no saying what they add up to.
  void close_or_keep(std::size_t at) {
    highest_[at] = std::numeric_limits<double>::infinity();
    if (!complete(at)) return;
    sums_[at] = highest_[at];
    close(at, std::numeric_limits<float>::infinity());
  }

  // Asks for what may reach the k-th best, the most promising first.
  void settle_open() {
    if (open_.empty()) return;
    for (std::size_t p = 0; p < sides_.size(); ++p) tighten(p);
    close_told();
    for (std::size_t p = 0; p < sides_.size(); ++p) bound(p);
    drop_hopeless();
    put_best_bound_first();
    const std::size_t step = std::max(few, k_ / 2);
    for (std::size_t first = 0; first < open_.size() && open_[first].bound >= least_;) {
      std::size_t end = first + 1;
      while (end < std::min(first + step, open_.size()) && open_[end].bound >= least_) ++end;
      const auto some = std::span(open_).subspan(first, end - first);
      for (std::size_t p = 0; p < sides_.size(); ++p) score(p, some);
      for (const Open& one : some) close(one.at, bounded(one.at));
      raise_least();
      first = end;
    }
  }

  // The part says of open items that it lacks what they have, or can have at most.
  void tighten(std::size_t p) {
    LiveSide& side = sides_[p];
    if (!side.part().tells()) return;
    lacking(p, open_);
    if (own_.empty()) return;
    values_.resize(own_.size());
    limits_.resize(own_.size());
    side.tell({own_, values_, limits_});
    for (std::size_t i = 0; i < own_.size(); ++i) {
      column(p)[places_[i]] = values_[i];
      bounds(p)[places_[i]] = std::min(bounds(p)[places_[i]], limits_[i]);
    }
    for (Open& one : open_) one.bound = bounded(one.at);
  }

  // Those of whom all parts have told the scores raise the bar for the others.
  void close_told() {
    drop_hopeless();
    std::size_t kept = 0;
    for (const Open open : open_) {
      open_[kept] = open;
      if (complete(open.at)) close(open.at, open.bound);
      else ++kept;
    }
    if (kept == open_.size()) return;
    open_.resize(kept);
    raise_least();
    drop_hopeless();
  }

  // The part looks closer at who is still open.
  void bound(std::size_t p) {
    LiveSide& side = sides_[p];
    if (!side.part().tells()) return;
    lacking(p, open_);
    if (own_.empty()) return;
    limits_.assign(own_.size(), std::numeric_limits<float>::infinity());
    side.bound(own_, limits_);
    for (std::size_t i = 0; i < own_.size(); ++i) bounds(p)[places_[i]] = std::min(bounds(p)[places_[i]], limits_[i]);
    for (Open& one : open_) one.bound = bounded(one.at);
  }

  void drop_hopeless() {
    std::size_t kept = 0;
    for (const Open open : open_) {
      open_[kept] = open;
      kept += open.bound >= least_;
    }
    open_.resize(kept);
  }

  void put_best_bound_first() {
    order_keys_.resize(open_.size());
    for (std::size_t i = 0; i < open_.size(); ++i) order_keys_[i] = signed_ranking_key(open_[i].bound, static_cast<std::uint32_t>(open_[i].at));
    sort_down(order_keys_, order_other_);
    for (std::size_t i = 0; i < open_.size(); ++i) open_[i] = {signed_score_of(order_keys_[i]), item_of(order_keys_[i])};
  }

  void score(std::size_t p, std::span<const Open> some) {
    lacking(p, some);
    if (own_.empty()) return;
    values_.resize(own_.size());
    sides_[p].score(own_, values_);
    for (std::size_t i = 0; i < own_.size(); ++i) column(p)[places_[i]] = values_[i];
  }

  // Those of whom a part has not said anything yet: `own_` in its numbers, `places_` among the joined.
  void lacking(std::size_t p, std::span<const Open> some) {
    own_.clear();
    places_.clear();
    for (const Open& one : some) {
      if (!std::isnan(column(p)[one.at])) continue;
      own_.push_back(sides_[p].own_number(items_[one.at]));
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
  float bounded(std::size_t at) {
    double total = 0;
    for (std::size_t p = 0; p < sides_.size(); ++p) {
      const float score = column(p)[at];
      total += sides_[p].weight() * static_cast<double>(std::isnan(score) ? bounds(p)[at] : score);
    }
    return std::isnan(total) ? std::numeric_limits<float>::infinity() : static_cast<float>(total);
  }

  void close(std::size_t at, float total) { best_.push(key(at, total)); }

  std::uint64_t key(std::size_t at, float total) const {
    return signed_ranking_key(total + 0.0F, static_cast<std::uint32_t>(items_[at]));  // -0 and 0 are equal
  }

  // The k-th best so far.
  void raise_least() {
    best_.raise();
    if (best_.floor() != 0) least_ = signed_score_of(best_.floor());
  }

  std::vector<LiveSide> sides_;
  std::vector<std::size_t> order_;  // in which the parts are searched
  std::size_t taken_, k_, most_ = 0;
  ItemSlots slots_;
  TopK best_;
  float least_ = 0;
  std::vector<std::int32_t> items_;       // of all lists, each once
  std::vector<float> scores_, bounds_;    // a column a part: what it gives, and what at most where that is not known
  std::vector<double> sums_, highest_;    // NaN where a score is missing, and with its bound instead
  std::vector<Open> open_;
  std::vector<std::uint64_t> order_keys_, order_other_;
  std::vector<std::int32_t> own_;
  std::vector<float> values_, limits_;
  std::vector<std::size_t> places_;
};

}  // namespace vizsla
