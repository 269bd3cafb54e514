// Inner products of given pairs of rows, each added up in one fixed order whatever else is asked with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/clones.hpp"

namespace vizsla {

// Two floats' product fits into a double, so only the additions round: eight partial sums, joined in one order, give
// the same bits on every instruction set.
VIZSLA_CLONES inline void pair_dots(const float* queries, const float* vectors, std::size_t dim,
                                    std::span<const std::int64_t> rows, std::span<const std::int32_t> items,
                                    float* scores) {
  constexpr std::size_t lanes = 8;
  for (std::size_t pair = 0; pair < items.size(); ++pair) {
    const float* left = queries + static_cast<std::size_t>(rows[pair]) * dim;
    const float* right = vectors + static_cast<std::size_t>(items[pair]) * dim;
    std::array<double, lanes> sums{};
    std::size_t at = 0;
    for (; at + lanes <= dim; at += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        sums[lane] += static_cast<double>(left[at + lane]) * static_cast<double>(right[at + lane]);
      }
    }
    for (std::size_t lane = 0; at < dim; ++at, ++lane) {
      sums[lane] += static_cast<double>(left[at]) * static_cast<double>(right[at]);
    }
    const double even = (sums[0] + sums[4]) + (sums[2] + sums[6]);
    const double odd = (sums[1] + sums[5]) + (sums[3] + sums[7]);
    scores[pair] = static_cast<float>(even + odd);
  }
}

}  // namespace vizsla
