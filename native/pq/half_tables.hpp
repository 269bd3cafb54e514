// A query's tables of 16 numbers in seven bits each, so that a register holds a table; and how far that leads astray.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace vizsla {

class HalfTables {
 public:
  static constexpr std::size_t most_parts = 512;  // their sums fit 16 bits

  // Two numbers of seven bits are added within a byte before they need more room: a fifth less work than with eight.
  static constexpr double top = 127;

  // All tables share one step, so that bytes can be added. False where that is no use: then nothing must be looked up.
  bool fill(const float* table, std::size_t parts) {
    bytes_.resize(parts * 16);
    double widest = 0, sizes = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      const auto [low, high] = std::minmax_element(table + part * 16, table + part * 16 + 16);
      widest = std::max(widest, double{*high} - double{*low});
      sizes += std::max(std::abs(double{*low}), std::abs(double{*high}));
    }
    if (parts > most_parts || !std::isfinite(widest) || !std::isfinite(sizes)) return false;
    if (sizes > std::numeric_limits<float>::max() / 2) return false;
    const double step = widest > 0 ? widest / top : 1;
    double astray = 0, lows = 0, above = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      const Rounded one = round(table + part * 16, step, &bytes_[part * 16]);
      astray += one.most - one.least;
      lows += one.low;
      above += one.most;
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
  // The smallest number of a table, and the least and the most that its bytes are below the truth.
  struct Rounded {
    double low, least, most;
  };

  static Rounded round(const float* values, double step, std::uint8_t* bytes) {
    const double low = *std::min_element(values, values + 16);
    double least = 0, most = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      const double place = (double{values[i]} - low) / step;
      const double nearest = std::clamp(std::floor(place + 0.5), 0.0, top);
      bytes[i] = static_cast<std::uint8_t>(nearest);
      const double error = double{values[i]} - low - nearest * step;
      least = i == 0 ? error : std::min(least, error);
      most = i == 0 ? error : std::max(most, error);
    }
    return {low, least, most};
  }

  std::vector<std::uint8_t> bytes_;
  double slack_ = 0, step_ = 1, base_ = 0;
};

}  // namespace vizsla
