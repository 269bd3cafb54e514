// A matrix, dimensions × items: all of a dimension's numbers lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "dense/half.hpp"

namespace vizsla {

struct StoredColumns {
  std::variant<const float*, const Half*, const std::int8_t*> numbers;
  std::size_t dim = 0, count = 0;
};

}  // namespace vizsla
