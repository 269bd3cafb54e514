// A pass over codes of 8 bits: every item's score, offered to a query's best.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  static constexpr std::size_t near_parts = 24, word = 8;
  static constexpr std::size_t together = 4;  // no addition waits for the last

  static void add(const float* table, std::size_t begin, std::size_t end, const std::uint8_t* const* rows, float* sums) {
    std::array<float, together> totals;
    std::copy(sums, sums + together, totals.begin());
    std::size_t part = begin;
    for (; part + word <= end; part += word) add_word(table + part * 256, part, rows, totals);
    for (; part < end; ++part) {
      for (std::size_t i = 0; i < together; ++i) totals[i] += table[part * 256 + rows[i][part]];
    }
    std::copy(totals.begin(), totals.end(), sums);
  }

  // Eight codes of an item come with one load.
  static void add_word(const float* values, std::size_t part, const std::uint8_t* const* rows,
                       std::array<float, together>& totals) {
    std::array<std::uint64_t, together> words;
    for (std::size_t i = 0; i < together; ++i) {
      std::memcpy(&words[i], rows[i] + part, word);
      if constexpr (std::endian::native == std::endian::big) words[i] = __builtin_bswap64(words[i]);
    }
#pragma GCC unroll 8
    for (std::size_t at = 0; at < word; ++at) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < together; ++i) totals[i] += values[at * 256 + ((words[i] >> (8 * at)) & 255)];
    }
  }

  std::array<const std::uint8_t*, step> rows_;
  std::array<float, step> sums_;
};

}  // namespace vizsla
