// Parts take turns, best first, and an item keeps its first place: a cut-off then keeps the best of every part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "candidates/id_map.hpp"
#include "candidates/part_rows.hpp"

namespace vizsla {

inline void interleave(std::span<const PartRows> parts, std::size_t row, std::size_t k, HashIdMap& slots,
                       std::vector<std::int32_t>& out) {
  std::size_t longest = 0, total = 0;
  for (const PartRows& part : parts) {
    longest = std::max(longest, part.count(row));
    total += part.count(row);
  }
  slots.start(total);
  std::uint32_t taken = 0;
  for (std::size_t turn = 0; turn < longest; ++turn) {
    for (const PartRows& part : parts) {
      if (turn >= part.count(row)) continue;
      if (taken == k) return;
      const std::int32_t item = part.item(row, turn);
      if (slots.place(item, taken) != taken) continue;
      out.push_back(item);
      ++taken;
    }
  }
}

}  // namespace vizsla
