// The scales of rows: where zero lies and how long one is, from the best of a row.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "common/clones.hpp"

namespace vizsla {

__extension__ using SignedWide = __int128;
__extension__ using Wide = unsigned __int128;

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

namespace detail {

// The bits of the largest distance from 0: those of floats that are not negative rise with their values.
VIZSLA_CLONES static std::uint32_t largest_magnitude(const float* scores, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(scores[i]) & 0x7FFFFFFFU);
  return largest;
}

// A mean of infinite scores is infinite, or no number; there is no spread.
inline RowScale scale_of_infinite(std::span<const float> scores) {
  double sum = 0;
  for (const float score : scores) sum += std::isinf(score) ? double{score} : 0.0;
  return {sum, 1};
}

}  // namespace detail

// The mean becomes 0 and the spread 1; a row without spread keeps its unit. Scores are counted in units of a power of two, of
// which the largest has so many that the sums of all counts and of their squares just fit: whole numbers add up to the same in any
// order, so nobody has to rank a list for its scale. What is below a unit is cut off; for a hundred scores that is 2^-55 of the largest.
inline RowScale zscore_scale(std::span<const float> scores) {
  if (scores.empty()) return {0, INFINITY};
  const float largest = std::bit_cast<float>(detail::largest_magnitude(scores.data(), scores.size()));
  if (!std::isfinite(largest)) return detail::scale_of_infinite(scores);
  int exponent = 0;
  std::frexp(largest, &exponent);  // the largest is below 2^exponent
  const int shift = 62 - static_cast<int>(std::bit_width(scores.size())) - exponent;
  const double unit = std::ldexp(1.0, -shift), units = std::ldexp(1.0, shift);
  std::int64_t sum = 0;
  Wide squares = 0;
  for (const float score : scores) {
    const auto count = static_cast<std::int64_t>(static_cast<double>(score) * units);
    sum += count;
    squares += static_cast<Wide>(static_cast<SignedWide>(count) * count);
  }
  const auto total = static_cast<double>(scores.size());
  const Wide square_of_sum = static_cast<Wide>(static_cast<SignedWide>(sum) * sum);
  const Wide spread = scores.size() * squares - square_of_sum;
  const double one = std::sqrt(static_cast<double>(spread)) / total * unit;
  return {static_cast<double>(sum) / total * unit, one > 0 ? one : 1};
}

}  // namespace vizsla
