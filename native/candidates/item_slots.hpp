// Which items of a row were met, and at which place: a small hash table that is emptied by counting on.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace vizsla {

class ItemSlots {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // Forgets all items; there is room for `most` distinct ones. Small, so that it leaves the first cache to others.
  void start(std::size_t most) {
    const std::size_t wanted = std::bit_ceil(4 * most + 2);
    first_ += most_;
    if (slots_.size() < wanted || first_ + most > UINT32_MAX) {
      slots_.assign(std::max(wanted, slots_.size()), {0, 0});
      first_ = 1;
    }
    most_ = most;
    shift_ = static_cast<unsigned>(64 - std::countr_zero(slots_.size()));
  }

  // The item's place; a new item gets `next`. Whether it is new is not guessed.
  std::uint32_t place(std::int32_t item, std::uint32_t next) {
    Slot& slot = find(item);
    const std::uint32_t at = is_taken(slot) ? place_of(slot) : next;
    slot = {item, static_cast<std::uint32_t>(first_) + at};
    return at;
  }

  // Notes an item that was not met before.
  void put(std::int32_t item, std::uint32_t place) {
    std::size_t at = first_slot(item);
    while (is_taken(slots_[at])) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {item, static_cast<std::uint32_t>(first_) + place};
  }

  std::uint32_t known(std::int32_t item) {
    const Slot& slot = find(item);
    return is_taken(slot) ? place_of(slot) : none;
  }

 private:
  struct Slot {
    std::int32_t item;
    std::uint32_t mark;  // the item's place, counted from where those of earlier rows end
  };

  bool is_taken(const Slot& slot) const { return slot.mark >= first_; }
  std::uint32_t place_of(const Slot& slot) const { return slot.mark - static_cast<std::uint32_t>(first_); }

  std::size_t first_slot(std::int32_t item) const {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(item)) * 0x9E3779B97F4A7C15ULL) >> shift_;
  }

  Slot& find(std::int32_t item) {
    std::size_t at = first_slot(item);
    while (is_taken(slots_[at]) && slots_[at].item != item) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  std::vector<Slot> slots_;
  std::uint64_t first_ = 1, most_ = 0;
  unsigned shift_ = 0;
};

}  // namespace vizsla
