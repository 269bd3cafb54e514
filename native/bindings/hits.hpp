// Ranked answers for Python.
#pragma once

#include <cstdint>
#include <vector>

#include "bindings/arrays.hpp"
#include "dense/flat_search.hpp"

namespace vizsla {

// Bytes of int64 offsets, int32 items and float32 scores, and how often the index was read.
inline nb::tuple joined_hits(const std::vector<std::vector<Hit>>& answers, std::size_t reads) {
  RawArray<std::int64_t> offsets(answers.size() + 1);
  std::int64_t* bounds = offsets.data();
  bounds[0] = 0;
  for (const auto& hits : answers) {
    bounds[1] = bounds[0] + static_cast<std::int64_t>(hits.size());
    ++bounds;
  }
  RawArray<std::int32_t> items(static_cast<std::size_t>(*bounds));
  RawArray<float> scores(static_cast<std::size_t>(*bounds));
  std::int32_t* item = items.data();
  float* score = scores.data();
  for (const auto& hits : answers) {
    for (const Hit& hit : hits) {
      *item++ = hit.item();
      *score++ = hit.score;
    }
  }
  return nb::make_tuple(offsets.take(), items.take(), scores.take(), reads);
}

}  // namespace vizsla
