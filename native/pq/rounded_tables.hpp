// A query's tables in seven bits a number, so that registers hold a table; and how far that leads astray.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/clones.hpp"

namespace vizsla {

namespace detail {

struct TableRange {
  float low, high;
  bool finite;
};

// The smallest and the largest number of a table of 16 or 256; whether all are numbers at all.
VIZSLA_CLONES static void table_range(const float* values, std::size_t count, TableRange* range) {
  constexpr std::size_t lanes = 16;
  float low[lanes], high[lanes];
  int wrong = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) low[lane] = high[lane] = values[lane];
  for (std::size_t at = 0; at < count; at += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const float value = values[at + lane];
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
      wrong |= static_cast<int>(!(value <= FLT_MAX)) | static_cast<int>(!(value >= -FLT_MAX));
    }
  }
  *range = {*std::min_element(low, low + lanes), *std::max_element(high, high + lanes), wrong == 0};
}

// The least and the most that bytes are below the truth.
struct TableErrors {
  double least, most;
};

VIZSLA_CLONES static void round_table(const float* values, std::size_t count, double low, double step, double top,
                                      std::uint8_t* bytes, TableErrors* errors) {
  constexpr std::size_t lanes = 16;
  const double inverse = 1 / step;
  double least[lanes], most[lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    least[lane] = std::numeric_limits<double>::infinity();
    most[lane] = -least[lane];
  }
  for (std::size_t at = 0; at < count; at += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double above = static_cast<double>(values[at + lane]) - low, place = above * inverse + 0.5;
      const auto nearest = static_cast<std::int32_t>(place < top ? place : top);
      bytes[at + lane] = static_cast<std::uint8_t>(nearest);
      const double error = above - static_cast<double>(nearest) * step;
      least[lane] = error < least[lane] ? error : least[lane];
      most[lane] = error > most[lane] ? error : most[lane];
    }
  }
  *errors = {*std::min_element(least, least + lanes), *std::max_element(most, most + lanes)};
}

}  // namespace detail

class RoundedTables {
 public:
  static constexpr std::size_t most_parts = 512;  // their sums fit 16 bits

  // Two numbers of seven bits are added within a byte before they need more room: a fifth less work than with eight.
  static constexpr double top = 127;

  // Takes tables of `count` numbers, 16 or 256. All share one step, so that bytes can be added. False where that is no
  // use: then nothing must be looked up.
  bool fill(const float* table, std::size_t parts, std::size_t count) {
    if (parts > most_parts) return false;
    bytes_.resize(parts * count);
    lows_.resize(parts);
    double widest = 0, sizes = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      detail::TableRange range;
      detail::table_range(table + part * count, count, &range);
      if (!range.finite) return false;
      lows_[part] = double{range.low};
      widest = std::max(widest, double{range.high} - double{range.low});
      sizes += std::max(std::abs(double{range.low}), std::abs(double{range.high}));
    }
    if (sizes > std::numeric_limits<float>::max() / 2) return false;
    const double step = widest > 0 ? widest / top : 1;
    if (!std::isfinite(1 / step)) return false;
    double astray = 0, lows = 0, above = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      detail::TableErrors errors;
      detail::round_table(table + part * count, count, lows_[part], step, top, &bytes_[part * count], &errors);
      astray += errors.most - errors.least;
      lows += lows_[part];
      above += errors.most;
    }
    // A score is added in float32: each of its additions may be off by a rounding (Higham, Accuracy and Stability, 4.2).
    const double units = static_cast<double>(parts) * 0x1p-24;
    const double rounding = units / (1 - units) * sizes * 1.01;
    slack_ = (astray * 1.0001 + 2 * rounding) / step + 1e-6;
    step_ = step * (1 + 1e-12);
    base_ = lows + above + rounding + 1e-9 * sizes;
    return std::isfinite(slack_);
  }

  const std::uint8_t* bytes() const { return bytes_.data(); }

  // Two sums of bytes that differ by more than this are in the order of the scores.
  double slack() const { return slack_; }

  // No score with such a sum of bytes is above this.
  double most(double sum) const { return base_ + sum * step_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<double> lows_;
  double slack_ = 0, step_ = 1, base_ = 0;
};

}  // namespace vizsla
