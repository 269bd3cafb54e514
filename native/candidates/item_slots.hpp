// Which items of a row were met, and at which place: a small hash table that is emptied by counting on.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace vizsla {

class ItemSlots {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // Forgets all items; there is room for `most` distinct ones.
  void start(std::size_t most) {
    const std::size_t wanted = std::bit_ceil(8 * most + 2);
    if (slots_.size() < wanted) slots_.assign(wanted, {0, 0, 0});
    shift_ = static_cast<unsigned>(64 - std::countr_zero(slots_.size()));
    ++turn_;
  }

  // The item's place; a new item gets `next`.
  std::uint32_t place(std::int32_t item, std::uint32_t next) {
    Slot& slot = find(item);
    if (slot.turn != turn_) slot = {turn_, item, next};
    return slot.place;
  }

  std::uint32_t known(std::int32_t item) {
    const Slot& slot = find(item);
    return slot.turn == turn_ ? slot.place : none;
  }

 private:
  struct Slot {
    std::uint64_t turn;
    std::int32_t item;
    std::uint32_t place;
  };

  Slot& find(std::int32_t item) {
    std::size_t at = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(item)) * 0x9E3779B97F4A7C15ULL) >> shift_;
    while (slots_[at].turn == turn_ && slots_[at].item != item) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  std::vector<Slot> slots_;
  std::uint64_t turn_ = 0;
  unsigned shift_ = 0;
};

}  // namespace vizsla
