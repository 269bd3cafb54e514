// The scales of rows: where zero lies and how long one is, from the best of a ranked row.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "common/clones.hpp"

namespace vizsla {

// A score s becomes (s - zero) / one.
struct RowScale {
  double zero = 0, one = 1;

  float of(float score) const { return static_cast<float>((static_cast<double>(score) - zero) / one); }
};

namespace detail {

VIZSLA_CLONES static void rescale(const float* scores, std::size_t count, double zero, double one, float* into) {
  for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<float>((static_cast<double>(scores[i]) - zero) / one);
}

}  // namespace detail

// As `RowScale::of`, several at a time; `into` may be `scores`.
inline void rescale_row(const RowScale& scale, std::span<const float> scores, float* into) {
  detail::rescale(scores.data(), scores.size(), scale.zero, scale.one, into);
}

// The lowest becomes 0 and the highest 1; where they are equal, all of them are 1.
inline RowScale minmax_scale(std::span<const float> ranked) {
  if (ranked.empty()) return {0, INFINITY};
  const double low = ranked.back(), high = ranked.front();
  return high > low ? RowScale{low, high - low} : RowScale{low - 1, 1};
}

// The mean becomes 0 and the spread 1; a row without spread keeps its unit.
inline RowScale zscore_scale(std::span<const float> ranked) {
  if (ranked.empty()) return {0, INFINITY};
  double sum = 0, squares = 0;
  for (const float score : ranked) sum += score;
  const double mean = sum / static_cast<double>(ranked.size());
  for (const float score : ranked) squares += (score - mean) * (score - mean);
  const double spread = std::sqrt(squares / static_cast<double>(ranked.size()));
  return {mean, spread > 0 ? spread : 1};
}

}  // namespace vizsla
