// The items that a scan reads (all, or a selection) as blocks of 64 with a bit mask.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pq/codes.hpp"

namespace vizsla {

struct ItemSelection {
  std::size_t items = 0;
  std::span<const std::int32_t> numbers;  // which ascend
  bool all = true;

  std::size_t size() const { return all ? items : numbers.size(); }
  std::size_t number(std::size_t place) const { return all ? place : static_cast<std::size_t>(numbers[place]); }
};

// A block of 64 items; a set bit selects an item.
struct MaskedBlock {
  std::size_t number;
  std::uint64_t bits;
};

// Appends the blocks of the places from `place` on, until there are `most` or `end` is reached; returns where it
// stopped.
inline std::size_t take_blocks(const ItemSelection& chosen, std::size_t place, std::size_t end, std::size_t most,
                               std::vector<MaskedBlock>& blocks) {
  blocks.clear();
  while (place < end && blocks.size() < most) {
    const std::size_t block = chosen.number(place) / PqCodes::lanes, first = block * PqCodes::lanes;
    std::uint64_t bits = 0;
    if (chosen.all) {
      const std::size_t from = place - first, to = std::min(end - first, PqCodes::lanes);
      bits = (to == PqCodes::lanes ? UINT64_MAX : (std::uint64_t{1} << to) - 1) & ~((std::uint64_t{1} << from) - 1);
      place = first + to;
    } else {
      for (; place < end && chosen.number(place) < first + PqCodes::lanes; ++place) {
        bits |= std::uint64_t{1} << (chosen.number(place) - first);
      }
    }
    blocks.push_back({block, bits});
  }
  return place;
}

}  // namespace vizsla
