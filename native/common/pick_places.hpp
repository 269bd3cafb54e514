// Where some numbers reach a limit: their places, ascending. NaN reaches none.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define VIZSLA_PICK_PLACES_AVX512
#endif

namespace vizsla {

inline constexpr std::size_t beyond_picked = 16;  // so much more room than there are values

namespace detail {

inline std::size_t pick_plain(const float* values, std::size_t count, float least, std::uint32_t* places) {
  std::size_t picked = 0;
  for (std::size_t at = 0; at < count; ++at) {  // who is picked is not guessed
    places[picked] = static_cast<std::uint32_t>(at);
    picked += values[at] >= least;
  }
  return picked;
}

#ifdef VIZSLA_PICK_PLACES_AVX512
__attribute__((target("avx512f"))) inline std::size_t pick_avx512(const float* values, std::size_t count, float least,
                                                                  std::uint32_t* places) {
  const __m512 limit = _mm512_set1_ps(least);
  __m512i here = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::size_t picked = 0;
  for (std::size_t first = 0; first < count; first += 16) {
    const auto lanes = static_cast<__mmask16>(count - first >= 16 ? 0xFFFFU : (1U << (count - first)) - 1);
    const __mmask16 found = _mm512_mask_cmp_ps_mask(lanes, _mm512_maskz_loadu_ps(lanes, values + first), limit, _CMP_GE_OQ);
    _mm512_storeu_si512(places + picked, _mm512_maskz_compress_epi32(found, here));
    picked += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(found)));
    here = _mm512_add_epi32(here, _mm512_set1_epi32(16));
  }
  return picked;
}
#endif

}  // namespace detail

// Returns how many. `places` has room for `beyond_picked` more than there are values.
inline std::size_t pick_places(const float* values, std::size_t count, float least, std::uint32_t* places) {
#ifdef VIZSLA_PICK_PLACES_AVX512
  static const bool here = __builtin_cpu_supports("avx512f");
  if (here) return detail::pick_avx512(values, count, least, places);
#endif
  return detail::pick_plain(values, count, least, places);
}

}  // namespace vizsla
