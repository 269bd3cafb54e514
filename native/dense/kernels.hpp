// The kernels of a scan, chosen once for the CPU that runs them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dense/half.hpp"
#include "dense/kernels_avx2.hpp"
#include "dense/kernels_plain.hpp"

namespace vizsla {

struct Kernels {
  static constexpr std::size_t tile_queries = 4, tile_rows = 3;

  // An upper limit of how often a number of the product is rounded until it stands in a sum, for every kernel: at
  // least eight sums side by side, their joining, and what is left of a row.
  static constexpr std::size_t roundings(std::size_t dim) { return dim / 8 + 16; }

  float (*dot_floats)(const float* query, const float* row, std::size_t dim);
  float (*dot_halves)(const float* query, const Half* row, std::size_t dim);
  float (*dot_bytes)(const float* query, const std::uint8_t* row, std::size_t dim);
  // Four queries by three rows: the sums of a query stand beside each other, those of the next `stride` further on.
  void (*tile)(const float* const* queries, const float* const* rows, std::size_t dim, float* sums, std::size_t stride);
  // The score: the same bits from every kernel.
  float (*pair_dot)(const float* query, const float* row, std::size_t dim);
  void (*widen)(const Half* halves, std::size_t count, float* numbers);

  float dot(const float* query, const float* row, std::size_t dim) const { return dot_floats(query, row, dim); }
  float dot(const float* query, const Half* row, std::size_t dim) const { return dot_halves(query, row, dim); }
  float dot(const float* query, const std::uint8_t* row, std::size_t dim) const { return dot_bytes(query, row, dim); }

  static const Kernels& portable() {
    static const Kernels kernels{&plain::dot<float>, &plain::dot<Half>, &plain::dot<std::uint8_t>,
                                 &plain::tile,       &plain::pair_dot,  &plain::widen};
    return kernels;
  }

  static const Kernels& best() {
#ifdef VIZSLA_HAS_AVX2
    static const Kernels kernels{&avx2::dot<float>, &avx2::dot<Half>, &avx2::dot<std::uint8_t>,
                                 &avx2::tile,       &avx2::pair_dot,  &avx2::widen};
    // Clang cannot ask for F16C before its 17th version; every CPU with AVX2 and FMA has it.
    static const bool here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (here) return kernels;
#endif
    return portable();
  }
};

}  // namespace vizsla
