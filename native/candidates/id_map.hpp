// Maps from an item number to the item's position in a joined row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vizsla {

// A small open-addressing hash table. Clearing it is O(1): positions are offset by the number of those used before.
class HashIdMap {
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

// A direct table of one byte per item, for small catalogs and short rows: it fits into the second-level cache and a
// lookup has no unpredictable branch.
class ByteIdMap {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::size_t most_items = 1 << 16, most_joined = UINT8_MAX;

  static bool fits(std::size_t items, std::size_t joined) { return items <= most_items && joined <= most_joined; }

  // Numbers are below `items`.
  void resize(std::size_t items) { places_.assign(items, free); }

  // Forgets a row's items.
  void clear(std::span<const std::int32_t> items) {
    for (const std::int32_t item : items) places_[static_cast<std::size_t>(item)] = free;
  }

  // The item's place; a new item gets `next`, which is above the places of all others, and not above `free`.
  std::uint32_t place(std::int32_t item, std::uint32_t next) {
    std::uint8_t& kept = places_[static_cast<std::size_t>(item)];
    const std::uint32_t at = std::min<std::uint32_t>(kept, next);
    kept = static_cast<std::uint8_t>(at);
    return at;
  }

  void put(std::int32_t item, std::uint32_t place) {
    places_[static_cast<std::size_t>(item)] = static_cast<std::uint8_t>(place);
  }

  std::uint32_t known(std::int32_t item) const {
    const std::uint8_t kept = places_[static_cast<std::size_t>(item)];
    return kept != free ? kept : none;
  }

 private:
  static constexpr std::uint8_t free = UINT8_MAX;

  std::vector<std::uint8_t> places_;
};

}  // namespace vizsla
