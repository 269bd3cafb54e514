// What several parts found, joined row by row: the distinct items, and each part's score of each.
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

  // The score of the last that was found; infinity where nothing was.
  float floor(std::size_t row) const {
    return count(row) == 0 ? std::numeric_limits<float>::infinity() : scores[begin(row) + count(row) - 1];
  }
};

// A score that is not there. No part gives NaN, so NaN can stand for it.
inline constexpr float missing_score = std::numeric_limits<float>::quiet_NaN();

// Distinct items in the order in which they are met, part after part; a score for each item and part.
class JoinedRows {
 public:
  JoinedRows(std::span<const PartRows> parts, std::size_t rows) : parts_(parts.size()) {
    std::size_t most = 0;
    for (const PartRows& part : parts) most += part.items.size();
    items_.reserve(most);
    scores_.reserve(most * parts_);
    offsets_.reserve(rows + 1);
    offsets_.push_back(0);
    ItemSlots slots;
    for (std::size_t row = 0; row < rows; ++row) add_row(parts, row, slots);
  }

  std::size_t rows() const { return offsets_.size() - 1; }
  std::size_t begin(std::size_t row) const { return offsets_[row]; }
  std::size_t end(std::size_t row) const { return offsets_[row + 1]; }
  std::int32_t item(std::size_t at) const { return items_[at]; }
  float* scores(std::size_t at) { return scores_.data() + at * parts_; }

  bool complete(std::size_t at) {
    for (std::size_t part = 0; part < parts_; ++part) {
      if (std::isnan(scores(at)[part])) return false;
    }
    return true;
  }

 private:
  void add_row(std::span<const PartRows> parts, std::size_t row, ItemSlots& slots) {
    std::size_t most = 0;
    for (const PartRows& part : parts) most += part.count(row);
    slots.start(most);
    const std::size_t first = items_.size();
    for (std::size_t part = 0; part < parts_; ++part) {
      for (std::size_t at = parts[part].begin(row); at < parts[part].begin(row) + parts[part].count(row); ++at) {
        const auto next = static_cast<std::uint32_t>(items_.size() - first);
        const std::uint32_t place = slots.place(parts[part].items[at], next);
        if (place == next) {
          items_.push_back(parts[part].items[at]);
          scores_.resize(scores_.size() + parts_, missing_score);
        }
        scores(first + place)[part] = parts[part].scores[at];
      }
    }
    offsets_.push_back(items_.size());
  }

  std::size_t parts_;
  std::vector<std::size_t> offsets_;
  std::vector<std::int32_t> items_;
  std::vector<float> scores_;
};

}  // namespace vizsla
