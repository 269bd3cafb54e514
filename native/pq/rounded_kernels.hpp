// Sums of blocks of 64 items over tables of bytes, by the best instructions that the CPU has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/instructions.hpp"
#include "pq/rounded_kernels_avx2.hpp"
#include "pq/rounded_kernels_avx512.hpp"
#include "pq/rounded_sums.hpp"

namespace vizsla {

namespace plain {

inline std::uint64_t half_block(const std::uint8_t* codes, const std::uint8_t* tables, std::size_t row_bytes,
                                std::uint16_t floor, std::uint16_t* sums) {
  for (std::size_t item = 0; item < 64; ++item) sums[item] = 0;
  for (std::size_t row = 0; row < row_bytes; ++row, codes += 64, tables += 32) {
    for (std::size_t item = 0; item < 64; ++item) {
      const int both = tables[codes[item] & 15] + tables[16 + (codes[item] >> 4)];
      sums[item] = static_cast<std::uint16_t>(sums[item] + both);
    }
  }
  std::uint64_t reached = 0;
  for (std::size_t item = 0; item < 64; ++item) reached |= std::uint64_t{sums[item] >= floor} << item;
  return reached;
}

inline void half_blocks(const std::uint8_t* const* codes, const std::uint8_t* tables, std::size_t row_bytes,
                        std::uint16_t floor, RoundedSums* sums) {
  for (std::size_t i = 0; i < RoundedBlocks::together; ++i) {
    sums[i].bits = half_block(codes[i], tables, row_bytes, floor, sums[i].sums);
  }
}

}  // namespace plain

struct RoundedKernels {
  RoundedBlocks::Kernel halves;           // codes of 4 bits, two a byte
  RoundedBlocks::Kernel bytes = nullptr;  // codes of 8 bits; none where the tables themselves are as fast

  static RoundedKernels of(Instructions instructions) {
#ifdef VIZSLA_HAS_AVX2
    if (instructions == Instructions::avx512_vbmi) return {&avx512::half_blocks_at_once, &avx512::byte_blocks};
    if (instructions == Instructions::avx512) return {&avx512::half_blocks};
    if (instructions == Instructions::avx2) return {&avx2::half_blocks};
#endif
    return {&plain::half_blocks};
  }
};

}  // namespace vizsla
