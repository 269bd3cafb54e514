// What a window's sums say as a whole, several at a time: how many pass, which ones, and what the k-th best has at
// least.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "common/clones.hpp"

namespace vizsla {

namespace detail {

VIZSLA_CLONES static std::size_t count_above(const float* sums, std::size_t count, float passing) {
  std::uint32_t above = 0;
  for (std::size_t i = 0; i < count; ++i) above += sums[i] > passing ? 1U : 0U;
  return above;
}

// The largest of each `width` sums; what lies beyond the last whole group is left out. The bits of floats that are not
// negative rise with their values, and the largest of whole numbers can be found in any order: eight at a time.
VIZSLA_CLONES static void group_maxima(const float* sums, std::size_t groups, std::size_t width, float* maxima) {
  for (std::size_t group = 0; group < groups; ++group, sums += width) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < width; ++i) largest = std::max(largest, std::bit_cast<std::int32_t>(sums[i]));
    maxima[group] = std::bit_cast<float>(largest);
  }
}

// One flag for every eight sums: whether any of them passes.
VIZSLA_CLONES static void flag_eights(const float* sums, std::size_t eights, float passing, std::uint8_t* flags) {
  for (std::size_t eight = 0; eight < eights; ++eight, sums += 8) {
    int any = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) any |= sums[lane] > passing;
    flags[eight] = static_cast<std::uint8_t>(any);
  }
}

// `allowed` has a bit an item, the lowest of a byte first; the sums are those of the items from `low` on.
VIZSLA_CLONES static void mask_sums(const float* sums, const std::uint8_t* allowed, std::size_t low, std::size_t count,
                                    float* masked) {
  for (std::size_t i = 0; i < count; ++i)
    masked[i] = (allowed[(low + i) / 8] >> (low + i) % 8 & 1) != 0 ? sums[i] : 0.0F;
}

}  // namespace detail

inline std::size_t count_above(std::span<const float> sums, float passing) {
  return detail::count_above(sums.data(), sums.size(), passing);
}

class WindowSums {
 public:
  // Writes which sums pass, ascending, and returns how many. `found` needs room for one more than there are sums.
  std::size_t collect(std::span<const float> sums, float passing, std::uint32_t* found) {
    const std::size_t eights = sums.size() / 8;
    flags_.resize(eights);
    detail::flag_eights(sums.data(), eights, passing, flags_.data());
    std::size_t count = 0;
    const auto take = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        found[count] = static_cast<std::uint32_t>(i);
        count += static_cast<std::size_t>(sums[i] > passing);
      }
    };
    for (std::size_t eight = 0; eight < eights; ++eight) {
      if (flags_[eight] != 0) take(8 * eight, 8 * eight + 8);
    }
    take(8 * eights, sums.size());
    return count;
  }

  // At least k of the allowed sums are larger than this. The k-th of the largest of each group is no better than the
  // k-th of all, and little worse, since the best seldom share a group. 0 where there are too few to tell.
  float kth_above(std::span<const float> sums, std::span<const std::uint8_t> allowed, std::size_t low, std::size_t k) {
    if (!allowed.empty()) {
      masked_.resize(sums.size());
      detail::mask_sums(sums.data(), allowed.data(), low, sums.size(), masked_.data());
      sums = masked_;
    }
    std::size_t width = 64;
    while (width > 8 && sums.size() / width < 8 * k) width /= 2;
    maxima_.resize(sums.size() / width);
    if (maxima_.size() < k) return 0;
    detail::group_maxima(sums.data(), maxima_.size(), width, maxima_.data());
    return halved(k);
  }

 private:
  // Halving costs the same for every k and guesses no branch; ten steps leave a thousandth of the largest.
  float halved(std::size_t k) const {
    float low = 0, high = *std::max_element(maxima_.begin(), maxima_.end());
    for (int step = 0; step < 10; ++step) {
      const float middle = low + (high - low) / 2;
      const bool enough = count_above(maxima_, middle) >= k;
      low = enough ? middle : low;
      high = enough ? high : middle;
    }
    return low;
  }

  std::vector<float> maxima_, masked_;
  std::vector<std::uint8_t> flags_;
};

}  // namespace vizsla
