// Sums of 64 items over tables of bytes. Of 16 numbers: 32 look-ups an instruction where the CPU has AVX2, 64 with
// AVX-512. Of 256: 64 look-ups in two instructions and a choice, where it has AVX-512 with VBMI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dense/kernels_avx2.hpp"

namespace vizsla {

// A block's sums, and a bit for each that counts.
struct RoundedSums {
  std::uint64_t bits;
  std::uint16_t sums[64];
};

struct RoundedKernels {
  static constexpr std::size_t together = 4;  // blocks that share the loads of a table

  // Adds up the bytes, of at most 127, that four blocks' codes point to, item by item, and says, a bit an item, whose sum
  // reaches `floor`. A block's sums are of use only if somebody's does.
  using Blocks = void (*)(const std::uint8_t* const* codes, const std::uint8_t* tables, std::size_t row_bytes,
                          std::uint16_t floor, RoundedSums* sums);

  Blocks halves;           // codes of 4 bits, two a byte
  Blocks bytes = nullptr;  // codes of 8 bits; none where the tables themselves are as fast

  static const RoundedKernels& portable();
  static const RoundedKernels& best();
};

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
  for (std::size_t i = 0; i < RoundedKernels::together; ++i) {
    sums[i].bits = half_block(codes[i], tables, row_bytes, floor, sums[i].sums);
  }
}

}  // namespace plain

#ifdef VIZSLA_HAS_AVX2
namespace avx2 {

// Sums of 32 items: 16 bits over pairs of bytes, and the odd items' apart, to be taken out of the pairs at the end.
struct PairSums {
  __m256i pairs, odd;

  VIZSLA_AVX2 void add(__m256i codes, __m256i low_table, __m256i high_table) {
    const __m256i lower = _mm256_set1_epi8(15);
    const __m256i low = _mm256_shuffle_epi8(low_table, _mm256_and_si256(codes, lower));
    const __m256i high = _mm256_shuffle_epi8(high_table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), lower));
    const __m256i both = _mm256_add_epi8(low, high);
    pairs = _mm256_add_epi16(pairs, both);
    odd = _mm256_add_epi16(odd, _mm256_srli_epi16(both, 8));
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

VIZSLA_AVX2 inline std::uint64_t half_block(const std::uint8_t* codes, const std::uint8_t* tables,
                                            std::size_t row_bytes, std::uint16_t floor, std::uint16_t* sums) {
  constexpr std::size_t ahead = 4096;  // bytes: a page, which is as far as the CPU looks by itself
  const __m256i zero = _mm256_setzero_si256();
  PairSums first{zero, zero}, second{zero, zero};
  for (std::size_t row = 0; row < row_bytes; ++row, codes += 64, tables += 32) {
    __builtin_prefetch(codes + ahead);
    const __m256i low = table_twice(tables), high = table_twice(tables + 16);
    first.add(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)), low, high);
    second.add(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 32)), low, high);
  }
  const std::uint64_t later = second.reached(floor, sums + 32);
  return later << 32 | first.reached(floor, sums);
}

VIZSLA_AVX2 inline void half_blocks(const std::uint8_t* const* codes, const std::uint8_t* tables,
                                    std::size_t row_bytes, std::uint16_t floor, RoundedSums* sums) {
  for (std::size_t i = 0; i < RoundedKernels::together; ++i) {
    sums[i].bits = half_block(codes[i], tables, row_bytes, floor, sums[i].sums);
  }
}

}  // namespace avx2

#define VIZSLA_AVX512BW __attribute__((target("avx512f,avx512bw")))
#define VIZSLA_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

namespace avx512 {

// With masks that leave nothing out: GCC 12 warns of what the instruction without one is made of.
VIZSLA_AVX512BW inline __m512i table_four_times(const std::uint8_t* table) {
  return _mm512_maskz_broadcast_i32x4(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
}

VIZSLA_AVX512BW inline std::uint64_t reached(__m512i pairs, __m512i odd, std::uint16_t floor, std::uint16_t* sums) {
  const __m512i even = _mm512_sub_epi16(pairs, _mm512_slli_epi16(odd, 8));
  const __m512i least = _mm512_set1_epi16(static_cast<short>(floor));
  if ((_mm512_cmpge_epu16_mask(even, least) | _mm512_cmpge_epu16_mask(odd, least)) == 0) return 0;
  alignas(64) std::uint16_t evens[32], odds[32];
  _mm512_store_si512(evens, even);
  _mm512_store_si512(odds, odd);
  std::uint64_t bits = 0;
  for (std::size_t pair = 0; pair < 32; ++pair) {
    sums[2 * pair] = evens[pair], sums[2 * pair + 1] = odds[pair];
    bits |= std::uint64_t{evens[pair] >= floor} << (2 * pair) | std::uint64_t{odds[pair] >= floor} << (2 * pair + 1);
  }
  return bits;
}

// Sums of four blocks on their way, as with AVX2; a row of a block is one register.
struct FourSums {
  static constexpr std::size_t four = RoundedKernels::together;
  __m512i pairs[four], odd[four];

  VIZSLA_AVX512BW FourSums() {
    for (std::size_t i = 0; i < four; ++i) pairs[i] = odd[i] = _mm512_setzero_si512();
  }

  // Adds two numbers of seven bits an item.
  VIZSLA_AVX512BW void add(std::size_t i, __m512i both) {
    pairs[i] = _mm512_add_epi16(pairs[i], both);
    odd[i] = _mm512_add_epi16(odd[i], _mm512_srli_epi16(both, 8));
  }

  VIZSLA_AVX512BW void store(std::uint16_t floor, RoundedSums* sums) const {
    for (std::size_t i = 0; i < four; ++i) sums[i].bits = reached(pairs[i], odd[i], floor, sums[i].sums);
  }
};

VIZSLA_AVX512BW inline void half_blocks(const std::uint8_t* const* codes, const std::uint8_t* tables,
                                        std::size_t row_bytes, std::uint16_t floor, RoundedSums* sums) {
  const std::size_t ahead = FourSums::four * row_bytes * 64;  // where the next four are, if no filter leaves them out
  const __m512i lower = _mm512_set1_epi8(15);
  FourSums found;
  for (std::size_t row = 0; row < row_bytes; ++row, tables += 32) {
    const __m512i low = table_four_times(tables), high = table_four_times(tables + 16);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < FourSums::four; ++i) {
      __builtin_prefetch(codes[i] + row * 64 + ahead);
      const __m512i here = _mm512_loadu_si512(codes[i] + row * 64);
      const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(here, 4), lower);
      const __m512i first = _mm512_shuffle_epi8(low, _mm512_and_si512(here, lower));
      found.add(i, _mm512_add_epi8(first, _mm512_shuffle_epi8(high, upper)));
    }
  }
  found.store(floor, sums);
}

// A table of 256 bytes in registers.
struct ByteTable {
  __m512i first, second, third, fourth;

  VIZSLA_VBMI explicit ByteTable(const std::uint8_t* table)
      : first(_mm512_loadu_si512(table)), second(_mm512_loadu_si512(table + 64)),
        third(_mm512_loadu_si512(table + 128)), fourth(_mm512_loadu_si512(table + 192)) {}

  VIZSLA_VBMI __m512i at(__m512i codes) const {
    const __m512i lower = _mm512_permutex2var_epi8(first, codes, second);
    const __m512i upper = _mm512_permutex2var_epi8(third, codes, fourth);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), lower, upper);
  }
};

VIZSLA_VBMI inline void byte_blocks(const std::uint8_t* const* codes, const std::uint8_t* tables, std::size_t row_bytes,
                                    std::uint16_t floor, RoundedSums* sums) {
  const std::size_t ahead = FourSums::four * row_bytes * 64;
  FourSums found;
  __m512i both[FourSums::four];
  for (std::size_t row = 0; row < row_bytes; row += 2, tables += 512) {
    const ByteTable table(tables);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < FourSums::four; ++i) {
      __builtin_prefetch(codes[i] + row * 64 + ahead);
      __builtin_prefetch(codes[i] + row * 64 + ahead + 64);
      both[i] = table.at(_mm512_loadu_si512(codes[i] + row * 64));
    }
    if (row + 1 < row_bytes) {
      const ByteTable next(tables + 256);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < FourSums::four; ++i) {
        both[i] = _mm512_add_epi8(both[i], next.at(_mm512_loadu_si512(codes[i] + row * 64 + 64)));
      }
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < FourSums::four; ++i) found.add(i, both[i]);
  }
  found.store(floor, sums);
}

}  // namespace avx512
#endif

inline const RoundedKernels& RoundedKernels::portable() {
  static const RoundedKernels kernels{&plain::half_blocks};
  return kernels;
}

inline const RoundedKernels& RoundedKernels::best() {
#ifdef VIZSLA_HAS_AVX2
  static const RoundedKernels widest{&avx512::half_blocks, &avx512::byte_blocks}, wide{&avx512::half_blocks};
  static const RoundedKernels kernels{&avx2::half_blocks};
  static const bool wider = __builtin_cpu_supports("avx512bw"), here = __builtin_cpu_supports("avx2");
  if (wider && __builtin_cpu_supports("avx512vbmi")) return widest;
  if (wider) return wide;
  if (here) return kernels;
#endif
  return portable();
}

}  // namespace vizsla
