// Integer inner products: an int16 query with int8 rows. There is no rounding, so all kernels agree.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/instructions.hpp"
#include "dense/kernels_avx2.hpp"

namespace vizsla {

struct Int8Kernels {
  static constexpr std::size_t lanes = 16;    // rows are a multiple of this long
  static constexpr std::size_t together = 4;  // rows that share the loads of a query

  void (*dots)(const std::int16_t* query, const std::int8_t* const* rows, std::size_t width, std::int32_t* sums);

  static const Int8Kernels& portable();
  static const Int8Kernels& best();
};

namespace plain {

inline void whole_dots(const std::int16_t* query, const std::int8_t* const* rows, std::size_t width,
                       std::int32_t* sums) {
  for (std::size_t i = 0; i < Int8Kernels::together; ++i) {
    sums[i] = 0;
    for (std::size_t at = 0; at < width; ++at) sums[i] += std::int32_t{query[at]} * std::int32_t{rows[i][at]};
  }
}

}  // namespace plain

#ifdef VIZSLA_HAS_AVX2
#define VIZSLA_VNNI __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vnni")))

namespace avx2 {

VIZSLA_AVX2 inline __m256i sixteen(const std::int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

VIZSLA_AVX2 inline __m256i sixteen(const std::int16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

VIZSLA_AVX2 inline __m256i added(__m256i sums, const std::int16_t* query, const std::int8_t* row) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(sixteen(query), sixteen(row)));
}

VIZSLA_AVX2 inline __m128i halved(__m256i eight) {
  return _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
}

// The totals of four registers.
VIZSLA_AVX2 inline void store_totals(const __m256i* eight, std::int32_t* sums) {
  const __m128i first = _mm_hadd_epi32(halved(eight[0]), halved(eight[1]));
  const __m128i second = _mm_hadd_epi32(halved(eight[2]), halved(eight[3]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), _mm_hadd_epi32(first, second));
}

VIZSLA_AVX2 inline void whole_dots(const std::int16_t* query, const std::int8_t* const* rows, std::size_t width,
                                   std::int32_t* sums) {
  __m256i eight[Int8Kernels::together];
  for (__m256i& one : eight) one = _mm256_setzero_si256();
  for (std::size_t at = 0; at < width; at += 16) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Int8Kernels::together; ++i) eight[i] = added(eight[i], query + at, rows[i] + at);
  }
  store_totals(eight, sums);
}

}  // namespace avx2

namespace vnni {

VIZSLA_VNNI inline __m512i added(__m512i sums, const std::int16_t* query, const std::int8_t* row) {
  const __m512i numbers = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row)));
  return _mm512_dpwssd_epi32(sums, numbers, _mm512_loadu_si512(query));
}

// With a mask that leaves nothing out: GCC 12 warns of what the instruction without one is made of.
VIZSLA_VNNI inline __m256i halved(__m512i sums) {
  return _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_maskz_extracti64x4_epi64(0xF, sums, 1));
}

VIZSLA_VNNI inline void whole_dots(const std::int16_t* query, const std::int8_t* const* rows, std::size_t width,
                                   std::int32_t* sums) {
  __m512i first[Int8Kernels::together], second[Int8Kernels::together];  // no sum waits for the last
  for (std::size_t i = 0; i < Int8Kernels::together; ++i) first[i] = second[i] = _mm512_setzero_si512();
  std::size_t at = 0;
  for (; at + 64 <= width; at += 64) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Int8Kernels::together; ++i) {
      first[i] = added(first[i], query + at, rows[i] + at);
      second[i] = added(second[i], query + at + 32, rows[i] + at + 32);
    }
  }
  __m256i eight[Int8Kernels::together];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < Int8Kernels::together; ++i) eight[i] = halved(_mm512_add_epi32(first[i], second[i]));
  for (; at < width; at += 16) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Int8Kernels::together; ++i) eight[i] = avx2::added(eight[i], query + at, rows[i] + at);
  }
  avx2::store_totals(eight, sums);
}

}  // namespace vnni
#endif

inline const Int8Kernels& Int8Kernels::portable() {
  static const Int8Kernels kernels{&plain::whole_dots};
  return kernels;
}

inline const Int8Kernels& Int8Kernels::best() {
#ifdef VIZSLA_HAS_AVX2
  static const Int8Kernels wide{&vnni::whole_dots}, kernels{&avx2::whole_dots};
  static const bool here = instructions_here() >= Instructions::avx2;
  static const bool wider = instructions_here() >= Instructions::avx512 && __builtin_cpu_supports("avx512vnni");
  if (wider) return wide;
  if (here) return kernels;
#endif
  return portable();
}

}  // namespace vizsla
