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

// A score is its own bound, so one of the two is to be divided; scores that are NaN stay. In three steps, of which each
// is done for several at a time: in a single step the compiler would branch on NaN.
VIZSLA_CLONES static void rescale_bounded(float* __restrict scores, float* __restrict bounds, std::size_t count,
                                          double zero, double one) {
  for (std::size_t i = 0; i < count; ++i) bounds[i] = scores[i] == scores[i] ? scores[i] : bounds[i];
  for (std::size_t i = 0; i < count; ++i) bounds[i] = static_cast<float>((static_cast<double>(bounds[i]) - zero) / one);
  for (std::size_t i = 0; i < count; ++i) scores[i] = scores[i] == scores[i] ? bounds[i] : scores[i];
}

}  // namespace detail

// As `RowScale::of`, several at a time; `into` may be `scores`.
inline void rescale_row(const RowScale& scale, std::span<const float> scores, float* into) {
  detail::rescale(scores.data(), scores.size(), scale.zero, scale.one, into);
}

// Of scores, and of bounds where a score is NaN; bounds of others become their scores.
inline void rescale_bounded(const RowScale& scale, std::span<float> scores, std::span<float> bounds) {
  detail::rescale_bounded(scores.data(), bounds.data(), scores.size(), scale.zero, scale.one);
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
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(scores[i]) & 0x7FFFFFFFU);
  return largest;
}

// A mean of infinite scores is infinite, or no number; there is no spread.
inline RowScale scale_of_infinite(std::span<const float> scores) {
  double sum = 0;
  for (const float score : scores) sum += std::isinf(score) ? double{score} : 0.0;
  return {sum, 1};
}

inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// The exponent of the least power of two above a finite number that is not negative; 0 for 0.
inline int exponent_above(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  int exponent = static_cast<int>(bits >> 23) - 126;
  if (bits < 1U << 23) std::frexp(number, &exponent);
  return exponent;
}

struct WholeSums {
  std::int64_t sum;
  Wide squares;
};

// Scores counted in units; counts are below 2^62 over the smallest power of two above their number.
inline WholeSums add_counts(std::span<const float> scores, double units) {
  WholeSums whole{0, 0};
  for (const float score : scores) {
    const auto count = static_cast<std::int64_t>(static_cast<double>(score) * units);
    whole.sum += count;
    whole.squares += static_cast<Wide>(static_cast<SignedWide>(count) * count);
  }
  return whole;
}

// Numbers of scores of which `add_some_counts` can add up the squares' parts without overflow.
inline constexpr std::size_t some_counts_from = 16, some_counts_to = 255;

// The same numbers, several at a time: a count is high * 2^28 + low, and its square is made of three sums.
VIZSLA_CLONES static WholeSums add_some_counts(const float* scores, std::size_t size, double units) {
  constexpr int low_bits = 28;
  std::int64_t sum = 0, mixed = 0;
  std::uint64_t high_squares = 0, low_squares = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto count = static_cast<std::int64_t>(static_cast<double>(scores[i]) * units);
    const std::int64_t high = count >> low_bits, low = count & ((std::int64_t{1} << low_bits) - 1);
    sum += count;
    high_squares += static_cast<std::uint64_t>(high * high);
    mixed += high * low;
    low_squares += static_cast<std::uint64_t>(low * low);
  }
  const auto twice = static_cast<Wide>(static_cast<SignedWide>(mixed) * 2);
  return {sum, (Wide{high_squares} << 2 * low_bits) + (twice << low_bits) + low_squares};
}

}  // namespace detail

// The mean becomes 0 and the spread 1; a row without spread keeps its unit. Scores are counted in units of a power of
// two, of which the largest has so many that the sums of all counts and of their squares just fit: whole numbers add up
// to the same in any order, so a list need not be ranked for its scale. What is below a unit is cut off; for a hundred
// scores that is 2^-55 of the largest.
inline RowScale zscore_scale(std::span<const float> scores) {
  const std::size_t size = scores.size();
  if (size == 0) return {0, INFINITY};
  const float largest = std::bit_cast<float>(detail::largest_magnitude(scores.data(), size));
  if (!std::isfinite(largest)) return detail::scale_of_infinite(scores);
  const int shift = 62 - static_cast<int>(std::bit_width(size)) - detail::exponent_above(largest);
  const double unit = detail::power_of_two(-shift), units = detail::power_of_two(shift);
  const bool some = size >= detail::some_counts_from && size <= detail::some_counts_to;
  const auto [sum, squares] =
      some ? detail::add_some_counts(scores.data(), size, units) : detail::add_counts(scores, units);
  const auto total = static_cast<double>(size);
  const Wide square_of_sum = static_cast<Wide>(static_cast<SignedWide>(sum) * sum);
  const Wide spread = size * squares - square_of_sum;
  const double one = std::sqrt(static_cast<double>(spread)) / total * unit;
  return {static_cast<double>(sum) / total * unit, one > 0 ? one : 1};
}

}  // namespace vizsla
