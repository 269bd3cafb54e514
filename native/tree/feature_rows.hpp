// Numbers for features, in the order in which they come: an open hash table that is at most half full.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tree/chunked_layer.hpp"

namespace vizsla {

class FeatureRows {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;  // no feature, no row

  // The feature's row; a new one for a feature that has none yet.
  std::uint32_t add(std::uint32_t feature) {
    if (2 * std::size_t{rows_} >= slots_.size()) grow();
    Slot& slot = slots_[place(feature, ChunkTable::hash(feature))];
    if (slot.feature == none) slot = {feature, rows_++};
    return slot.row;
  }

  std::uint32_t find(std::uint32_t feature, std::uint32_t hash) const { return slots_[place(feature, hash)].row; }
  std::uint32_t size() const { return rows_; }
  std::size_t nbytes() const { return slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t feature;
    std::uint32_t row;
  };

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size(), {none, none}));
    for (const Slot& slot : old) {
      if (slot.feature != none) slots_[place(slot.feature, ChunkTable::hash(slot.feature))] = slot;
    }
  }

  std::size_t place(std::uint32_t feature, std::uint32_t hash) const {
    std::size_t at = ChunkTable::home(hash, static_cast<std::uint32_t>(slots_.size()));
    while (slots_[at].feature != feature && slots_[at].feature != none) at = at + 1 == slots_.size() ? 0 : at + 1;
    return at;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64, {none, none});
  std::uint32_t rows_ = 0;
};

}  // namespace vizsla
