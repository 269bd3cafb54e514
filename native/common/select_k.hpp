// Selection of the k largest keys without unpredictable branches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace vizsla {

namespace detail {

inline std::uint64_t median(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// Puts keys that are not below the pivot first, and returns how many they are. No branch depends on a key: each is
// written to both ends of `other`, and one of the ends moves.
inline std::size_t partition(std::span<std::uint64_t> keys, std::uint64_t pivot, std::uint64_t* other) {
  std::size_t large = 0, small = keys.size();
  for (const std::uint64_t key : keys) {
    other[large] = key;
    other[small - 1] = key;
    const bool is_large = key >= pivot;
    large += is_large;
    small -= !is_large;
  }
  std::copy(other, other + keys.size(), keys.begin());
  return large;
}

}  // namespace detail

// Moves the k largest keys to the front, in any order; k is at least 1, and `other` has room for as many keys. Twice as
// fast as std::nth_element on keys in random order.
inline void select_k(std::span<std::uint64_t> keys, std::size_t k, std::uint64_t* other) {
  constexpr std::size_t few = 24;
  constexpr int most_rounds = 40;  // pivots that are all bad, or keys that are alike, end in the library's selection
  for (int round = 0; keys.size() > few && k < keys.size() && round < most_rounds; ++round) {
    const std::uint64_t pivot = detail::median(keys.front(), keys[keys.size() / 2], keys.back());
    const std::size_t large = detail::partition(keys, pivot, other);
    if (large >= k) {
      keys = keys.first(large);
    } else {
      keys = keys.subspan(large);
      k -= large;
    }
  }
  if (k < keys.size()) {
    std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(k - 1), keys.end(), std::greater<>());
  }
}

}  // namespace vizsla
