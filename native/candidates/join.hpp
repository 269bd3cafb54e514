// What several parts found, joined row by row: the distinct items, each part's score of each, and what a part lacks.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "candidates/item_slots.hpp"

namespace vizsla {

struct PartRows {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> items;
  std::span<const float> scores;  // empty for a match set

  std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(offsets[row]); }
  std::size_t count(std::size_t row) const { return static_cast<std::size_t>(offsets[row + 1] - offsets[row]); }
};

// A score that is not there. No part gives NaN, so NaN can stand for it.
inline constexpr float missing_score = std::numeric_limits<float>::quiet_NaN();

// The distinct items in the order in which they are met, part after part, and a column of scores for each part.
struct Joined {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> items;
  std::vector<std::vector<float>> columns;
  std::vector<std::vector<float>> floors;  // for each part and row, the score of the last that was found
  struct Lacking {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> items;
  };
  std::vector<Lacking> lacking;
};

inline Joined join(std::span<const PartRows> parts, std::size_t rows) {
  Joined out;
  out.columns.resize(parts.size());
  out.floors.resize(parts.size());
  out.lacking.resize(parts.size());
  ItemSlots slots;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t most = 0;
    for (const PartRows& part : parts) most += part.count(row);
    slots.start(most);
    const std::size_t first = out.items.size();
    for (auto& column : out.columns) column.resize(first + most, missing_score);
    std::uint32_t distinct = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (std::size_t at = parts[p].begin(row); at < parts[p].begin(row) + parts[p].count(row); ++at) {
        const std::uint32_t place = slots.place(parts[p].items[at], distinct);
        if (place == distinct) {
          out.items.push_back(parts[p].items[at]);
          ++distinct;
        }
        out.columns[p][first + place] = parts[p].scores[at];
      }
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::size_t found = parts[p].count(row);
      out.floors[p].push_back(found ? parts[p].scores[parts[p].begin(row) + found - 1] : INFINITY);
      out.columns[p].resize(first + distinct);
      auto& lacking = out.lacking[p];
      for (std::size_t at = first; at < first + distinct; ++at) {
        if (std::isnan(out.columns[p][at])) lacking.items.push_back(out.items[at]);
      }
      lacking.offsets.push_back(static_cast<std::int64_t>(lacking.items.size()));
    }
    out.offsets.push_back(static_cast<std::int64_t>(out.items.size()));
  }
  return out;
}

}  // namespace vizsla
