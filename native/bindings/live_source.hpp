// An index with a call's queries, on its way from the file that knows the index to the one that knows sums.
#pragma once

#include <memory>

#include "candidates/live_part.hpp"

namespace vizsla {

struct BoundSource {
  std::unique_ptr<LiveSource> source;
};

}  // namespace vizsla
