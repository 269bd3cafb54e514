// Names to numbers: by a table that is given, or by one that grows and numbers names as they come.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/checks.hpp"
#include "common/growing_array.hpp"
#include "text/string_table.hpp"

namespace vizsla {

class NameTable {
 public:
  NameTable() : slots_(StringTable::slot_count(0)) { offsets_.push_back(0); }

  explicit NameTable(const StringTable& known) : known_(known) {
    require(known.size() <= INT32_MAX, "a matrix has fewer than 2^31 rows and columns");
  }

  // The number of a name; StringTable::absent if it is not among the given ones.
  std::int64_t number(std::string_view name) {
    const std::uint64_t hash = StringTable::hash(name);
    return known_ ? known_->find(name, hash) : grown(name, hash);
  }

  const GrowingArray<std::uint8_t>& bytes() const { return bytes_; }
  const GrowingArray<std::int64_t>& offsets() const { return offsets_; }

 private:
  std::int64_t grown(std::string_view name, std::uint64_t hash) {
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const std::uint32_t number = slots_[slot] - 1;
      if (hashes_[number] == hash && (*this)[number] == name) return number;
    }
    return insert(slot, name, hash);
  }

  std::string_view operator[](std::uint32_t number) const {
    const auto begin = static_cast<std::size_t>(offsets_[number]);
    return {reinterpret_cast<const char*>(bytes_.data()) + begin,
            static_cast<std::size_t>(offsets_[number + 1]) - begin};
  }

  std::int64_t insert(std::size_t slot, std::string_view name, std::uint64_t hash) {
    if (hashes_.size() >= INT32_MAX) throw std::length_error("a matrix has fewer than 2^31 rows and columns");
    bytes_.append(reinterpret_cast<const std::uint8_t*>(name.data()), name.size());
    offsets_.push_back(static_cast<std::int64_t>(bytes_.size()));
    hashes_.push_back(hash);
    slots_[slot] = static_cast<std::uint32_t>(hashes_.size());
    if (slots_.size() < StringTable::slot_count(hashes_.size())) grow();
    return static_cast<std::int64_t>(hashes_.size()) - 1;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t number = 0; number < hashes_.size(); ++number) {
      std::size_t slot = hashes_[number] & (slots_.size() - 1);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<std::uint32_t>(number) + 1;
    }
  }

  std::optional<StringTable> known_;
  std::vector<std::uint32_t> slots_;  // number + 1; 0 is empty; at most half of them are used
  GrowingArray<std::uint64_t> hashes_;
  GrowingArray<std::uint8_t> bytes_;
  GrowingArray<std::int64_t> offsets_;
};

}  // namespace vizsla
