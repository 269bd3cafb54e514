// The joined items of a row that may still be among the best k: their positions and upper bounds of their sums.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/compress_indices.hpp"
#include "common/growing_array.hpp"
#include "common/topk.hpp"

namespace vizsla {

class UndecidedItems {
 public:
  // Takes the items whose bounds reach `needed`; NaN is no bound.
  void start(std::span<const float> bounds, float needed) {
    places_.clear();
    places_.take(compress_indices(bounds, FromLimit{needed}, places_.room(bounds.size() + compress_slack)));
    bounds_.resize(size());
    for (std::size_t i = 0; i < size(); ++i) bounds_[i] = bounds[places_[i]];
  }

  bool empty() const { return size() == 0; }
  std::size_t size() const { return places_.size(); }
  std::span<const std::uint32_t> places() const { return {places_.data(), size()}; }
  float bound(std::size_t i) const { return bounds_[i]; }

  // Bounds are added up anew, part by part, and rounded.
  void clear_sums() { sums_.assign(size(), 0.0); }

  // A part's scores, or its bounds where they are missing.
  void add(const float* scores, const float* bounds, double weight) {
    for (std::size_t i = 0; i < size(); ++i) {
      const float score = scores[places_[i]], bound = bounds[places_[i]];
      sums_[i] += weight * static_cast<double>(score == score ? score : bound);
    }
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
    places_.clear();
    places_.take(kept);
    bounds_.resize(kept);
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
  GrowingArray<std::uint32_t> places_;
  std::vector<float> bounds_;
  std::vector<double> sums_;
  std::vector<std::uint64_t> keys_, other_;
};

}  // namespace vizsla
