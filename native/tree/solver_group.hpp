// The solver's state for one group of items, one per SIMD lane. Buffers are reused between groups.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/chunk.hpp"
#include "tree/lanes.hpp"

namespace vizsla {

struct Positive {
  std::uint32_t row;  // in the chunk
  float weight;
};

struct SolverGroup {
  std::vector<Lanes> weights;  // by the chunk's features
  Lanes bias_weight;
  std::vector<Lanes> alpha;  // by the chunk's rows
  std::vector<Lanes> codes;  // the loss's code of each pair, negative for a negative
  Lanes active;              // 1 where the item still moves
  Lanes highest, lowest;     // projected gradients of this epoch
};

}  // namespace vizsla
