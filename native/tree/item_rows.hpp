// Item vectors as the clustering sees them, sparse or dense: of length 1 each, summed into two halves.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/clones.hpp"
#include "common/csr.hpp"

namespace vizsla {

struct Dots {
  float side[2];
};

inline float inverse_length(std::span<const float> values) {
  double square = 0;
  for (const float value : values) square += double{value} * value;
  return square > 0 ? static_cast<float>(1.0 / std::sqrt(square)) : 0.0f;
}

class SparseRows {
 public:
  using Sums = std::vector<std::array<float, 2>>;  // both halves of a feature in one cache line

  explicit SparseRows(const CsrView& rows) : rows_(rows), scales_(rows.rows()) {
    for (std::size_t i = 0; i < size(); ++i)
      scales_[i] = inverse_length(rows_.values.subspan(rows_.begin(i), rows_.end(i) - rows_.begin(i)));
  }

  std::size_t size() const { return rows_.rows(); }
  bool empty(std::size_t item) const { return scales_[item] == 0.0f; }
  Sums sums() const { return Sums(rows_.width); }

  Dots dots(std::size_t item, const Sums& sums) const {
    float left = 0, right = 0, more_left = 0, more_right = 0;  // two chains of additions hide each other's latency
    std::size_t at = rows_.begin(item);
    for (; at + 1 < rows_.end(item); at += 2) {
      const std::array<float, 2>& first = sums[static_cast<std::size_t>(rows_.columns[at])];
      const std::array<float, 2>& second = sums[static_cast<std::size_t>(rows_.columns[at + 1])];
      left += rows_.values[at] * first[0];
      right += rows_.values[at] * first[1];
      more_left += rows_.values[at + 1] * second[0];
      more_right += rows_.values[at + 1] * second[1];
    }
    if (at < rows_.end(item)) {
      left += rows_.values[at] * sums[static_cast<std::size_t>(rows_.columns[at])][0];
      right += rows_.values[at] * sums[static_cast<std::size_t>(rows_.columns[at])][1];
    }
    return {{(left + more_left) * scales_[item], (right + more_right) * scales_[item]}};
  }

  void add(std::size_t item, int side, float sign, Sums& sums) const {
    const float scale = sign * scales_[item];
    for (std::size_t at = rows_.begin(item); at < rows_.end(item); ++at)
      sums[static_cast<std::size_t>(rows_.columns[at])][static_cast<std::size_t>(side)] += scale * rows_.values[at];
  }

  // Back to zero, touching only what the items have touched.
  void clear(std::span<const std::uint32_t> items, Sums& sums) const {
    for (const std::uint32_t item : items)
      for (std::size_t at = rows_.begin(item); at < rows_.end(item); ++at)
        sums[static_cast<std::size_t>(rows_.columns[at])] = {0.0f, 0.0f};
  }

 private:
  CsrView rows_;
  std::vector<float> scales_;
};

namespace detail {

// Sixteen running sums, added up in a fixed order: fast on any CPU, and the same number on each.
VIZSLA_CLONES static float dense_dot(const float* a, const float* b, std::size_t width) {
  float partial[16] = {};
  std::size_t i = 0;
  for (; i + 16 <= width; i += 16)
    for (std::size_t j = 0; j < 16; ++j) partial[j] += a[i + j] * b[i + j];
  float sum = 0;
  for (const float value : partial) sum += value;
  for (; i < width; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace detail

class DenseRows {
 public:
  using Sums = std::array<std::vector<float>, 2>;

  DenseRows(std::span<const float> values, std::size_t width)
      : values_(values), width_(width), scales_(width == 0 ? 0 : values.size() / width) {
    for (std::size_t i = 0; i < size(); ++i) scales_[i] = inverse_length(values_.subspan(i * width_, width_));
  }

  std::size_t size() const { return scales_.size(); }
  bool empty(std::size_t item) const { return scales_[item] == 0.0f; }
  Sums sums() const { return {std::vector<float>(width_), std::vector<float>(width_)}; }

  Dots dots(std::size_t item, const Sums& sums) const {
    const float* row = values_.data() + item * width_;
    return {{detail::dense_dot(row, sums[0].data(), width_) * scales_[item],
             detail::dense_dot(row, sums[1].data(), width_) * scales_[item]}};
  }

  void add(std::size_t item, int side, float sign, Sums& sums) const {
    const float scale = sign * scales_[item];
    const float* row = values_.data() + item * width_;
    float* sum = sums[static_cast<std::size_t>(side)].data();
    for (std::size_t i = 0; i < width_; ++i) sum[i] += scale * row[i];
  }

  void clear(std::span<const std::uint32_t>, Sums& sums) const {
    for (std::vector<float>& sum : sums) sum.assign(width_, 0.0f);
  }

 private:
  std::span<const float> values_;
  std::size_t width_;
  std::vector<float> scales_;
};

}  // namespace vizsla
