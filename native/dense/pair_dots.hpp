// Inner products of given pairs of rows, each added up in one fixed order whatever else is asked with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dense/stored_rows.hpp"

namespace vizsla {

inline void pair_dots(const float* queries, const StoredRows& stored, std::span<const std::int64_t> rows,
                      std::span<const std::int32_t> items, float* scores) {
  const Kernels& kernels = Kernels::best();
  constexpr std::size_t ahead = 2;
  std::vector<float> room(stored.dim);
  for (std::size_t pair = 0; pair < items.size(); ++pair) {
    if (pair + ahead < items.size()) stored.prefetch(static_cast<std::size_t>(items[pair + ahead]));
    const float* query = queries + static_cast<std::size_t>(rows[pair]) * stored.dim;
    const float* row = stored.decoded(static_cast<std::size_t>(items[pair]), kernels, room.data());
    scores[pair] = kernels.pair_dot(query, row, stored.dim);
  }
}

}  // namespace vizsla
