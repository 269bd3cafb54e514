// What a search is asked about besides what it looks for.
#pragma once

#include <cstdint>
#include <span>

namespace vizsla {

// Items whose scores somebody else would like to know, in any order, and room for them: NaN where a search did not come
// by; their scores are then at most the bounds.
struct AlsoWanted {
  std::span<const std::int32_t> items;
  std::span<float> scores, bounds;
};

}  // namespace vizsla
