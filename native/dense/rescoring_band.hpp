// Candidates for the best k of one query under approximate sums: all within the error of the k-th best.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "common/clones.hpp"
#include "common/select_k.hpp"
#include "common/topk.hpp"

namespace vizsla {

namespace detail {

// Whether a sum reaches the floor, or is no number or infinite.
VIZSLA_CLONES inline bool any_counts(const float* sums, std::size_t count, float floor) {
  int counts = 0;
  for (std::size_t i = 0; i < count; ++i)
    counts |= static_cast<int>(!(sums[i] < floor)) | static_cast<int>(sums[i] < -FLT_MAX);
  return counts != 0;
}

}  // namespace detail

// Two sums that differ by more than `slack` are in the right order. All items within `slack` of the k-th best are kept
// and must be rescored exactly.
class RescoringBand {
 public:
  void start(std::size_t k, double slack) {
    k_ = k;
    slack_ = slack;
    room_ = 2 * k + 64;
    floor_ = -std::numeric_limits<float>::infinity();
    keys_.clear();
    unsure_.clear();
  }

  // Whether a sum may be among the best; one that is no number or infinite may.
  bool counts(float sum) const { return !(sum < floor_ && sum >= -FLT_MAX); }
  bool any_counts(std::span<const float> sums) const { return detail::any_counts(sums.data(), sums.size(), floor_); }

  // Takes a sum that counts.
  void add(float sum, std::uint32_t place) {
    // A sum that overflowed gives no bound; the item is always rescored.
    if (!std::isfinite(sum)) {
      unsure_.push_back(place);
      return;
    }
    keys_.push_back(signed_ranking_key(sum, place));
    if (keys_.size() >= room_) cut();
  }

  void offer(float sum, std::uint32_t place) {
    if (counts(sum)) add(sum, place);
  }

  // Many at once, at places in a row. Most are far below the floor: one look sees that.
  void offer(std::span<const float> sums, std::size_t first) {
    if (!any_counts(sums)) return;
    for (std::size_t i = 0; i < sums.size(); ++i) offer(sums[i], static_cast<std::uint32_t>(first + i));
  }

  // Sums below this cannot be among the best.
  float floor() const { return floor_; }

  // Merges the candidates of another part of the scan.
  void absorb(const RescoringBand& other) {
    for (const std::uint64_t key : other.keys_) offer(signed_score_of(key), item_of(key));
    unsure_.insert(unsure_.end(), other.unsure_.begin(), other.unsure_.end());
  }

  // The places of all items that may be among the best.
  std::span<const std::uint32_t> finish() {
    if (keys_.size() > k_) cut();
    for (const std::uint64_t key : keys_) unsure_.push_back(item_of(key));
    return unsure_;
  }

  // The same as keys, best first, without the items that overflowed.
  std::span<const std::uint64_t> finish_ranked() {
    if (keys_.size() > k_) cut();
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    return keys_;
  }

 private:
  void cut() {
    other_.resize(keys_.size());
    select_k(keys_, k_, other_.data());
    const auto rest = keys_.begin() + static_cast<std::ptrdiff_t>(k_);
    const double least = signed_score_of(*std::min_element(keys_.begin(), rest)) - slack_;
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    floor_ = least < -FLT_MAX ? lowest : std::nextafter(static_cast<float>(least), lowest);
    keys_.erase(std::remove_if(rest, keys_.end(), [&](std::uint64_t key) { return signed_score_of(key) < floor_; }),
                keys_.end());
    room_ = std::max(room_, 2 * keys_.size());  // many that are alike: the next cut must be worth while
  }

  std::size_t k_ = 1, room_ = 0;
  double slack_ = 0;
  float floor_ = 0;
  std::vector<std::uint64_t> keys_, other_;
  std::vector<std::uint32_t> unsure_;
};

}  // namespace vizsla
