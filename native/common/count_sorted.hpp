// Sorts a few whole numbers and counts equal ones, without a branch that depends on them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vizsla {

// Calls emit(number, count) for each distinct number, ascending. The numbers are left in any order.
template <class Emit>
void count_sorted(std::span<std::int32_t> numbers, Emit&& emit) {
  // A number's place is how many are smaller: n comparisons each, but several at once and never mispredicted. Up to
  // this many that is faster than sorting.
  constexpr std::size_t few = 96;
  if (numbers.size() <= few) {
    std::array<std::int32_t, few> sorted;
    std::array<std::uint8_t, few> counts;
    std::fill_n(counts.begin(), numbers.size(), std::uint8_t{0});
    for (std::int32_t number : numbers) {
      std::int32_t smaller = 0;
      for (std::int32_t other : numbers) smaller += other < number;
      sorted[static_cast<std::size_t>(smaller)] = number;
      ++counts[static_cast<std::size_t>(smaller)];
    }
    // Equal numbers share a place and leave as many places empty.
    for (std::size_t i = 0; i < numbers.size(); i += counts[i]) emit(sorted[i], std::size_t{counts[i]});
    return;
  }
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < numbers.size();) {
    const std::size_t begin = i++;
    while (i < numbers.size() && numbers[i] == numbers[begin]) ++i;
    emit(numbers[begin], i - begin);
  }
}

}  // namespace vizsla
