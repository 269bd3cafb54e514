// The weighted sum of joined columns, ranked and cut.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "candidates/rank.hpp"
#include "common/checks.hpp"

namespace vizsla {

// One part's column; where a score is missing, the next of `fill` stands.
struct Column {
  double weight;
  std::span<const float> scores;
  std::span<const float> fill;
  std::span<const float> floors;  // for each row, a score that no item outside the column reaches; may be empty
  std::size_t used = 0;

  float next(std::size_t at) {
    const float score = scores[at];
    if (!std::isnan(score)) return score;
    require(used < fill.size(), "there must be a score for each item that a part lacks");
    return fill[used++];
  }
};

// Pushes the sums of one row; returns whether the best k of it are the best k of all items.
//
// An item that no part found gets less from each than the last that was found (Fagin's threshold): when k sums are above
// that, nobody outside can be among them.
inline bool add_row(std::span<Column> columns, std::span<const std::int32_t> items, std::size_t first, std::size_t row,
                    std::size_t k, RowRanker& ranker) {
  ranker.clear();
  double bound = 0;
  for (const Column& column : columns) bound += column.weight * (column.floors.empty() ? INFINITY : column.floors[row]);
  std::size_t above = 0;
  for (std::size_t at = first; at < first + items.size(); ++at) {
    double sum = 0;
    for (Column& column : columns) sum += column.weight * static_cast<double>(column.next(at));
    above += static_cast<float>(sum) > static_cast<float>(bound);
    ranker.push(items[at - first], static_cast<float>(sum));
  }
  return above >= k;
}

}  // namespace vizsla
