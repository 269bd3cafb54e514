// Sums over tables of bytes, 64 look-ups an instruction: of 16 numbers, and with VBMI of 256 in two and a choice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dense/kernels_avx2.hpp"
#include "pq/rounded_sums.hpp"

#ifdef VIZSLA_HAS_AVX2
#define VIZSLA_AVX512BW __attribute__((target("avx512f,avx512bw")))
#define VIZSLA_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

namespace vizsla::avx512 {

constexpr std::size_t together = RoundedBlocks::together;

// Where even and odd items' sums go when they stand in the order of the items.
alignas(64) constexpr std::uint16_t in_order[64] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                    8,  40, 9,  41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47,
                                                    16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                                                    24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63};

// Sums of a block on their way, as with AVX2; a row of a block is one register.
struct BlockSums {
  __m512i pairs, odd;

  VIZSLA_AVX512BW void clear() { pairs = odd = _mm512_setzero_si512(); }

  VIZSLA_AVX512BW void add(__m512i bytes) {
    pairs = _mm512_add_epi16(pairs, bytes);
    odd = _mm512_add_epi16(odd, _mm512_srli_epi16(bytes, 8));
  }

  VIZSLA_AVX512BW std::uint64_t reached(std::uint16_t floor, std::uint16_t* sums) const {
    const __m512i even = _mm512_sub_epi16(pairs, _mm512_slli_epi16(odd, 8));
    const __m512i least = _mm512_set1_epi16(static_cast<short>(floor));
    if ((_mm512_cmpge_epu16_mask(even, least) | _mm512_cmpge_epu16_mask(odd, least)) == 0) return 0;
    const __m512i first = _mm512_permutex2var_epi16(even, _mm512_load_si512(in_order), odd);
    const __m512i second = _mm512_permutex2var_epi16(even, _mm512_load_si512(in_order + 32), odd);
    _mm512_storeu_si512(sums, first);
    _mm512_storeu_si512(sums + 32, second);
    const std::uint64_t later = _mm512_cmpge_epu16_mask(second, least);
    return later << 32 | _mm512_cmpge_epu16_mask(first, least);
  }
};

// With masks that leave nothing out: GCC 12 warns of what the instruction without one is made of.
VIZSLA_AVX512BW inline __m512i table_four_times(const std::uint8_t* table) {
  return _mm512_maskz_broadcast_i32x4(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
}

VIZSLA_VBMI inline __m512i permuted(__m512i table, __m512i codes) {
  return _mm512_maskz_permutexvar_epi8(UINT64_MAX, codes, table);
}

// The tables of two sub-spaces.
struct HalfTables {
  __m512i low, high;

  VIZSLA_AVX512BW explicit HalfTables(const std::uint8_t* tables)
      : low(table_four_times(tables)), high(table_four_times(tables + 16)) {}

  VIZSLA_AVX512BW __m512i at(const std::uint8_t* codes) const {
    const __m512i here = _mm512_loadu_si512(codes), lower = _mm512_set1_epi8(15);
    const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(here, 4), lower);
    return _mm512_add_epi8(_mm512_shuffle_epi8(low, _mm512_and_si512(here, lower)), _mm512_shuffle_epi8(high, upper));
  }

  // VBMI looks at six bits of an index. A table that stands there four times needs no more than four, so the neighbor's
  // code may stay in the byte.
  VIZSLA_VBMI __m512i at_once(const std::uint8_t* codes) const {
    const __m512i here = _mm512_loadu_si512(codes), upper = _mm512_srli_epi16(here, 4);
    return _mm512_add_epi8(permuted(low, here), permuted(high, upper));
  }
};

// Once for each way to look up: a template cannot serve both, since a function is inlined only where its instructions
// are.
#define VIZSLA_HALF_BLOCKS(name, instructions, at)                                                                   \
  instructions inline void name(const std::uint8_t* const* codes, const std::uint8_t* tables, std::size_t row_bytes, \
                                std::uint16_t floor, RoundedSums* found) {                                           \
    const CodesAhead ahead(row_bytes);                                                                               \
    BlockSums sums[together];                                                                                        \
    for (BlockSums& block : sums) block.clear();                                                                     \
    std::size_t row = 0;                                                                                             \
    for (; row + 2 <= row_bytes; row += 2, tables += 64) {                                                           \
      const HalfTables here(tables), next(tables + 32);                                                              \
      const std::size_t later = ahead(row);                                                                          \
      _Pragma("GCC unroll 6") for (std::size_t i = 0; i < together; ++i) {                                           \
        const std::uint8_t* line = codes[i] + row * 64;                                                              \
        __builtin_prefetch(line + later);                                                                            \
        __builtin_prefetch(line + later + 64);                                                                       \
        sums[i].add(_mm512_add_epi8(here.at(line), next.at(line + 64)));                                             \
      }                                                                                                              \
    }                                                                                                                \
    if (row < row_bytes) {                                                                                           \
      const HalfTables here(tables);                                                                                 \
      for (std::size_t i = 0; i < together; ++i) sums[i].add(here.at(codes[i] + row * 64));                          \
    }                                                                                                                \
    for (std::size_t i = 0; i < together; ++i) found[i].bits = sums[i].reached(floor, found[i].sums);                \
  }

VIZSLA_HALF_BLOCKS(half_blocks, VIZSLA_AVX512BW, at)
VIZSLA_HALF_BLOCKS(half_blocks_at_once, VIZSLA_VBMI, at_once)
#undef VIZSLA_HALF_BLOCKS

// A table of 256 bytes in registers.
struct ByteTable {
  __m512i first, second, third, fourth;

  VIZSLA_VBMI explicit ByteTable(const std::uint8_t* table)
      : first(_mm512_loadu_si512(table)),
        second(_mm512_loadu_si512(table + 64)),
        third(_mm512_loadu_si512(table + 128)),
        fourth(_mm512_loadu_si512(table + 192)) {}

  VIZSLA_VBMI __m512i at(const std::uint8_t* codes) const {
    const __m512i here = _mm512_loadu_si512(codes);
    const __m512i lower = _mm512_permutex2var_epi8(first, here, second);
    const __m512i upper = _mm512_permutex2var_epi8(third, here, fourth);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(here), lower, upper);
  }
};

VIZSLA_VBMI inline void byte_blocks(const std::uint8_t* const* codes, const std::uint8_t* tables, std::size_t row_bytes,
                                    std::uint16_t floor, RoundedSums* found) {
  const CodesAhead ahead(row_bytes);
  BlockSums sums[together];
  for (BlockSums& block : sums) block.clear();
  for (std::size_t row = 0; row < row_bytes;) {
    __m512i four[together];
    for (__m512i& bytes : four) bytes = _mm512_setzero_si512();
    for (const std::size_t end = row + 4 < row_bytes ? row + 4 : row_bytes; row < end; ++row, tables += 256) {
      const ByteTable table(tables);
      const std::size_t later = ahead(row);
#pragma GCC unroll 6
      for (std::size_t i = 0; i < together; ++i) {
        const std::uint8_t* at = codes[i] + row * 64;
        __builtin_prefetch(at + later);
        four[i] = _mm512_add_epi8(four[i], table.at(at));
      }
    }
#pragma GCC unroll 6
    for (std::size_t i = 0; i < together; ++i) sums[i].add(four[i]);
  }
  for (std::size_t i = 0; i < together; ++i) found[i].bits = sums[i].reached(floor, found[i].sums);
}

}  // namespace vizsla::avx512
#endif
