// Approximate inner products with AVX2, FMA and F16C. Which additions are fused does not matter: items that these
// sums put within their rounding of the best are scored again.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define VIZSLA_HAS_AVX2 1

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "dense/half.hpp"
#include "dense/kernels_plain.hpp"

#define VIZSLA_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace vizsla::avx2 {

VIZSLA_AVX2 inline __m256 eight(const float* from) { return _mm256_loadu_ps(from); }

VIZSLA_AVX2 inline __m256 eight(const Half* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

VIZSLA_AVX2 inline __m256 eight(const std::uint8_t* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

VIZSLA_AVX2 inline float total(__m256 sums) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
  four = _mm_hadd_ps(four, four);
  return _mm_cvtss_f32(_mm_hadd_ps(four, four));
}

// The totals of four registers at once.
VIZSLA_AVX2 inline __m128 totals(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}

// One row at a time, four sums side by side: memory is read as one stream, and no addition waits for the last.
template <class Number>
VIZSLA_AVX2 float dot(const float* query, const Number* row, std::size_t dim) {
  __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
  std::size_t at = 0;
  for (; at + 32 <= dim; at += 32) {
    a = _mm256_fmadd_ps(eight(query + at), eight(row + at), a);
    b = _mm256_fmadd_ps(eight(query + at + 8), eight(row + at + 8), b);
    c = _mm256_fmadd_ps(eight(query + at + 16), eight(row + at + 16), c);
    d = _mm256_fmadd_ps(eight(query + at + 24), eight(row + at + 24), d);
  }
  for (; at + 8 <= dim; at += 8) a = _mm256_fmadd_ps(eight(query + at), eight(row + at), a);
  float rest = 0;
  for (; at < dim; ++at) rest += query[at] * widened(row[at]);
  return total(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d))) + rest;
}

// The last few numbers of the rows of a tile.
inline void add_rest(const float* const* queries, const float* const* rows, std::size_t begin, std::size_t end,
                     float* sums, std::size_t stride) {
  for (std::size_t query = 0; query < 4; ++query) {
    for (std::size_t row = 0; row < 3; ++row) {
      float rest = 0;
      for (std::size_t at = begin; at < end; ++at) rest += queries[query][at] * rows[row][at];
      sums[query * stride + row] += rest;
    }
  }
}

// Four queries against three rows: twelve sums and what they are made of fill the sixteen registers.
VIZSLA_AVX2 inline void tile(const float* const* queries, const float* const* rows, std::size_t dim, float* sums,
                             std::size_t stride) {
  __m256 parts[4][3];
  for (auto& query : parts) query[0] = query[1] = query[2] = _mm256_setzero_ps();
  const std::size_t whole = dim - dim % 8;
  for (std::size_t at = 0; at < whole; at += 8) {
    const __m256 first = eight(rows[0] + at), second = eight(rows[1] + at), third = eight(rows[2] + at);
#pragma GCC unroll 4
    for (std::size_t query = 0; query < 4; ++query) {
      const __m256 numbers = eight(queries[query] + at);
      parts[query][0] = _mm256_fmadd_ps(numbers, first, parts[query][0]);
      parts[query][1] = _mm256_fmadd_ps(numbers, second, parts[query][1]);
      parts[query][2] = _mm256_fmadd_ps(numbers, third, parts[query][2]);
    }
  }
#pragma GCC unroll 3
  for (std::size_t row = 0; row < 3; ++row) {
    alignas(16) float four[4];
    _mm_store_ps(four, totals(parts[0][row], parts[1][row], parts[2][row], parts[3][row]));
    for (std::size_t query = 0; query < 4; ++query) sums[query * stride + row] = four[query];
  }
  if (whole < dim) add_rest(queries, rows, whole, dim, sums, stride);
}

VIZSLA_AVX2 inline __m256d four_doubles(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }

// The portable kernel's sums in its order. Fusing changes nothing here: the product of two floats is exact.
VIZSLA_AVX2 inline float pair_dot(const float* left, const float* right, std::size_t dim) {
  __m256d low = _mm256_setzero_pd(), high = low;
  std::size_t at = 0;
  for (; at + 8 <= dim; at += 8) {
    low = _mm256_fmadd_pd(four_doubles(left + at), four_doubles(right + at), low);
    high = _mm256_fmadd_pd(four_doubles(left + at + 4), four_doubles(right + at + 4), high);
  }
  alignas(32) double sums[8];
  _mm256_store_pd(sums, low);
  _mm256_store_pd(sums + 4, high);
  for (std::size_t lane = 0; at < dim; ++at, ++lane) sums[lane] += double{left[at]} * double{right[at]};
  return plain::joined(sums);
}

VIZSLA_AVX2 inline void widen(const Half* halves, std::size_t count, float* numbers) {
  std::size_t at = 0;
  for (; at + 8 <= count; at += 8) _mm256_storeu_ps(numbers + at, eight(halves + at));
  for (; at < count; ++at) numbers[at] = widened(halves[at]);
}

}  // namespace vizsla::avx2
#endif
