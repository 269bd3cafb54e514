// The best k of scored items, in the order of an answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/topk.hpp"
#include "dense/flat_search.hpp"

namespace vizsla {

// -0 and 0 are equal; what is no number comes last.
inline Hit hit_of(float score, std::uint32_t item) {
  return {std::isnan(score) ? UINT32_MAX - item : signed_ranking_key(score + 0.0F, item), score};
}

inline void keep_best(std::vector<Hit>& hits, std::size_t k) {
  const auto better = [](const Hit& left, const Hit& right) { return left.key > right.key; };
  if (k < hits.size()) {
    std::nth_element(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(k), hits.end(), better);
    hits.resize(k);
  }
  std::sort(hits.begin(), hits.end(), better);
}

}  // namespace vizsla
