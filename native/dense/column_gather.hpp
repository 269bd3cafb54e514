// The columns of some items out of rows that hold all of them: one row of numbers an item.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "common/prefetch.hpp"
#include "dense/column_sum_kernels.hpp"
#include "dense/stored_columns.hpp"

namespace vizsla {

namespace detail {

// Sixteen rows at a time: what is read of them lies far apart, so that of the next items is asked for before it is
// needed; what is written of an item is one line.
template <class Number>
void gather_columns(const Number* numbers, const StoredColumns& stored, std::span<const std::int64_t> items,
                    const float* steps, float* out) {
  constexpr std::size_t together = 16, ahead = 4;
  for (std::size_t first = 0; first < stored.dim; first += together) {
    const std::size_t rows = std::min(together, stored.dim - first);
    const Number* const block = numbers + first * stored.count;
    for (std::size_t at = 0; at < items.size(); ++at) {
      if (at + ahead < items.size()) {
        for (std::size_t row = 0; row < rows; ++row)
          __builtin_prefetch(block + row * stored.count + static_cast<std::size_t>(items[at + ahead]));
      }
      const Number* const column = block + items[at];
      for (std::size_t row = 0; row < rows; ++row)
        out[at * stored.dim + first + row] = widened(column[row * stored.count]) * steps[first + row];
    }
  }
}

}  // namespace detail

// Items × dimensions. `steps`: what 1 means in each row. Every item must be below `stored.count`.
inline void gather_columns(const StoredColumns& stored, std::span<const std::int64_t> items, const float* steps,
                           float* out) {
  std::visit([&](const auto* numbers) { detail::gather_columns(numbers, stored, items, steps, out); }, stored.numbers);
}

}  // namespace vizsla
