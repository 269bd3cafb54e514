// Weighted sums of columns: eight queries' weights times a strip of columns, dimension after dimension.
//
// A column is a lane and every step a fused multiply-add, so a sum does not depend on the instruction set, on how
// numbers are stored, or on the queries beside it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/prefetch.hpp"
#include "dense/half.hpp"
#include "dense/max_sim_kernels.hpp"

namespace vizsla {

inline float widened(std::int8_t number) { return static_cast<float>(number); }

// 48 numbers of each of `dim` rows, which begin `stride` numbers apart. Those `ahead` of them are needed next.
template <class Number>
struct ColumnStrip {
  const Number* rows;
  std::size_t dim, stride, ahead;
};

// As many lines as the numbers fill; for one more, which they may reach into, those after them ask. Into the second
// cache: more lines can be on their way there than to the first.
template <std::size_t Count, class Number>
VIZSLA_PREFETCHES inline void ask_for(const Number* numbers) {
#pragma GCC unroll 3
  for (std::size_t byte = 0; byte < Count * sizeof(Number); byte += 64)
    __builtin_prefetch(reinterpret_cast<const char*>(numbers) + byte, 0, 2);
}

struct ColumnSumKernels {
  static constexpr std::size_t queries = 8, columns = 48;

  // `turned`: dimensions × eight weights. The strip is added to `sums`, eight rows that begin `width` numbers apart.
  template <class Number>
  using Add = void (*)(const float* turned, const ColumnStrip<Number>& strip, float* sums, std::size_t width);

  Add<float> floats;
  Add<Half> halves;
  Add<std::int8_t> bytes;

  void add(const float* turned, const ColumnStrip<float>& strip, float* sums, std::size_t width) const {
    floats(turned, strip, sums, width);
  }
  void add(const float* turned, const ColumnStrip<Half>& strip, float* sums, std::size_t width) const {
    halves(turned, strip, sums, width);
  }
  void add(const float* turned, const ColumnStrip<std::int8_t>& strip, float* sums, std::size_t width) const {
    bytes(turned, strip, sums, width);
  }

  static const ColumnSumKernels& portable();
  static const ColumnSumKernels* eight_lanes();    // null where the CPU has no AVX2
  static const ColumnSumKernels* sixteen_lanes();  // null where it has no AVX-512
  static const ColumnSumKernels& best();
};

namespace plain {

template <class Number>
void add_columns(const float* turned, const ColumnStrip<Number>& strip, float* sums, std::size_t width) {
  constexpr std::size_t queries = ColumnSumKernels::queries, columns = ColumnSumKernels::columns;
  for (std::size_t query = 0; query < queries; ++query) {
    for (std::size_t at = 0; at < strip.dim; ++at) {
      const Number* row = strip.rows + at * strip.stride;
      for (std::size_t lane = 0; lane < columns; ++lane) {
        float& sum = sums[query * width + lane];
        sum = std::fma(turned[at * queries + query], widened(row[lane]), sum);
      }
    }
  }
}

}  // namespace plain

#ifdef VIZSLA_HAS_AVX2

namespace avx2 {

VIZSLA_AVX2 inline __m256 eight(const std::int8_t* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

// Four queries, 24 columns: twelve sums, which is what sixteen registers hold beside three numbers and a weight.
template <class Number>
VIZSLA_AVX2 void add_quarter(const float* turned, const ColumnStrip<Number>& strip, float* sums, std::size_t width) {
  __m256 held[4][3];
  for (std::size_t query = 0; query < 4; ++query)
    for (std::size_t part = 0; part < 3; ++part) held[query][part] = _mm256_loadu_ps(sums + query * width + part * 8);
  for (std::size_t at = 0; at < strip.dim; ++at) {
    const Number* row = strip.rows + at * strip.stride;
    ask_for<24>(row + strip.ahead);
    const __m256 numbers[3] = {eight(row), eight(row + 8), eight(row + 16)};
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

template <class Number>
void add_columns(const float* turned, const ColumnStrip<Number>& strip, float* sums, std::size_t width) {
  for (std::size_t query = 0; query < 8; query += 4) {
    for (std::size_t column = 0; column < 48; column += 24) {
      const ColumnStrip<Number> quarter{strip.rows + column, strip.dim, strip.stride, strip.ahead};
      add_quarter(turned + query, quarter, sums + query * width + column, width);
    }
  }
}

}  // namespace avx2

namespace avx512 {

VIZSLA_AVX512 inline __m512 sixteen(const float* from) { return _mm512_loadu_ps(from); }

VIZSLA_AVX512 inline __m512 sixteen(const Half* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

VIZSLA_AVX512 inline __m512 sixteen(const std::int8_t* from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

template <class Number>
VIZSLA_AVX512 void add_columns(const float* turned, const ColumnStrip<Number>& strip, float* sums, std::size_t width) {
  __m512 held[8][3];
  for (std::size_t query = 0; query < 8; ++query)
    for (std::size_t part = 0; part < 3; ++part) held[query][part] = _mm512_loadu_ps(sums + query * width + part * 16);
  for (std::size_t at = 0; at < strip.dim; ++at) {
    const Number* row = strip.rows + at * strip.stride;
    ask_for<48>(row + strip.ahead);
    const __m512 numbers[3] = {sixteen(row), sixteen(row + 16), sixteen(row + 32)};
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

inline const ColumnSumKernels& ColumnSumKernels::portable() {
  static const ColumnSumKernels kernels{&plain::add_columns<float>, &plain::add_columns<Half>,
                                        &plain::add_columns<std::int8_t>};
  return kernels;
}

inline const ColumnSumKernels* ColumnSumKernels::eight_lanes() {
#ifdef VIZSLA_HAS_AVX2
  static const ColumnSumKernels kernels{&avx2::add_columns<float>, &avx2::add_columns<Half>,
                                        &avx2::add_columns<std::int8_t>};
  static const bool here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (here) return &kernels;
#endif
  return nullptr;
}

inline const ColumnSumKernels* ColumnSumKernels::sixteen_lanes() {
#ifdef VIZSLA_HAS_AVX2
  static const ColumnSumKernels kernels{&avx512::add_columns<float>, &avx512::add_columns<Half>,
                                        &avx512::add_columns<std::int8_t>};
  static const bool here = __builtin_cpu_supports("avx512f");
  if (here) return &kernels;
#endif
  return nullptr;
}

inline const ColumnSumKernels& ColumnSumKernels::best() {
  if (const ColumnSumKernels* wide = sixteen_lanes()) return *wide;
  if (const ColumnSumKernels* narrow = eight_lanes()) return *narrow;
  return portable();
}

}  // namespace vizsla
