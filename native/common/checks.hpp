// One way to refuse what a caller or a file hands over.
#pragma once

#include <stdexcept>

namespace vizsla {

inline void require(bool holds, const char* otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

}  // namespace vizsla
