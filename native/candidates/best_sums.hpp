// The best k of a row's sums: many come at once, and then a few more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/clones.hpp"
#include "common/compress_indices.hpp"
#include "common/growing_array.hpp"
#include "common/select_k.hpp"
#include "common/topk.hpp"

namespace vizsla {

namespace detail {

inline constexpr std::size_t sum_lanes = 32;

// At least k of the totals are not below this. Every 32nd total shares a lane; the k-th of the lanes' largest is no
// better than the k-th of all, and little worse. NaN is no total. k is at most the number of lanes, by which the count
// can be divided.
VIZSLA_CLONES static float least_of_best(const float* totals, std::size_t count, std::int32_t k) {
  float largest[sum_lanes];
  std::int32_t as_large[sum_lanes];
  for (std::size_t lane = 0; lane < sum_lanes; ++lane) {
    largest[lane] = -std::numeric_limits<float>::infinity();
    as_large[lane] = 0;
  }
  for (std::size_t at = 0; at < count; at += sum_lanes) {
    for (std::size_t lane = 0; lane < sum_lanes; ++lane) {
      const float total = totals[at + lane];
      largest[lane] = total > largest[lane] ? total : largest[lane];
    }
  }
  for (std::size_t other = 0; other < sum_lanes; ++other) {
    const float there = largest[other];
    for (std::size_t lane = 0; lane < sum_lanes; ++lane) as_large[lane] += there >= largest[lane] ? 1 : 0;
  }
  float least = -std::numeric_limits<float>::infinity();
  for (std::size_t lane = 0; lane < sum_lanes; ++lane) {
    if (as_large[lane] >= k && largest[lane] > least) least = largest[lane];
  }
  return least;
}

}  // namespace detail

class BestSums {
 public:
  // Takes a row's totals, NaN where there is none; as many lanes as are begun are filled up with NaN.
  void start(std::size_t k, std::span<const std::int32_t> items, std::span<const float> totals) {
    k_ = k;
    least_ = -std::numeric_limits<float>::infinity();
    const bool in_lanes = k <= detail::sum_lanes / 2;
    const float least =
        in_lanes ? detail::least_of_best(totals.data(), totals.size(), static_cast<std::int32_t>(k)) : least_;
    places_.clear();
    places_.take(
        compress_indices(totals.first(items.size()), FromLimit{least}, places_.room(items.size() + compress_slack)));
    keys_.clear();
    for (std::size_t i = 0; i < places_.size(); ++i) keys_.push_back(key(items[places_[i]], totals[places_[i]]));
    sorted_ = false;
    raise();
  }

  // Adds an item, which counts from the next `raise` on. An item below k others is ignored.
  void add(std::int32_t item, float total) {
    if (total < least_) return;
    keys_.push_back(key(item, total));
    sorted_ = false;
  }

  // Keeps the best k.
  void raise() {
    if (keys_.size() < k_ || sorted_) return;
    if (keys_.size() > 2 * k_) {
      other_.resize(keys_.size());
      select_k(keys_, k_, other_.data());
      keys_.resize(k_);
    }
    sort_down(keys_, other_);
    sorted_ = true;
    keys_.resize(k_);
    least_ = signed_score_of(keys_.back());
  }

  // Whether there are k.
  bool full() const { return keys_.size() >= k_; }

  // The k-th best; below all others while there are fewer.
  float least() const { return least_; }

  // The best k as keys for `signed_score_of` and `item_of`, best first.
  std::span<const std::uint64_t> finish() {
    raise();
    if (keys_.size() < k_) sort_down(keys_, other_);
    return keys_;
  }

 private:
  static std::uint64_t key(std::int32_t item, float total) {
    return signed_ranking_key(total + 0.0F, static_cast<std::uint32_t>(item));  // -0 and 0 are equal
  }

  std::size_t k_ = 1;
  float least_ = 0;
  bool sorted_ = false;
  GrowingArray<std::uint32_t> places_;
  std::vector<std::uint64_t> keys_, other_;
};

}  // namespace vizsla
