// Adds the entries of a short row. Most rows have an entry or two: four are read and added, those that are not the
// row's as zeros, so that nothing depends on how many there are and nothing is guessed wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace vizsla {

inline constexpr std::size_t short_row = 4;

namespace detail {

#if defined(__SSE2__)
// The four weights that begin here, as floats.
template <class Weight>
__m128 four_weights(const std::uint8_t* bytes) {
  if constexpr (std::is_same_v<Weight, float>) {
    return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  } else if constexpr (std::is_same_v<Weight, std::int16_t>) {
    const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
    return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(packed, packed), 16));
  } else {
    std::int32_t word;
    std::memcpy(&word, bytes, sizeof word);
    const __m128i packed = _mm_cvtsi32_si128(word), doubled = _mm_unpacklo_epi8(packed, packed);
    return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(doubled, doubled), 24));
  }
}

// Ones in the lanes below `count`.
inline __m128 lanes_below(std::size_t count) {
  alignas(16) static constexpr std::uint32_t ones_then_zeros[2 * short_row] = {
      UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0};
  return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(ones_then_zeros + short_row - count)));
}
#endif

template <class Weight>
void short_row_products(const std::uint8_t* weights, std::size_t count, float value, float* products) {
#if defined(__SSE2__)
  const __m128 kept = _mm_and_ps(four_weights<Weight>(weights), lanes_below(count));
  _mm_storeu_ps(products, _mm_mul_ps(kept, _mm_set1_ps(value)));
#else
  for (std::size_t e = 0; e < short_row; ++e) {
    Weight weight;
    std::memcpy(&weight, weights + e * sizeof weight, sizeof weight);
    products[e] = e < count ? value * static_cast<float>(weight) : 0.0F;
  }
#endif
}

}  // namespace detail

// Adds value × weight to the margin of each of `count` children, at most four. After `weights` come as many children, a
// byte each; sixteen bytes after the row's beginning can be read, and `margins` has room for 256 children.
template <class Weight>
void add_short_row(const std::uint8_t* weights, std::size_t count, float value, float* margins) {
  float products[short_row];
  detail::short_row_products<Weight>(weights, count, value, products);
  std::uint8_t children[short_row];
  std::memcpy(children, weights + count * sizeof(Weight), sizeof children);
  for (std::size_t e = 0; e < short_row; ++e) margins[children[e]] += products[e];
}

}  // namespace vizsla
