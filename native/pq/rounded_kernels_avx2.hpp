// Sums over tables of 16 bytes, 32 look-ups an instruction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dense/kernels_avx2.hpp"
#include "pq/rounded_sums.hpp"

#ifdef VIZSLA_HAS_AVX2
namespace vizsla::avx2 {

// Sums of 32 items: 16 bits over pairs of bytes, and the odd items' apart, to be taken out of the pairs at the end.
struct PairSums {
  __m256i pairs, odd;

  VIZSLA_AVX2 void add(__m256i bytes) {
    pairs = _mm256_add_epi16(pairs, bytes);
    odd = _mm256_add_epi16(odd, _mm256_srli_epi16(bytes, 8));
  }

  VIZSLA_AVX2 std::uint32_t reached(std::uint16_t floor, std::uint16_t* sums) const {
    const __m256i even = _mm256_sub_epi16(pairs, _mm256_slli_epi16(odd, 8));
    const __m256i least = _mm256_set1_epi16(static_cast<short>(floor));
    const __m256i even_reached = _mm256_cmpeq_epi16(_mm256_max_epu16(even, least), even);
    const __m256i odd_reached = _mm256_cmpeq_epi16(_mm256_max_epu16(odd, least), odd);
    const __m256i bytes = _mm256_blendv_epi8(even_reached, odd_reached, _mm256_set1_epi16(static_cast<short>(0xFF00)));
    const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
    if (bits == 0) return 0;
    alignas(32) std::uint16_t evens[16], odds[16];
    _mm256_store_si256(reinterpret_cast<__m256i*>(evens), even);
    _mm256_store_si256(reinterpret_cast<__m256i*>(odds), odd);
    for (std::size_t pair = 0; pair < 16; ++pair) sums[2 * pair] = evens[pair], sums[2 * pair + 1] = odds[pair];
    return bits;
  }
};

VIZSLA_AVX2 inline __m256i table_twice(const std::uint8_t* table) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
}

// The tables of two sub-spaces.
struct HalfTables {
  __m256i low, high;

  VIZSLA_AVX2 explicit HalfTables(const std::uint8_t* tables)
      : low(table_twice(tables)), high(table_twice(tables + 16)) {}

  VIZSLA_AVX2 __m256i at(const std::uint8_t* codes) const {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)), lower = _mm256_set1_epi8(15);
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(here, 4), lower);
    return _mm256_add_epi8(_mm256_shuffle_epi8(low, _mm256_and_si256(here, lower)), _mm256_shuffle_epi8(high, upper));
  }
};

VIZSLA_AVX2 inline std::uint64_t half_block(const std::uint8_t* codes, const std::uint8_t* tables,
                                            std::size_t row_bytes, std::uint16_t floor, std::uint16_t* sums) {
  constexpr std::size_t ahead = 4096;  // bytes: a page, which is as far as the CPU looks by itself
  const __m256i zero = _mm256_setzero_si256();
  PairSums first{zero, zero}, second{zero, zero};
  std::size_t row = 0;
  for (; row + 2 <= row_bytes; row += 2, codes += 128, tables += 64) {
    __builtin_prefetch(codes + ahead);
    __builtin_prefetch(codes + ahead + 64);
    const HalfTables here(tables), next(tables + 32);
    first.add(_mm256_add_epi8(here.at(codes), next.at(codes + 64)));
    second.add(_mm256_add_epi8(here.at(codes + 32), next.at(codes + 96)));
  }
  if (row < row_bytes) {
    const HalfTables here(tables);
    first.add(here.at(codes));
    second.add(here.at(codes + 32));
  }
  const std::uint64_t later = second.reached(floor, sums + 32);
  return later << 32 | first.reached(floor, sums);
}

VIZSLA_AVX2 inline void half_blocks(const std::uint8_t* const* codes, const std::uint8_t* tables, std::size_t row_bytes,
                                    std::uint16_t floor, RoundedSums* sums) {
  for (std::size_t i = 0; i < RoundedBlocks::together; ++i) {
    sums[i].bits = half_block(codes[i], tables, row_bytes, floor, sums[i].sums);
  }
}

}  // namespace vizsla::avx2
#endif
