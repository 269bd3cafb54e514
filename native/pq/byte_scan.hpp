// A pass over codes of 8 bits: every item's score, offered to a query's best.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dense/near_best.hpp"
#include "pq/codes.hpp"

namespace vizsla {

class ByteScan {
 public:
  static constexpr std::size_t step = 256;  // items that are offered at once

  // Items from `begin` on, at most `step`; `number(i)` is the i-th.
  template <class Number>
  void sums(const PqCodes& codes, const float* table, std::size_t begin, std::size_t count, const Number& number) {
    for (std::size_t i = 0; i < count; ++i) rows_[i] = codes.row(number(begin + i));
    std::fill(rows_.begin() + static_cast<std::ptrdiff_t>(count), rows_.begin() + static_cast<std::ptrdiff_t>((count + 3) / 4 * 4), rows_[0]);
    sums_.fill(0);
    // As many tables at a time as stay near. Each sum goes on where it stopped, so the order is that of the sub-spaces.
    for (std::size_t part = 0; part < codes.parts; part += near_parts) {
      const std::size_t end = std::min(part + near_parts, codes.parts);
      for (std::size_t i = 0; i < count; i += 4) add_four(table, part, end, &rows_[i], &sums_[i]);
    }
  }

  std::span<const float> found(std::size_t count) const { return std::span(sums_).first(count); }

 private:
  static constexpr std::size_t near_parts = 16;

  // Four items at once: no addition waits for the last.
  static void add_four(const float* table, std::size_t begin, std::size_t end, const std::uint8_t* const* rows, float* sums) {
    float a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    for (std::size_t part = begin; part < end; ++part) {
      const float* values = table + part * 256;
      a += values[rows[0][part]];
      b += values[rows[1][part]];
      c += values[rows[2][part]];
      d += values[rows[3][part]];
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
  }

  std::array<const std::uint8_t*, step> rows_;
  std::array<float, step> sums_;
};

}  // namespace vizsla
