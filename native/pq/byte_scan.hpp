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
    const std::size_t filled = (count + together - 1) / together * together;
    for (std::size_t i = 0; i < filled; ++i) rows_[i] = codes.row(number(begin + std::min(i, count - 1)));
    sums_.fill(0);
    // As many tables at a time as stay near. Each sum goes on where it stopped, so the order is that of the sub-spaces.
    for (std::size_t part = 0; part < codes.parts; part += near_parts) {
      const std::size_t end = std::min(part + near_parts, codes.parts);
      for (std::size_t i = 0; i < filled; i += together) add(table, part, end, &rows_[i], &sums_[i]);
    }
  }

  std::span<const float> found(std::size_t count) const { return std::span(sums_).first(count); }

 private:
  static constexpr std::size_t near_parts = 24;
  static constexpr std::size_t together = 8;  // no addition waits for the last

  static void add(const float* table, std::size_t begin, std::size_t end, const std::uint8_t* const* rows, float* sums) {
    std::array<float, together> totals;
    std::copy(sums, sums + together, totals.begin());
    for (std::size_t part = begin; part < end; ++part) {
      const float* values = table + part * 256;
#pragma GCC unroll 8
      for (std::size_t i = 0; i < together; ++i) totals[i] += values[rows[i][part]];
    }
    std::copy(totals.begin(), totals.end(), sums);
  }

  std::array<const std::uint8_t*, step> rows_;
  std::array<float, step> sums_;
};

}  // namespace vizsla
