// Some of eight lanes moved to the front: what AVX-512 has an instruction for, and AVX2 a table.
#pragma once

#include <array>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define VIZSLA_LANE_SETS_AVX2
#endif

namespace vizsla {

namespace detail {

// Of every set of eight lanes: which ones are in it, ascending.
inline constexpr auto lanes_in = [] {
  std::array<std::array<std::uint8_t, 8>, 256> lanes{};
  for (std::size_t set = 0; set < lanes.size(); ++set) {
    std::size_t count = 0;
    for (std::uint8_t lane = 0; lane < 8; ++lane) {
      if ((set >> lane & 1) != 0) lanes[set][count++] = lane;
    }
  }
  return lanes;
}();

}  // namespace detail

#ifdef VIZSLA_LANE_SETS_AVX2
// The lanes of a set, ascending; what comes behind them is of no account.
__attribute__((target("avx2"))) inline __m256i lanes_first_avx2(__m256i lanes, unsigned set) {
  const auto* const places = reinterpret_cast<const __m128i*>(detail::lanes_in[set & 0xFF].data());
  return _mm256_permutevar8x32_epi32(lanes, _mm256_cvtepu8_epi32(_mm_loadl_epi64(places)));
}
#endif

}  // namespace vizsla
