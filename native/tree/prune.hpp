// What is kept of an item's weights: entries above the threshold (Eq. 7), at most so many, by ascending feature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tree/solver.hpp"

namespace vizsla {

struct PruneOptions {
  float threshold = 0.1f;
  std::size_t max_nonzeros = SIZE_MAX;
};

struct SparseWeights {
  std::vector<std::int32_t> features;
  std::vector<float> values;
};

namespace detail {

inline void select_k(SparseWeights& weights, std::size_t count) {
  std::vector<std::size_t> places(weights.values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    const float x = std::abs(weights.values[a]), y = std::abs(weights.values[b]);
    return x != y ? x > y : a < b;
  };
  std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count), places.end(), before);
  places.resize(count);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < count; ++i) {
    weights.features[i] = weights.features[places[i]];
    weights.values[i] = weights.values[places[i]];
  }
  weights.features.resize(count);
  weights.values.resize(count);
}

inline void keep(SparseWeights& weights, std::int32_t feature, float value, float threshold) {
  if (!(std::abs(value) > threshold)) return;  // also drops what is not a number
  weights.features.push_back(feature);
  weights.values.push_back(value);
}

VIZSLA_CLONES static void mark_large(const Lanes* weights, std::size_t count, float threshold, std::uint8_t* marks) {
  for (std::size_t i = 0; i < count; ++i) {
    const Mask8 a = (weights[i].half[0] > threshold) | (weights[i].half[0] < -threshold);
    const Mask8 b = (weights[i].half[1] > threshold) | (weights[i].half[1] < -threshold);
    const Mask8 either = a | b;
    std::uint64_t parts[4];
    std::memcpy(parts, &either, sizeof(parts));
    marks[i] = (parts[0] | parts[1] | parts[2] | parts[3]) != 0;
  }
}

}  // namespace detail

// Reads the solved group's lanes out; `bias_feature` numbers the bias, after all features of X.
inline void prune_group(const Chunk& chunk, const SolverGroup& group, std::int32_t bias_feature,
                        const PruneOptions& options, std::span<SparseWeights> into) {
  std::vector<std::uint8_t> marks(chunk.features.size());
  detail::mark_large(group.weights.data(), marks.size(), options.threshold, marks.data());
  for (const std::uint32_t feature : chunk.ascending) {
    if (!marks[feature]) continue;
    const float* values = group.weights[feature].data();
    for (std::size_t lane = 0; lane < into.size(); ++lane)
      detail::keep(into[lane], chunk.features[feature], values[lane], options.threshold);
  }
  for (std::size_t lane = 0; lane < into.size(); ++lane) {
    detail::keep(into[lane], bias_feature, group.bias_weight.data()[lane], options.threshold);
    if (into[lane].values.size() > options.max_nonzeros) detail::select_k(into[lane], options.max_nonzeros);
  }
}

}  // namespace vizsla
