// Hands an index with the queries of one call from its own binding to that of CursorSum.
#pragma once

#include <memory>

#include "candidates/search_cursor.hpp"

namespace vizsla {

struct BoundSource {
  std::unique_ptr<CursorSource> source;
};

}  // namespace vizsla
