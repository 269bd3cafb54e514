// The inner products of sixteen query tokens with a few rows at once; the best of each query token is kept.
//
// A query token is a lane, so every sum is added in the order of the dimensions, each step a fused multiply-add: the
// same bits from every instruction set, and from every number of rows side by side.
#pragma once

#include <cmath>
#include <cstddef>

#include "dense/kernels_avx2.hpp"

namespace vizsla {

struct MaxSimKernels {
  static constexpr std::size_t lanes = 16;

  // `turned`: dimensions × sixteen query tokens. `rows`: `count` rows of `dim` numbers. `best`: sixteen numbers.
  using Keep = void (*)(const float* turned, const float* rows, std::size_t count, std::size_t dim, float* best);

  static Keep portable();
  static Keep best();
};

namespace plain {

inline void keep_best(const float* turned, const float* rows, std::size_t count, std::size_t dim, float* best) {
  constexpr std::size_t lanes = MaxSimKernels::lanes;
  for (std::size_t row = 0; row < count; ++row) {
    float sums[lanes] = {};
    for (std::size_t at = 0; at < dim; ++at) {
      for (std::size_t lane = 0; lane < lanes; ++lane)
        sums[lane] = std::fma(turned[at * lanes + lane], rows[row * dim + at], sums[lane]);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) best[lane] = sums[lane] > best[lane] ? sums[lane] : best[lane];
  }
}

}  // namespace plain

// Calls `step` with groups of at most `Most` rows, as even as can be: a group of one would only wait for its own sums.
template <std::size_t Most, class Step>
void in_even_groups(std::size_t count, const Step& step) {
  for (std::size_t groups = (count + Most - 1) / Most, first = 0; groups > 0; --groups) {
    const std::size_t rows = (count - first + groups - 1) / groups;
    step(first, rows);
    first += rows;
  }
}

#ifdef VIZSLA_HAS_AVX2
#define VIZSLA_AVX512 __attribute__((target("avx512f")))

namespace avx2 {

template <std::size_t Rows>
VIZSLA_AVX2 void keep_group(const float* turned, const float* rows, std::size_t dim, float* best) {
  __m256 low[Rows], high[Rows];
  for (std::size_t row = 0; row < Rows; ++row) low[row] = high[row] = _mm256_setzero_ps();
  for (std::size_t at = 0; at < dim; ++at) {
    const __m256 first = _mm256_loadu_ps(turned + at * 16), second = _mm256_loadu_ps(turned + at * 16 + 8);
#pragma GCC unroll 6
    for (std::size_t row = 0; row < Rows; ++row) {
      const __m256 number = _mm256_broadcast_ss(rows + row * dim + at);
      low[row] = _mm256_fmadd_ps(first, number, low[row]);
      high[row] = _mm256_fmadd_ps(second, number, high[row]);
    }
  }
  for (std::size_t row = 0; row < Rows; ++row) {  // of a number and none, the second stays
    _mm256_storeu_ps(best, _mm256_max_ps(low[row], _mm256_loadu_ps(best)));
    _mm256_storeu_ps(best + 8, _mm256_max_ps(high[row], _mm256_loadu_ps(best + 8)));
  }
}

inline void keep_best(const float* turned, const float* rows, std::size_t count, std::size_t dim, float* best) {
  in_even_groups<6>(count, [&](std::size_t first, std::size_t group) {
    constexpr decltype(&keep_group<1>) sizes[] = {&keep_group<1>, &keep_group<2>, &keep_group<3>,
                                                  &keep_group<4>, &keep_group<5>, &keep_group<6>};
    sizes[group - 1](turned, rows + first * dim, dim, best);
  });
}

}  // namespace avx2

namespace avx512 {

template <std::size_t Rows>
VIZSLA_AVX512 void keep_group(const float* turned, const float* rows, std::size_t dim, float* best) {
  __m512 sums[Rows];
  for (std::size_t row = 0; row < Rows; ++row) sums[row] = _mm512_setzero_ps();
  for (std::size_t at = 0; at < dim; ++at) {
    const __m512 tokens = _mm512_loadu_ps(turned + at * 16);
#pragma GCC unroll 12
    for (std::size_t row = 0; row < Rows; ++row)
      sums[row] = _mm512_fmadd_ps(tokens, _mm512_set1_ps(rows[row * dim + at]), sums[row]);
  }
  __m512 most = _mm512_loadu_ps(best);
  for (std::size_t row = 0; row < Rows; ++row) most = _mm512_max_ps(sums[row], most);
  _mm512_storeu_ps(best, most);
}

inline void keep_best(const float* turned, const float* rows, std::size_t count, std::size_t dim, float* best) {
  in_even_groups<12>(count, [&](std::size_t first, std::size_t group) {
    constexpr decltype(&keep_group<1>) sizes[] = {&keep_group<1>, &keep_group<2>,  &keep_group<3>,  &keep_group<4>,
                                                  &keep_group<5>, &keep_group<6>,  &keep_group<7>,  &keep_group<8>,
                                                  &keep_group<9>, &keep_group<10>, &keep_group<11>, &keep_group<12>};
    sizes[group - 1](turned, rows + first * dim, dim, best);
  });
}

}  // namespace avx512
#endif

inline MaxSimKernels::Keep MaxSimKernels::portable() { return &plain::keep_best; }

inline MaxSimKernels::Keep MaxSimKernels::best() {
#ifdef VIZSLA_HAS_AVX2
  static const bool wide = __builtin_cpu_supports("avx512f");
  if (wide) return &avx512::keep_best;
  static const bool here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (here) return &avx2::keep_best;
#endif
  return portable();
}

}  // namespace vizsla
