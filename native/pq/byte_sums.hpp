// Scores of some blocks of items with codes of 8 bits, from a query's own tables.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "pq/codes.hpp"
#include "pq/masked_blocks.hpp"

namespace vizsla {

class ByteSums {
 public:
  // Adds up every chosen item of these blocks. Each sum goes on where it stopped, so the order is that of the
  // sub-spaces.
  void fill(const PqCodes& codes, const float* table, std::span<const MaskedBlock> blocks) {
    sums_.assign(blocks.size() * PqCodes::lanes, 0.0F);
    for (std::size_t part = 0; part < codes.parts; part += near_parts) {
      const std::size_t end = std::min(part + near_parts, codes.parts);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::uint8_t* block = codes.block(blocks[i].number);
        for (std::size_t lane = 0; lane < PqCodes::lanes; lane += together) {
          if ((blocks[i].bits >> lane & 0xFF) != 0)
            add(table, part, end, block + lane, &sums_[i * PqCodes::lanes + lane]);
        }
      }
    }
  }

  // The sums of the i-th block; undefined for items that were not selected.
  std::span<const float> of(std::size_t i) const {
    return std::span(sums_).subspan(i * PqCodes::lanes, PqCodes::lanes);
  }

 private:
  static constexpr std::size_t near_parts = 24;  // whose tables stay near
  static constexpr std::size_t together = 8;     // items: no addition waits for the last

  static void add(const float* table, std::size_t part, std::size_t end, const std::uint8_t* codes, float* sums) {
    std::array<float, together> totals;
    std::copy(sums, sums + together, totals.begin());
    for (; part < end; ++part) {
      const float* values = table + part * 256;
      std::uint64_t word;
      std::memcpy(&word, codes + part * PqCodes::lanes, together);
      if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < together; ++i) totals[i] += values[word >> (8 * i) & 255];
    }
    std::copy(totals.begin(), totals.end(), sums);
  }

  std::vector<float> sums_;
};

}  // namespace vizsla
