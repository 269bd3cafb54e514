// What a part of a composition found: ranked rows, and how its scores enter a sum.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "candidates/normalize.hpp"

namespace vizsla {

struct PartRows {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> items;
  std::span<const float> scores;  // empty for a match set

  std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(offsets[row]); }
  std::size_t count(std::size_t row) const { return static_cast<std::size_t>(offsets[row + 1] - offsets[row]); }
  std::int32_t item(std::size_t row, std::size_t place) const { return items[begin(row) + place]; }
  std::span<const float> scores_of(std::size_t row) const { return scores.subspan(begin(row), count(row)); }
};

// A score that is not there. No part gives NaN, so NaN can stand for it.
inline constexpr float missing_score = std::numeric_limits<float>::quiet_NaN();

// Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).
inline constexpr double rank_constant = 60.0;

inline float reciprocal_place(std::size_t place, std::size_t depth) {
  return place < depth ? static_cast<float>(1.0 / (rank_constant + static_cast<double>(place) + 1)) : 0.0F;
}

struct FusedPart : PartRows {
  double weight = 1;
  bool by_rank = false;
  std::size_t depth = 0;         // by rank: how many have a place
  std::vector<RowScale> scales;  // a row each; empty: scores as they are
  std::vector<float> highest;    // a row each: no raw score is above it; empty: the last found is the highest outside

  RowScale scale(std::size_t row) const { return scales.empty() ? RowScale{} : scales[row]; }

  float score(std::size_t row, std::size_t place) const {
    return by_rank ? reciprocal_place(place, depth) : scale(row).of(scores[begin(row) + place]);
  }

  // The score of the last that was found; infinity where nothing was.
  float floor(std::size_t row) const {
    return count(row) == 0 ? std::numeric_limits<float>::infinity() : score(row, count(row) - 1);
  }

  // The score of the last of the first `taken`: what lies deeper in the list does not exceed it.
  float lowest(std::size_t row, std::size_t taken) const {
    return count(row) > taken ? score(row, taken - 1) : floor(row);
  }

  // What no item outside of the list exceeds.
  float ceiling(std::size_t row) const { return highest.empty() ? floor(row) : scale(row).of(highest[row]); }
};

}  // namespace vizsla
