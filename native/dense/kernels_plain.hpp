// Inner products in portable C++: approximate ones, as the compiler makes them of sixteen independent sums, and exact
// ones.
#pragma once

#include <array>
#include <cstddef>

#include "dense/half.hpp"

namespace vizsla::plain {

template <class Number>
float dot(const float* query, const Number* row, std::size_t dim) {
  constexpr std::size_t lanes = 16;
  std::array<float, lanes> sums{};
  std::size_t at = 0;
  for (; at + lanes <= dim; at += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += query[at + lane] * widened(row[at + lane]);
  }
  for (std::size_t lane = 0; at < dim; ++at, ++lane) sums[lane] += query[at] * widened(row[at]);
  for (std::size_t half = lanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

inline void tile(const float* const* queries, const float* const* rows, std::size_t dim, float* sums,
                 std::size_t stride) {
  for (std::size_t query = 0; query < 4; ++query) {
    for (std::size_t row = 0; row < 3; ++row) sums[query * stride + row] = dot(queries[query], rows[row], dim);
  }
}

inline float joined(const double* sums) {
  const double even = (sums[0] + sums[4]) + (sums[2] + sums[6]);
  const double odd = (sums[1] + sums[5]) + (sums[3] + sums[7]);
  return static_cast<float>(even + odd);
}

// The score of a pair. Two floats' product fits into a double, so only the additions round: eight partial sums, joined
// in one order, give the same bits on every instruction set.
inline float pair_dot(const float* left, const float* right, std::size_t dim) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t at = 0;
  for (; at + lanes <= dim; at += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += double{left[at + lane]} * double{right[at + lane]};
  }
  for (std::size_t lane = 0; at < dim; ++at, ++lane) sums[lane] += double{left[at]} * double{right[at]};
  return joined(sums.data());
}

inline void widen(const Half* halves, std::size_t count, float* numbers) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = widened(halves[i]);
}

}  // namespace vizsla::plain
