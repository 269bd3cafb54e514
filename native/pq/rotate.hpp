// A query rotated by a codebook's rotation: the inner products with its rows, bit for bit those of `plain::pair_dot`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/instructions.hpp"
#include "dense/kernels_avx2.hpp"
#include "dense/kernels_plain.hpp"

namespace vizsla {

// The rows of a matrix against a query in float64.
using RotateKernel = void (*)(const double* query, const float* rows, std::size_t count, std::size_t dim,
                              float* rotated);

namespace plain {

inline void rotate(const double* query, const float* rows, std::size_t count, std::size_t dim, float* rotated) {
  for (std::size_t row = 0; row < count; ++row, rows += dim) {
    double sums[8] = {};
    for (std::size_t at = 0; at < dim; ++at) sums[at % 8] += query[at] * double{rows[at]};
    rotated[row] = joined(sums);
  }
}

}  // namespace plain

#ifdef VIZSLA_HAS_AVX2
namespace avx2 {

VIZSLA_AVX2 inline void rotate(const double* query, const float* rows, std::size_t count, std::size_t dim,
                               float* rotated) {
  constexpr std::size_t together = 4;  // rows that share the loads of a query
  for (std::size_t row = 0; row < count; row += together) {
    const float* from[together];
    for (std::size_t i = 0; i < together; ++i) from[i] = rows + std::min(row + i, count - 1) * dim;
    __m256d low[together], high[together];
    for (std::size_t i = 0; i < together; ++i) low[i] = high[i] = _mm256_setzero_pd();
    std::size_t at = 0;
    for (; at + 8 <= dim; at += 8) {
      const __m256d first = _mm256_loadu_pd(query + at), second = _mm256_loadu_pd(query + at + 4);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < together; ++i) {
        low[i] = _mm256_fmadd_pd(first, four_doubles(from[i] + at), low[i]);
        high[i] = _mm256_fmadd_pd(second, four_doubles(from[i] + at + 4), high[i]);
      }
    }
    for (std::size_t i = 0; i < together && row + i < count; ++i) {
      alignas(32) double sums[8];
      _mm256_store_pd(sums, low[i]);
      _mm256_store_pd(sums + 4, high[i]);
      for (std::size_t rest = at; rest < dim; ++rest) sums[rest - at] += query[rest] * double{from[i][rest]};
      rotated[row + i] = plain::joined(sums);
    }
  }
}

}  // namespace avx2

namespace avx512 {

// With a mask that leaves nothing out: GCC 12 warns of what the instruction without one is made of.
__attribute__((target("avx512f"))) inline __m512d eight_doubles(const float* from) {
  return _mm512_maskz_cvtps_pd(0xFF, _mm256_loadu_ps(from));
}

__attribute__((target("avx512f"))) inline void rotate(const double* query, const float* rows, std::size_t count,
                                                      std::size_t dim, float* rotated) {
  constexpr std::size_t together = 8;  // rows that share the loads of a query
  constexpr std::size_t ahead = 256;   // numbers: as many as pass while a line comes from the last cache
  const std::size_t last = dim > ahead ? dim - ahead : 0;
  for (std::size_t row = 0; row < count; row += together) {
    const float* from[together];
    for (std::size_t i = 0; i < together; ++i) from[i] = rows + std::min(row + i, count - 1) * dim;
    __m512d eight[together];
    for (std::size_t i = 0; i < together; ++i) eight[i] = _mm512_setzero_pd();
    std::size_t at = 0;
    for (; at + 8 <= dim; at += 8) {
      const __m512d numbers = _mm512_loadu_pd(query + at);
      const std::size_t later = at < last ? ahead : together * dim - last;
#pragma GCC unroll 8
      for (std::size_t i = 0; i < together; ++i) {
        if (at % 16 == 0) __builtin_prefetch(from[i] + at + later);
        eight[i] = _mm512_fmadd_pd(numbers, eight_doubles(from[i] + at), eight[i]);
      }
    }
    for (std::size_t i = 0; i < together && row + i < count; ++i) {
      alignas(64) double sums[8];
      _mm512_store_pd(sums, eight[i]);
      for (std::size_t rest = at; rest < dim; ++rest) sums[rest - at] += query[rest] * double{from[i][rest]};
      rotated[row + i] = plain::joined(sums);
    }
  }
}

}  // namespace avx512
#endif

inline RotateKernel rotate_kernel(Instructions instructions) {
#ifdef VIZSLA_HAS_AVX2
  if (instructions >= Instructions::avx512) return &avx512::rotate;
  if (instructions == Instructions::avx2) return &avx2::rotate;
#endif
  return &plain::rotate;
}

}  // namespace vizsla
