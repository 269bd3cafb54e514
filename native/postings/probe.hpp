// Looks up many items in one posting list. Their binary searches advance in step, so that cache misses overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "postings/postings.hpp"

namespace vizsla {

class ListProbe {
 public:
  // Adds weight × impact to the sums of the items `low + found[i]`, which ascend.
  template <class List>
  void add(const List& list, float weight, std::int64_t low, std::span<const std::uint32_t> found, float* sums) {
    places_.resize(found.size());
    const auto base = static_cast<std::int32_t>(low);
    place_in_blocks(list, base, found);
    for (std::size_t half = std::min(list.items.size(), List::block_size); half > 1;) {
      const std::size_t step = half / 2;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool below = list.items[places_[i] + step - 1] < base + static_cast<std::int32_t>(found[i]);
        places_[i] += below ? step : 0;
      }
      half -= step;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool holds = list.items[places_[i]] == base + static_cast<std::int32_t>(found[i]);
      sums[found[i]] += holds ? weight * list.impacts[places_[i]] : 0.0F;
    }
  }

 private:
  // Where to look for each item: a block's length from here on. The last block begins earlier, so that all are as long.
  template <class List>
  void place_in_blocks(const List& list, std::int32_t base, std::span<const std::uint32_t> found) {
    const std::size_t last = list.items.size() - std::min(list.items.size(), List::block_size);
    std::size_t block = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      while (block + 1 < list.blocks.size() && list.blocks[block].last < base + static_cast<std::int32_t>(found[i])) {
        ++block;
      }
      places_[i] = std::min(block * List::block_size, last);
    }
  }

  std::vector<std::size_t> places_;
};

}  // namespace vizsla
