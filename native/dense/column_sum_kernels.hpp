// Weighted sums of columns: eight queries' weights times a block of columns, dimension after dimension.
//
// A column is a lane and every step a fused multiply-add, so a sum does not depend on the instruction set, on the block,
// or on the queries beside it.
#pragma once

#include <cmath>
#include <cstddef>

#include "dense/max_sim_kernels.hpp"

namespace vizsla {

struct ColumnSumKernels {
  static constexpr std::size_t queries = 8, columns = 48;

  // `turned`: dimensions × eight weights. `block`: dimensions × `width` numbers, of which 48 columns are added to `sums`,
  // eight rows of `width`.
  using Add = void (*)(const float* turned, const float* block, std::size_t dim, std::size_t width, float* sums);

  static Add portable();
  static Add best();
};

namespace plain {

inline void add_columns(const float* turned, const float* block, std::size_t dim, std::size_t width, float* sums) {
  constexpr std::size_t queries = ColumnSumKernels::queries, columns = ColumnSumKernels::columns;
  for (std::size_t query = 0; query < queries; ++query) {
    for (std::size_t at = 0; at < dim; ++at) {
      for (std::size_t lane = 0; lane < columns; ++lane) {
        float& sum = sums[query * width + lane];
        sum = std::fma(turned[at * queries + query], block[at * width + lane], sum);
      }
    }
  }
}

}  // namespace plain

#ifdef VIZSLA_HAS_AVX2

namespace avx2 {

// Four queries, 24 columns: twelve sums, which is what sixteen registers hold beside three numbers and a weight.
VIZSLA_AVX2 inline void add_quarter(const float* turned, const float* block, std::size_t dim, std::size_t width,
                                    float* sums) {
  __m256 held[4][3];
  for (std::size_t query = 0; query < 4; ++query)
    for (std::size_t part = 0; part < 3; ++part) held[query][part] = _mm256_loadu_ps(sums + query * width + part * 8);
  for (std::size_t at = 0; at < dim; ++at) {
    const float* row = block + at * width;
    const __m256 numbers[3] = {_mm256_loadu_ps(row), _mm256_loadu_ps(row + 8), _mm256_loadu_ps(row + 16)};
#pragma GCC unroll 4
    for (std::size_t query = 0; query < 4; ++query) {
      const __m256 weight = _mm256_broadcast_ss(turned + at * ColumnSumKernels::queries + query);
#pragma GCC unroll 3
      for (std::size_t part = 0; part < 3; ++part)
        held[query][part] = _mm256_fmadd_ps(weight, numbers[part], held[query][part]);
    }
  }
  for (std::size_t query = 0; query < 4; ++query)
    for (std::size_t part = 0; part < 3; ++part) _mm256_storeu_ps(sums + query * width + part * 8, held[query][part]);
}

inline void add_columns(const float* turned, const float* block, std::size_t dim, std::size_t width, float* sums) {
  for (std::size_t query = 0; query < 8; query += 4)
    for (std::size_t column = 0; column < 48; column += 24)
      add_quarter(turned + query, block + column, dim, width, sums + query * width + column);
}

}  // namespace avx2

namespace avx512 {

VIZSLA_AVX512 inline void add_columns(const float* turned, const float* block, std::size_t dim, std::size_t width,
                                      float* sums) {
  __m512 held[8][3];
  for (std::size_t query = 0; query < 8; ++query)
    for (std::size_t part = 0; part < 3; ++part) held[query][part] = _mm512_loadu_ps(sums + query * width + part * 16);
  for (std::size_t at = 0; at < dim; ++at) {
    const float* row = block + at * width;
    const __m512 numbers[3] = {_mm512_loadu_ps(row), _mm512_loadu_ps(row + 16), _mm512_loadu_ps(row + 32)};
#pragma GCC unroll 8
    for (std::size_t query = 0; query < 8; ++query) {
      const __m512 weight = _mm512_set1_ps(turned[at * ColumnSumKernels::queries + query]);
#pragma GCC unroll 3
      for (std::size_t part = 0; part < 3; ++part)
        held[query][part] = _mm512_fmadd_ps(weight, numbers[part], held[query][part]);
    }
  }
  for (std::size_t query = 0; query < 8; ++query)
    for (std::size_t part = 0; part < 3; ++part) _mm512_storeu_ps(sums + query * width + part * 16, held[query][part]);
}

}  // namespace avx512
#endif

inline ColumnSumKernels::Add ColumnSumKernels::portable() { return &plain::add_columns; }

inline ColumnSumKernels::Add ColumnSumKernels::best() {
#ifdef VIZSLA_HAS_AVX2
  static const bool wide = __builtin_cpu_supports("avx512f");
  if (wide) return &avx512::add_columns;
  static const bool here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (here) return &avx2::add_columns;
#endif
  return portable();
}

}  // namespace vizsla
