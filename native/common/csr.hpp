// A sparse matrix as it comes from Python: rows one after another, columns ascending in each.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace vizsla {

struct CsrView {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> columns;
  std::span<const float> values;  // empty: the pattern alone counts
  std::size_t width = 0;

  std::size_t rows() const { return offsets.size() - 1; }
  std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(offsets[row]); }
  std::size_t end(std::size_t row) const { return static_cast<std::size_t>(offsets[row + 1]); }
};

namespace detail {

inline void check_offsets(std::span<const std::int64_t> offsets, std::size_t entries, const std::string& name) {
  if (offsets.empty() || offsets.front() != 0) throw std::invalid_argument(name + ": offsets must begin with 0");
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1]) throw std::invalid_argument(name + ": offsets must not descend");
  if (static_cast<std::uint64_t>(offsets.back()) != entries)
    throw std::invalid_argument(name + ": the last offset must be the number of entries");
}

inline void check_row(const CsrView& matrix, std::size_t row, const std::string& name) {
  std::int64_t before = -1;
  for (std::size_t at = matrix.begin(row); at < matrix.end(row); ++at) {
    const std::int64_t column = matrix.columns[at];
    if (column <= before) throw std::invalid_argument(name + ": columns must ascend within a row, from 0");
    before = column;
  }
  if (before >= static_cast<std::int64_t>(matrix.width))
    throw std::invalid_argument(name + ": a column is out of range");
}

}  // namespace detail

// Throws std::invalid_argument unless every later access through the view stays inside its arrays.
inline void check_csr(const CsrView& matrix, const std::string& name) {
  detail::check_offsets(matrix.offsets, matrix.columns.size(), name);
  if (matrix.rows() > UINT32_MAX || matrix.width > INT32_MAX) throw std::invalid_argument(name + ": too large");
  if (!matrix.values.empty() && matrix.values.size() != matrix.columns.size())
    throw std::invalid_argument(name + ": as many values as columns are needed");
  for (std::size_t row = 0; row < matrix.rows(); ++row) detail::check_row(matrix, row, name);
  for (const float value : matrix.values)
    if (!std::isfinite(value)) throw std::invalid_argument(name + ": every value must be finite");
}

}  // namespace vizsla
