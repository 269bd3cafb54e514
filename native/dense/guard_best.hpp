// Whoever may be among the best k of one query, while each comes with a bound of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/keep_largest.hpp"
#include "common/topk.hpp"

namespace vizsla {

// Somebody's score is at most `most`.
struct Guarded {
  float most;
  std::uint32_t item;
};

class GuardBest {
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

  void absorb(const GuardBest& other) {
    inside_.insert(inside_.end(), other.inside_.begin(), other.inside_.end());
    least_.insert(least_.end(), other.least_.begin(), other.least_.end());
    if (least_.size() > k_) cut();
  }

  // Everybody who may be among the best, the most promising first.
  std::span<const Guarded> finish() {
    enough_ = 0;
    if (least_.size() > k_) cut();
    std::sort(inside_.begin(), inside_.end(),
              [](const Guarded& left, const Guarded& right) { return left.most > right.most; });
    return inside_;
  }

 private:
  // k items are known to score at least the floor.
  void cut() {
    other_.resize(least_.size());
    keep_largest(least_, k_, other_.data());
    least_.resize(k_);
    floor_ = std::max(floor_, signed_score_of(*std::min_element(least_.begin(), least_.end())));
    if (inside_.size() < enough_) return;
    inside_.erase(std::remove_if(inside_.begin(), inside_.end(), [&](const Guarded& one) { return one.most < floor_; }),
                  inside_.end());
    enough_ = std::max(room_, 2 * inside_.size());  // many that are alike: the next look at all must be worth while
  }

  std::size_t k_ = 1, room_ = 0, enough_ = 0;
  float floor_ = 0;
  std::vector<std::uint64_t> least_, other_;
  std::vector<Guarded> inside_;
};

}  // namespace vizsla
