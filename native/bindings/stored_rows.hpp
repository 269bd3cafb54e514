// Stored vectors as numpy arrays hand them over: types and shapes are checked here.
#pragma once

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <span>

#include "bindings/arrays.hpp"
#include "common/checks.hpp"
#include "dense/stored_rows.hpp"

namespace vizsla {

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Scale = std::optional<InArray<float>>;

template <class T>
void check_below(std::span<const T> numbers, std::size_t limit, const char* otherwise) {
  for (const T number : numbers) require(number >= 0 && static_cast<std::size_t>(number) < limit, otherwise);
}

inline StoredRows stored_rows(const AnyMatrix& rows, const Scale& low, const Scale& step) {
  StoredRows stored{};
  stored.count = rows.shape(0);
  stored.dim = rows.shape(1);
  require(stored.dim > 0, "vectors must have at least one column");
  require(stored.count <= INT32_MAX, "there must be fewer than 2^31 vectors");
  const nb::dlpack::dtype type = rows.dtype();
  if (type == nb::dtype<std::uint8_t>()) {
    require(low && step && low->size() == stored.dim && step->size() == stored.dim,
            "bytes need low and step, a number for each column");
    stored.rows = static_cast<const std::uint8_t*>(rows.data());
    stored.low = view(*low);
    stored.step = view(*step);
    return stored;
  }
  require(!low && !step, "only bytes have low and step");
  if (type == nb::dtype<float>()) {
    stored.rows = static_cast<const float*>(rows.data());
  } else {
    require(type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && type.bits == 16 && type.lanes == 1,
            "vectors must be float32, float16 or uint8");
    stored.rows = static_cast<const Half*>(rows.data());
  }
  return stored;
}

}  // namespace vizsla
