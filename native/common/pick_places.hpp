// Where some numbers are of interest: their places, ascending. Which ones are is not guessed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define VIZSLA_PICK_PLACES_AVX512
#endif

namespace vizsla {

inline constexpr std::size_t beyond_picked = 16;  // so much more room than there are values

// Numbers from a limit on; NaN is none.
struct FromLimit {
  float limit;

  bool picks(float value) const { return value >= limit; }

#ifdef VIZSLA_PICK_PLACES_AVX512
  __attribute__((target("avx512f"))) __mmask16 picks(const float* values, __mmask16 lanes) const {
    return _mm512_mask_cmp_ps_mask(lanes, _mm512_maskz_loadu_ps(lanes, values), _mm512_set1_ps(limit), _CMP_GE_OQ);
  }
#endif
};

// Numbers from `low` on that are below `low + width`.
struct WithinRange {
  std::uint32_t low, width;

  bool picks(std::int32_t value) const { return static_cast<std::uint32_t>(value) - low < width; }

#ifdef VIZSLA_PICK_PLACES_AVX512
  __attribute__((target("avx512f"))) __mmask16 picks(const std::int32_t* values, __mmask16 lanes) const {
    const __m512i from_low = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(lanes, values), _mm512_set1_epi32(static_cast<int>(low)));
    return _mm512_mask_cmplt_epu32_mask(lanes, from_low, _mm512_set1_epi32(static_cast<int>(width)));
  }
#endif
};

namespace detail {

template <class Number, class Wanted>
std::size_t pick_plain(const Number* values, std::size_t count, const Wanted& wanted, std::uint32_t* places) {
  std::size_t picked = 0;
  for (std::size_t at = 0; at < count; ++at) {
    places[picked] = static_cast<std::uint32_t>(at);
    picked += wanted.picks(values[at]);
  }
  return picked;
}

#ifdef VIZSLA_PICK_PLACES_AVX512
template <class Number, class Wanted>
__attribute__((target("avx512f"))) std::size_t pick_avx512(const Number* values, std::size_t count, const Wanted& wanted,
                                                           std::uint32_t* places) {
  __m512i here = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::size_t picked = 0;
  for (std::size_t first = 0; first < count; first += 16) {
    const auto lanes = static_cast<__mmask16>(count - first >= 16 ? 0xFFFFU : (1U << (count - first)) - 1);
    const __mmask16 found = wanted.picks(values + first, lanes);
    _mm512_storeu_si512(places + picked, _mm512_maskz_compress_epi32(found, here));
    picked += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(found)));
    here = _mm512_add_epi32(here, _mm512_set1_epi32(16));
  }
  return picked;
}
#endif

}  // namespace detail

// Returns how many. `places` has room for `beyond_picked` more than there are values.
template <class Number, class Wanted>
std::size_t pick_places(std::span<const Number> values, const Wanted& wanted, std::uint32_t* places) {
#ifdef VIZSLA_PICK_PLACES_AVX512
  static const bool here = __builtin_cpu_supports("avx512f");
  if (here) return detail::pick_avx512(values.data(), values.size(), wanted, places);
#endif
  return detail::pick_plain(values.data(), values.size(), wanted, places);
}

}  // namespace vizsla
