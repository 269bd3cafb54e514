// A growing set of words, numbered as they come. Made for one thing: few nanoseconds a token while a catalog is read.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/growing_array.hpp"
#include "text/words.hpp"

namespace vizsla {

class Vocabulary {
 public:
  // A word's place in the table. `row` and `place` are notes of the counter (where the bag builder met the word
  // last; in how many texts an n-gram occurs): they lie here because this cache line is at hand.
  struct Entry {
    std::uint64_t key;
    std::uint32_t number_plus_1;  // 0 marks an empty entry
    std::uint32_t bytes;
    std::uint32_t row;
    std::uint32_t place;

    std::uint32_t number() const { return number_plus_1 - 1; }
  };

  Vocabulary() : entries_(1U << 12) { offsets_.push_back(0); }

  std::size_t size() const { return offsets_.size() - 1; }

  // The entry of a word, new or known. The word must be followed by WordBuffer::padding readable bytes.
  Entry& at(std::string_view word) {
    const std::uint64_t key = word.size() <= 8 ? short_key(word) : long_key(word);
    for (std::size_t slot = key & mask_;; slot = (slot + 1) & mask_) {
      Entry& entry = entries_[slot];
      if (entry.number_plus_1 == 0) return insert(slot, key, word);
      if (entry.key == key && entry.bytes == word.size() && (word.size() <= 8 || text(entry.number()) == word))
        return entry;
    }
  }

  std::string_view text(std::uint32_t number) const {
    const auto begin = static_cast<std::size_t>(offsets_[number]);
    return {bytes_.data() + begin, static_cast<std::size_t>(offsets_[number + 1]) - begin};
  }

  // Calls visit for every entry, in no useful order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : entries_) {
      if (entry.number_plus_1 != 0) visit(entry);
    }
  }

  const GrowingArray<char>& bytes() const { return bytes_; }
  const GrowingArray<std::int64_t>& offsets() const { return offsets_; }

 private:
  static constexpr std::uint32_t most = INT32_MAX - 1;

  // One-to-one: two words of up to 8 bytes with the same key and length are the same word, and need no comparison.
  static std::uint64_t mix(std::uint64_t key) {
    key = (key ^ key >> 32) * 0x9FB21C651E98DF25ULL;
    key = (key ^ key >> 29) * 0xD6E8FEB86659FD93ULL;
    return key ^ key >> 32;
  }

  static std::uint64_t load(const char* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  static std::uint64_t short_key(std::string_view word) {
    // Never empty, so the shift is at most 56.
    return mix(load(word.data()) & ~std::uint64_t{0} >> (64 - 8 * word.size()));
  }

  static std::uint64_t long_key(std::string_view word) {
    std::uint64_t key = word.size();
    for (std::size_t at = 0; at + 8 < word.size(); at += 8) key = mix(key ^ load(word.data() + at)) + at;
    return mix(key ^ load(word.data() + word.size() - 8));
  }

  Entry& insert(std::size_t slot, std::uint64_t key, std::string_view word) {
    if (size() >= most) throw std::length_error("a vocabulary holds fewer than 2^31 words");
    if (3 * size() > 2 * mask_) {
      grow();
      slot = empty_slot(key);
    }
    bytes_.append(word.data(), word.size());
    offsets_.push_back(static_cast<std::int64_t>(bytes_.size()));
    entries_[slot] = {key, static_cast<std::uint32_t>(size()), static_cast<std::uint32_t>(word.size()), UINT32_MAX, 0};
    return entries_[slot];
  }

  std::size_t empty_slot(std::uint64_t key) const {
    std::size_t slot = key & mask_;
    while (entries_[slot].number_plus_1 != 0) slot = (slot + 1) & mask_;
    return slot;
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    mask_ = entries_.size() - 1;
    for (const Entry& entry : old) {
      if (entry.number_plus_1 != 0) entries_[empty_slot(entry.key)] = entry;
    }
  }

  std::vector<Entry> entries_;  // a power of two, at most two thirds of them used
  std::size_t mask_ = entries_.size() - 1;
  GrowingArray<char> bytes_;
  GrowingArray<std::int64_t> offsets_;
};

}  // namespace vizsla
