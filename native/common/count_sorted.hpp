// Sorts small whole numbers and counts equal ones, without branches that depend on them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/radix_sort.hpp"

namespace vizsla {

// Working memory that calls may share.
struct CountScratch {
  std::vector<std::int32_t> numbers, spare;
};

// A number's place is how many are smaller: n comparisons each, but several at once and never mispredicted.
template <class Emit>
void count_few_sorted(std::span<const std::int32_t> numbers, Emit&& emit) {
  std::array<std::int32_t, UINT8_MAX> sorted;
  std::array<std::uint8_t, UINT8_MAX> counts;
  std::fill_n(counts.begin(), numbers.size(), std::uint8_t{0});
  for (std::int32_t number : numbers) {
    std::int32_t smaller = 0;
    for (std::int32_t other : numbers) smaller += other < number;
    sorted[static_cast<std::size_t>(smaller)] = number;
    ++counts[static_cast<std::size_t>(smaller)];
  }
  // Equal numbers share a place and leave as many places empty.
  for (std::size_t i = 0; i < numbers.size(); i += counts[i]) emit(sorted[i], std::size_t{counts[i]});
}

// Calls emit(number, count) for each distinct number, ascending. All must lie from `first` to below `first + bound`.
template <class Emit>
void count_sorted(std::span<const std::int32_t> numbers, std::int32_t first, std::uint32_t bound, CountScratch& scratch,
                  Emit&& emit) {
  constexpr std::size_t few = 96;  // up to here comparing all with all is the faster way
  static_assert(few <= UINT8_MAX);
  if (numbers.size() <= few) return count_few_sorted(numbers, emit);
  auto& sorted = scratch.numbers;
  sorted.assign(numbers.begin(), numbers.end());
  const auto key_of = [first](std::int32_t number) { return static_cast<std::uint32_t>(number - first); };
  radix_sort(sorted, scratch.spare, bound, key_of);
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t begin = i++;
    while (i < sorted.size() && sorted[i] == sorted[begin]) ++i;
    emit(sorted[begin], i - begin);
  }
}

}  // namespace vizsla
