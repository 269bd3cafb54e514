// Candidates for the best k of one query, each with its own lower and upper bound.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/select_k.hpp"
#include "common/topk.hpp"

namespace vizsla {

// An item whose score is at most `most`.
struct BoundedItem {
  float most;
  std::uint32_t item;
};

class Int8Bounds {
 public:
  void start(std::size_t k) {
    k_ = k;
    room_ = enough_ = 2 * k + 64;
    floor_ = -std::numeric_limits<float>::infinity();
    least_.clear();
    inside_.clear();
  }

  // The score lies between `least` and `most`.
  void offer(float least, float most, std::uint32_t item) {
    if (most < floor_) return;
    inside_.push_back({most, item});
    least_.push_back(signed_ranking_key(least, item));
    if (least_.size() >= room_) cut();
  }

  void absorb(const Int8Bounds& other) {
    inside_.insert(inside_.end(), other.inside_.begin(), other.inside_.end());
    least_.insert(least_.end(), other.least_.begin(), other.least_.end());
    if (least_.size() > k_) cut();
  }

  // All items that may be among the best, by descending upper bound.
  std::span<const BoundedItem> finish() {
    enough_ = 0;
    if (least_.size() > k_) cut();
    std::sort(inside_.begin(), inside_.end(),
              [](const BoundedItem& left, const BoundedItem& right) { return left.most > right.most; });
    return inside_;
  }

 private:
  // k items are known to score at least the floor.
  void cut() {
    other_.resize(least_.size());
    select_k(least_, k_, other_.data());
    least_.resize(k_);
    floor_ = std::max(floor_, signed_score_of(*std::min_element(least_.begin(), least_.end())));
    if (inside_.size() < enough_) return;
    inside_.erase(
        std::remove_if(inside_.begin(), inside_.end(), [&](const BoundedItem& one) { return one.most < floor_; }),
        inside_.end());
    enough_ = std::max(room_, 2 * inside_.size());  // many that are alike: the next look at all must be worth while
  }

  std::size_t k_ = 1, room_ = 0, enough_ = 0;
  float floor_ = 0;
  std::vector<std::uint64_t> least_, other_;
  std::vector<BoundedItem> inside_;
};

}  // namespace vizsla
