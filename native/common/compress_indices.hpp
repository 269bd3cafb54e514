// Stream compaction: the ascending indices of the values that meet a condition, without unpredictable branches.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/instructions.hpp"
#include "common/lane_sets.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define VIZSLA_COMPRESS_INDICES_X86
#endif

namespace vizsla {

inline constexpr std::size_t compress_slack = 16;  // so much more room than there are values

// Numbers from a limit on; NaN is none.
struct FromLimit {
  float limit;

  bool picks(float value) const { return value >= limit; }

#ifdef VIZSLA_COMPRESS_INDICES_X86
  __attribute__((target("avx2"))) unsigned mask_of_eight(const float* values) const {
    const __m256 reach = _mm256_cmp_ps(_mm256_loadu_ps(values), _mm256_set1_ps(limit), _CMP_GE_OQ);
    return static_cast<unsigned>(_mm256_movemask_ps(reach));
  }

  __attribute__((target("avx512f"))) __mmask16 mask_of_sixteen(const float* values, __mmask16 lanes) const {
    return _mm512_mask_cmp_ps_mask(lanes, _mm512_maskz_loadu_ps(lanes, values), _mm512_set1_ps(limit), _CMP_GE_OQ);
  }
#endif
};

// Numbers from `low` on that are below `low + width`.
struct WithinRange {
  std::uint32_t low, width;

  bool picks(std::int32_t value) const { return static_cast<std::uint32_t>(value) - low < width; }

#ifdef VIZSLA_COMPRESS_INDICES_X86
  // AVX2 compares no unsigned numbers, but finds the larger of two: a value is within if the maximum with the last one
  // within is the last one.
  __attribute__((target("avx2"))) unsigned mask_of_eight(const std::int32_t* values) const {
    if (width == 0) return 0;
    const __m256i given = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
    const __m256i from_low = _mm256_sub_epi32(given, _mm256_set1_epi32(static_cast<int>(low)));
    const __m256i last = _mm256_set1_epi32(static_cast<int>(width - 1));
    const __m256i within = _mm256_cmpeq_epi32(_mm256_max_epu32(from_low, last), last);
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(within)));
  }

  __attribute__((target("avx512f"))) __mmask16 mask_of_sixteen(const std::int32_t* values, __mmask16 lanes) const {
    const __m512i from_low =
        _mm512_sub_epi32(_mm512_maskz_loadu_epi32(lanes, values), _mm512_set1_epi32(static_cast<int>(low)));
    return _mm512_mask_cmplt_epu32_mask(lanes, from_low, _mm512_set1_epi32(static_cast<int>(width)));
  }
#endif
};

namespace detail {

// The places from `begin` on, behind those that were picked before.
template <class Number, class Wanted>
std::size_t pick_plain(std::span<const Number> values, std::size_t begin, const Wanted& wanted, std::size_t picked,
                       std::uint32_t* places) {
  for (std::size_t at = begin; at < values.size(); ++at) {
    places[picked] = static_cast<std::uint32_t>(at);
    picked += wanted.picks(values[at]);
  }
  return picked;
}

#ifdef VIZSLA_COMPRESS_INDICES_X86
template <class Number, class Wanted>
__attribute__((target("avx2,popcnt"))) std::size_t pick_avx2(std::span<const Number> values, const Wanted& wanted,
                                                             std::uint32_t* places) {
  __m256i here = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::size_t picked = 0, first = 0;
  for (; first + 8 <= values.size(); first += 8) {
    const unsigned found = wanted.mask_of_eight(values.data() + first);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + picked), lanes_first_avx2(here, found));
    picked += static_cast<std::size_t>(std::popcount(found));
    here = _mm256_add_epi32(here, _mm256_set1_epi32(8));
  }
  return pick_plain(values, first, wanted, picked, places);
}

template <class Number, class Wanted>
__attribute__((target("avx512f"))) std::size_t pick_avx512(std::span<const Number> values, const Wanted& wanted,
                                                           std::uint32_t* places) {
  const std::size_t count = values.size();
  __m512i here = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::size_t picked = 0;
  for (std::size_t first = 0; first < count; first += 16) {
    const auto lanes = static_cast<__mmask16>(count - first >= 16 ? 0xFFFFU : (1U << (count - first)) - 1);
    const __mmask16 found = wanted.mask_of_sixteen(values.data() + first, lanes);
    _mm512_storeu_si512(places + picked, _mm512_maskz_compress_epi32(found, here));
    picked += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(found)));
    here = _mm512_add_epi32(here, _mm512_set1_epi32(16));
  }
  return picked;
}
#endif

}  // namespace detail

// Returns how many. `places` has room for `compress_slack` more than there are values.
template <class Number, class Wanted>
std::size_t compress_indices(std::span<const Number> values, const Wanted& wanted, std::uint32_t* places,
                             Instructions most = Instructions::avx512) {
#ifdef VIZSLA_COMPRESS_INDICES_X86
  const Instructions here = instructions_here(most);
  if (here >= Instructions::avx512) return detail::pick_avx512(values, wanted, places);
  if (here == Instructions::avx2) return detail::pick_avx2(values, wanted, places);
#endif
  return detail::pick_plain(values, 0, wanted, 0, places);
}

}  // namespace vizsla
