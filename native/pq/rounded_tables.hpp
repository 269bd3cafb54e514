// A query's tables in a byte a number, so that registers hold a table; and how far that leads astray.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/clones.hpp"

namespace vizsla {

namespace detail {

// The smallest of some numbers, and the largest.
struct TableRange {
  float low, high;

  bool finite() const { return low >= -FLT_MAX && high <= FLT_MAX; }
};

// Integers that order as floats do: unlike those, compilers compare many at once. What is no number is beyond infinity.
inline std::int32_t ordered_integer(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits ^ (bits >> 31 & INT32_MAX);
}

inline float from_ordered_integer(std::int32_t ordered) {
  return std::bit_cast<float>(ordered ^ (ordered >> 31 & INT32_MAX));
}

VIZSLA_CLONES static void table_ranges(const float* values, std::size_t parts, std::size_t count, TableRange* ranges) {
  for (std::size_t part = 0; part < parts; ++part, values += count) {
    std::int32_t low = INT32_MAX, high = INT32_MIN;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t value = ordered_integer(values[i]);
      low = std::min(low, value);
      high = std::max(high, value);
    }
    ranges[part] = {from_ordered_integer(low), from_ordered_integer(high)};
  }
}

// Writes every number of a table as a byte: how many steps it is above the lowest. `errors` are by how much, at least
// and at most, bytes are below the truth: right to less than 1e-4 steps, as bytes are at most 255 and little is
// rounded.
VIZSLA_CLONES static void round_tables(const float* values, std::size_t parts, std::size_t count,
                                       const TableRange* ranges, float step, std::uint8_t* __restrict bytes,
                                       TableRange* errors) {
  const float inverse = 1 / step;
  for (std::size_t part = 0; part < parts; ++part, values += count, bytes += count) {
    const float lowest = ranges[part].low;
    std::int32_t least = INT32_MAX, most = INT32_MIN;
    for (std::size_t i = 0; i < count; ++i) {
      const float above = values[i] - lowest;
      const auto nearest = static_cast<std::int32_t>(above * inverse + 0.5F);
      bytes[i] = static_cast<std::uint8_t>(nearest);
      const std::int32_t error = ordered_integer(above - static_cast<float>(nearest) * step);
      least = std::min(least, error);
      most = std::max(most, error);
    }
    errors[part] = {from_ordered_integer(least), from_ordered_integer(most)};
  }
}

}  // namespace detail

class RoundedTables {
 public:
  static constexpr std::size_t most_parts = 1024;  // their sums fit 16 bits

  // The tables of so many sub-spaces in a row add up within a byte, before sums need more room: a quarter less work
  // than with two, and bytes that are little coarser, as four tables are seldom all as wide as the widest.
  static constexpr std::size_t together = 4;

  // Takes tables of `count` numbers, 16 or 256. All share one step, so that bytes can be added. False where that is no
  // use: then nothing must be looked up.
  bool fill(const float* table, std::size_t parts, std::size_t count) {
    if (parts > most_parts) return false;
    bytes_.resize(parts * count);
    ranges_.resize(parts);
    errors_.resize(parts);
    detail::table_ranges(table, parts, count, ranges_.data());
    bool finite = true;
    double widest = 0, wide = 0, sizes = 0, lows = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      const double low = ranges_[part].low, high = ranges_[part].high;
      finite = finite && ranges_[part].finite();
      wide = (part % together == 0 ? 0 : wide) + (high - low);
      widest = std::max(widest, wide);
      sizes += std::max(std::abs(low), std::abs(high));
      lows += low;
    }
    if (!finite || sizes > std::numeric_limits<float>::max() / 2) return false;
    const double wanted = widest > 0 ? widest / (255 - 0.5 * together) : 1;  // each may be rounded up by half a step
    if (wanted < 0x1p-100) return false;
    const auto step = static_cast<float>(wanted);
    detail::round_tables(table, parts, count, ranges_.data(), step, bytes_.data(), errors_.data());
    double astray = 0, above = 0;
    for (const auto& [least, most] : errors_) {
      astray += double{most} - double{least} + 2e-4 * double{step};
      above += double{most} + 1e-4 * double{step};
    }
    // A score is added in float32: each of its additions may be off by a rounding (Higham, Accuracy and
    // Stability, 4.2).
    const double units = static_cast<double>(parts) * 0x1p-24;
    const double rounding = units / (1 - units) * sizes * 1.01;
    slack_ = (astray * 1.0001 + 2 * rounding) / double{step} + 1e-6;
    step_ = double{step} * (1 + 1e-12);
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
  std::vector<detail::TableRange> ranges_, errors_;
  double slack_ = 0, step_ = 1, base_ = 0;
};

}  // namespace vizsla
