// Inner products of whole numbers: a query of 16 bits with a row of 8. No rounding, so every kernel gives the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dense/kernels_avx2.hpp"

namespace vizsla {

struct GuardKernels {
  static constexpr std::size_t lanes = 16;  // rows are a multiple of this long

  std::int32_t (*dot)(const std::int16_t* query, const std::int8_t* row, std::size_t width);

  static const GuardKernels& portable();
  static const GuardKernels& best();
};

namespace plain {

inline std::int32_t whole_dot(const std::int16_t* query, const std::int8_t* row, std::size_t width) {
  std::int32_t sum = 0;
  for (std::size_t at = 0; at < width; ++at) sum += std::int32_t{query[at]} * std::int32_t{row[at]};
  return sum;
}

}  // namespace plain

#ifdef VIZSLA_HAS_AVX2
#define VIZSLA_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

namespace avx2 {

VIZSLA_AVX2 inline __m256i sixteen(const std::int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

VIZSLA_AVX2 inline __m256i sixteen(const std::int16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

VIZSLA_AVX2 inline std::int32_t whole_dot(const std::int16_t* query, const std::int8_t* row, std::size_t width) {
  __m256i first = _mm256_setzero_si256(), second = first;
  std::size_t at = 0;
  for (; at + 32 <= width; at += 32) {
    first = _mm256_add_epi32(first, _mm256_madd_epi16(sixteen(query + at), sixteen(row + at)));
    second = _mm256_add_epi32(second, _mm256_madd_epi16(sixteen(query + at + 16), sixteen(row + at + 16)));
  }
  for (; at + 16 <= width; at += 16) {
    first = _mm256_add_epi32(first, _mm256_madd_epi16(sixteen(query + at), sixteen(row + at)));
  }
  const __m256i eight = _mm256_add_epi32(first, second);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
}

}  // namespace avx2

namespace vnni {

VIZSLA_VNNI inline __m512i added(__m512i sum, const std::int16_t* query, const std::int8_t* row) {
  const __m512i numbers = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row)));
  return _mm512_dpwssd_epi32(sum, numbers, _mm512_loadu_si512(query));
}

// Through memory: GCC 12 warns of what most instructions that fold a register are made of.
VIZSLA_VNNI inline std::int32_t total(__m512i sums) {
  alignas(64) std::int32_t lanes[16];
  _mm512_store_si512(lanes, sums);
  std::int32_t sum = 0;
  for (const std::int32_t lane : lanes) sum += lane;
  return sum;
}

VIZSLA_VNNI inline std::int32_t whole_dot(const std::int16_t* query, const std::int8_t* row, std::size_t width) {
  __m512i first = _mm512_setzero_si512(), second = first;
  std::size_t at = 0;
  for (; at + 64 <= width; at += 64) {
    first = added(first, query + at, row + at);
    second = added(second, query + at + 32, row + at + 32);
  }
  for (; at + 32 <= width; at += 32) first = added(first, query + at, row + at);
  const std::int32_t sum = total(_mm512_add_epi32(first, second));
  return at < width ? sum + avx2::whole_dot(query + at, row + at, width - at) : sum;
}

}  // namespace vnni
#endif

inline const GuardKernels& GuardKernels::portable() {
  static const GuardKernels kernels{&plain::whole_dot};
  return kernels;
}

inline const GuardKernels& GuardKernels::best() {
#ifdef VIZSLA_HAS_AVX2
  static const GuardKernels wide{&vnni::whole_dot}, kernels{&avx2::whole_dot};
  static const bool wider = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw");
  static const bool here = __builtin_cpu_supports("avx2");
  if (wider) return wide;
  if (here) return kernels;
#endif
  return portable();
}

}  // namespace vizsla
