// A start for the squared hinge that is already near: one dual value for all negatives of an item and one for all its
// positives, the best two that there are. It costs a look at the positives, and leaves of a tree then need half the
// epochs.
//
// With n negatives whose rows sum to s, and m positives whose rows sum to t, the dual is a quadratic of two numbers:
//   |a s - p t|^2 / 2 + (n a^2 + m p^2) / (4 C) - (n a + m p)
#pragma once

#include <algorithm>
#include <span>

#include "tree/solver_group.hpp"

namespace vizsla::detail {

// What the two numbers depend on: the squared lengths of both sums, and their product.
struct SumsOfRows {
  double negatives, positives, product;
};

struct DualPair {
  double negative, positive;
};

// Leaves the sum of the item's positives in its lane of the weights.
inline SumsOfRows sum_rows(const Chunk& chunk, SolverGroup& group, std::size_t lane,
                           std::span<const Positive> positives, double bias) {
  const double all = static_cast<double>(chunk.rows()) * bias, own = static_cast<double>(positives.size()) * bias;
  double with_all = all * own, square = own * own;
  for (const Positive& positive : positives) {
    for (std::size_t at = chunk.offsets[positive.row]; at < chunk.offsets[positive.row + 1]; ++at) {
      const ChunkEntry entry = chunk.entries[at];
      float& sum = group.weights[entry.feature].data()[lane];
      with_all += double{entry.value} * chunk.sums[entry.feature];
      square += double{entry.value} * (2.0 * sum + entry.value);
      sum += entry.value;
    }
  }
  return {chunk.sums_square + all * all - 2 * with_all + square, square, with_all - square};
}

inline DualPair best_pair(const SumsOfRows& sums, double negatives, double positives, double cost) {
  const double n = sums.negatives + negatives / (2 * cost), p = sums.positives + positives / (2 * cost);
  const DualPair alone_negative{negatives > 0 ? negatives / n : 0, 0},
      alone_positive{0, positives > 0 ? positives / p : 0};
  if (negatives == 0) return alone_positive;
  const double determinant = n * p - sums.product * sums.product;
  if (positives == 0 || !(determinant > 0)) return alone_negative;
  const DualPair both{(negatives * p + sums.product * positives) / determinant,
                      (positives * n + sums.product * negatives) / determinant};
  return both.negative < 0 ? alone_positive : both.positive < 0 ? alone_negative : both;
}

inline void warm_start(const Chunk& chunk, SolverGroup& group, std::span<const std::span<const Positive>> items,
                       double cost, double bias) {
  Lanes negative{}, positive{};
  for (std::size_t lane = 0; lane < items.size(); ++lane) {
    const double positives = static_cast<double>(items[lane].size()),
                 negatives = static_cast<double>(chunk.rows()) - positives;
    const DualPair pair = best_pair(sum_rows(chunk, group, lane, items[lane], bias), negatives, positives, cost);
    negative.data()[lane] = static_cast<float>(pair.negative);
    positive.data()[lane] = static_cast<float>(pair.positive);
    group.bias_weight.data()[lane] = static_cast<float>(bias * (positives * pair.positive - negatives * pair.negative));
  }
  for (int h = 0; h < 2; ++h) {
    const Lane8 of_all = negative.half[h], of_own = negative.half[h] + positive.half[h];
    for (std::size_t feature = 0; feature < chunk.sums.size(); ++feature) {
      Lane8& weight = group.weights[feature].half[h];
      weight = weight * of_own - of_all * chunk.sums[feature];
    }
  }
  std::fill(group.alpha.begin(), group.alpha.end(), negative);
  for (std::size_t lane = 0; lane < items.size(); ++lane)
    for (const Positive& one : items[lane]) group.alpha[one.row].data()[lane] = positive.data()[lane];
}

}  // namespace vizsla::detail
