// As ItemSlots, for small catalogs and short rows: a byte an item, which nearly always is in the second cache, and no
// search for a slot, so nothing is guessed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace vizsla {

class SmallSlots {
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
