// Who of a row's joined items may still be among the best k: their places, and what they add up to at most.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/clones.hpp"
#include "common/topk.hpp"

namespace vizsla {

namespace detail {

// Adds a part's scores of some items, or its bounds where they are missing.
VIZSLA_CLONES static void add_some(const float* scores, const float* bounds, const std::uint32_t* places, std::size_t count,
                                   double weight, double* sums) {
  for (std::size_t i = 0; i < count; ++i) {
    const float score = scores[places[i]], bound = bounds[places[i]];
    sums[i] += weight * static_cast<double>(score == score ? score : bound);
  }
}

}  // namespace detail

class OpenItems {
 public:
  // Those without a total whose bounds reach what is needed.
  void start(std::span<const float> totals, std::span<const float> bounds, float needed) {
    resize(totals.size());
    std::size_t open = 0;
    for (std::size_t at = 0; at < totals.size(); ++at) {
      places_[open] = static_cast<std::uint32_t>(at);
      bounds_[open] = bounds[at];
      open += static_cast<std::size_t>(std::isnan(totals[at])) & static_cast<std::size_t>(bounds[at] >= needed);
    }
    resize(open);
  }

  bool empty() const { return places_.empty(); }
  std::size_t size() const { return places_.size(); }
  std::span<const std::uint32_t> places() const { return places_; }
  float bound(std::size_t i) const { return bounds_[i]; }

  // Bounds are added up anew, part by part, and rounded.
  void clear_sums() { sums_.assign(size(), 0.0); }

  void add(const float* scores, const float* bounds, double weight) {
    detail::add_some(scores, bounds, places_.data(), size(), weight, sums_.data());
  }

  void round() {
    for (std::size_t i = 0; i < size(); ++i) {
      bounds_[i] = std::isnan(sums_[i]) ? std::numeric_limits<float>::infinity() : static_cast<float>(sums_[i]);
    }
  }

  void drop_below(float needed) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const std::uint32_t place = places_[i];
      const float bound = bounds_[i];
      places_[kept] = place;
      bounds_[kept] = bound;
      kept += bound >= needed;
    }
    resize(kept);
  }

  // Drops those of whom `closed(place, bound)` says so; returns whether there were any.
  template <class Closed>
  bool drop_if(const Closed& closed) {
    const std::size_t before = size();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < before; ++i) {
      places_[kept] = places_[i];
      bounds_[kept] = bounds_[i];
      kept += !closed(places_[i], bounds_[i]);
    }
    resize(kept);
    return kept < before;
  }

  void put_best_first() {
    keys_.resize(size());
    for (std::size_t i = 0; i < size(); ++i) keys_[i] = signed_ranking_key(bounds_[i], places_[i]);
    sort_down(keys_, other_);
    for (std::size_t i = 0; i < size(); ++i) {
      places_[i] = item_of(keys_[i]);
      bounds_[i] = signed_score_of(keys_[i]);
    }
  }

 private:
  void resize(std::size_t count) {
    places_.resize(count);
    bounds_.resize(count);
  }

  std::vector<std::uint32_t> places_;
  std::vector<float> bounds_;
  std::vector<double> sums_;
  std::vector<std::uint64_t> keys_, other_;
};

}  // namespace vizsla
