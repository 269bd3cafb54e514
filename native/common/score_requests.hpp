// Items whose scores a search should report in addition to its top-k.
#pragma once

#include <cstdint>
#include <span>

namespace vizsla {

// Item numbers in any order, and the output arrays. A score is NaN if the search did not compute it; it is then at most
// the bound.
struct ScoreRequests {
  std::span<const std::int32_t> items;
  std::span<float> scores, bounds;
};

}  // namespace vizsla
