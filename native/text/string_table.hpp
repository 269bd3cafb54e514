// Strings as bytes and offsets, found by an open-addressing table of slots: item ids and vocabularies alike.
// The table is a view: it owns nothing, so that a memory-mapped file serves as it lies.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/hash.hpp"
#include "common/prefetch.hpp"
#include "common/threads.hpp"
#include "text/utf8.hpp"

namespace vizsla {

class StringTable {
 public:
  static constexpr std::int64_t absent = -1;

  // Slots hold number + 1; 0 is empty. At most half of them are used, so that a probe ends soon.
  static std::size_t slot_count(std::size_t strings) { return std::bit_ceil(2 * strings + 2); }

  StringTable(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> offsets,
              std::span<const std::uint32_t> slots)
      : bytes_(bytes), offsets_(offsets), slots_(slots) {
    check_offsets();
    check_slots();
  }

  std::size_t size() const { return offsets_.size() - 1; }

  std::string_view operator[](std::size_t number) const {
    const auto begin = static_cast<std::size_t>(offsets_[number]);
    return {reinterpret_cast<const char*>(bytes_.data()) + begin,
            static_cast<std::size_t>(offsets_[number + 1]) - begin};
  }

  std::int64_t find(std::string_view wanted) const { return find(wanted, hash(wanted)); }

  std::int64_t find(std::string_view wanted, std::uint64_t hashed) const {
    const std::size_t mask = slots_.size() - 1;
    // A damaged table may be full: the number of probes is bounded as well.
    for (std::size_t slot = hashed & mask, probes = 0; probes <= mask; slot = (slot + 1) & mask, ++probes) {
      const std::uint32_t entry = slots_[slot];
      if (entry == 0) return absent;
      if ((*this)[entry - 1] == wanted) return entry - 1;
    }
    return absent;
  }

  // What `find` will touch, one step after another: many look-ups that take each step together wait for memory once.
  VIZSLA_PREFETCHES void prefetch_slot(std::uint64_t hashed) const {
    __builtin_prefetch(&slots_[hashed & (slots_.size() - 1)]);
  }
  VIZSLA_PREFETCHES void prefetch_offset(std::uint64_t hashed) const {
    if (const std::uint32_t entry = slots_[hashed & (slots_.size() - 1)]) __builtin_prefetch(&offsets_[entry - 1]);
  }
  VIZSLA_PREFETCHES void prefetch_bytes(std::uint64_t hashed) const {
    if (const std::uint32_t entry = slots_[hashed & (slots_.size() - 1)]) __builtin_prefetch((*this)[entry - 1].data());
  }

  static std::uint64_t hash(std::string_view text) {
    return xxh64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }

  // Whether every string is well-formed, occurs once, and is found by its slots: what a vocabulary must be.
  void check_vocabulary() const {
    if (slots_.empty()) throw std::invalid_argument("a vocabulary needs its slots");
    for (std::size_t number = 0; number < size(); ++number) {
      if (!utf8::valid((*this)[number])) throw std::invalid_argument("a string is not UTF-8");
      if (find((*this)[number]) != static_cast<std::int64_t>(number)) {
        throw std::invalid_argument("the slots of the string table do not find its strings, or a string is repeated");
      }
    }
  }

  // Fills empty slots. A repeated string keeps its first number; `repeats` receives the later ones.
  static void fill(const StringTable& table, std::span<std::uint32_t> slots, std::vector<std::int64_t>& repeats,
                   const Poll& poll = {}) {
    constexpr std::size_t strings_a_look = 1 << 16;
    const std::size_t mask = slots.size() - 1;
    for (std::size_t number = 0; number < table.size(); ++number) {
      if (poll && number % strings_a_look == 0) poll();
      std::size_t slot = hash(table[number]) & mask;
      while (slots[slot] != 0 && table[slots[slot] - 1] != table[number]) slot = (slot + 1) & mask;
      if (slots[slot] == 0) {
        slots[slot] = static_cast<std::uint32_t>(number) + 1;
      } else {
        repeats.push_back(static_cast<std::int64_t>(number));
      }
    }
  }

 private:
  void check_offsets() const {
    if (offsets_.empty() || offsets_.front() != 0) throw std::invalid_argument("string offsets must begin with 0");
    if (offsets_.size() - 1 >= UINT32_MAX)
      throw std::invalid_argument("a string table holds fewer than 2^32 - 1 strings");
    for (std::size_t i = 1; i < offsets_.size(); ++i) {
      if (offsets_[i] < offsets_[i - 1]) throw std::invalid_argument("string offsets must not decrease");
    }
    if (static_cast<std::uint64_t>(offsets_.back()) != bytes_.size()) {
      throw std::invalid_argument("the last string offset must equal the number of bytes");
    }
  }

  void check_slots() const {
    if (slots_.empty()) return;  // A table that is only read by number needs none.
    if (slots_.size() != slot_count(size()))
      throw std::invalid_argument("the string table has the wrong number of slots");
    for (std::uint32_t entry : slots_) {
      if (entry > size()) throw std::invalid_argument("a slot of the string table points past its end");
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::span<const std::int64_t> offsets_;
  std::span<const std::uint32_t> slots_;
};

}  // namespace vizsla
