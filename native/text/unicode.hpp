// Which characters make words, their lower case, and which scripts are searched by n-grams: the generated ranges spread
// out for one look-up a character.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

#include "text/unicode_ranges.hpp"

namespace vizsla {

class Unicode {
 public:
  static const Unicode& get() {
    static const Unicode table;
    return table;
  }

  // The lower case of a word character; 0 for a character that belongs to no word.
  std::uint32_t lower(std::uint32_t code) const {
    if (code < flat) return lower_[code];
    return within(unicode_ranges::words, code) ? code : 0;
  }

  // Whether a character is a letter of a script that is searched by n-grams.
  bool unspaced(std::uint32_t code) const {
    return code < flat ? kind_[code] == Kind::unspaced : within(unicode_ranges::unspaced, code);
  }

  // Whether a character belongs to the one before it.
  bool mark(std::uint32_t code) const {
    return code < flat ? kind_[code] == Kind::mark : within(unicode_ranges::marks, code);
  }

 private:
  // Beyond the first two planes there is no case, and little but Chinese: the ranges themselves serve.
  static constexpr std::uint32_t flat = 0x20000;
  enum class Kind : std::uint8_t { other, unspaced, mark };

  Unicode() : lower_(flat, 0), kind_(flat, Kind::other) {
    set(unicode_ranges::unspaced, Kind::unspaced);
    set(unicode_ranges::marks, Kind::mark);
    for (const auto& range : unicode_ranges::words) {
      for (std::uint32_t code = range.first; code <= range.last && code < flat; ++code) lower_[code] = code;
    }
    for (const auto& run : unicode_ranges::lower) {
      for (std::uint32_t code = run.first; code <= run.last; code += run.step) {
        lower_[code] = static_cast<std::uint32_t>(static_cast<std::int32_t>(code) + run.distance);
      }
    }
  }

  template <std::size_t count>
  void set(const unicode_ranges::Range (&ranges)[count], Kind kind) {
    for (const auto& range : ranges) {
      for (std::uint32_t code = range.first; code <= range.last && code < flat; ++code) kind_[code] = kind;
    }
  }

  template <std::size_t count>
  static bool within(const unicode_ranges::Range (&ranges)[count], std::uint32_t code) {
    const auto* range = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                         [](std::uint32_t c, const auto& r) { return c < r.first; });
    return range != std::begin(ranges) && code <= std::prev(range)->last;
  }

  static_assert(std::prev(std::end(unicode_ranges::lower))->last < flat);

  std::vector<std::uint32_t> lower_;
  std::vector<Kind> kind_;
};

namespace ascii {

// What may join the parts of a number or a part number: + , - . / become 1 to 5, which no word contains.
inline constexpr unsigned char first_joiner = '+';
inline constexpr unsigned char joiners = 5;
static_assert(first_joiner + joiners - 1 == '/');

// As Unicode::lower, for one byte: 0 where no word is, and for every byte of a longer character.
constexpr std::array<char, 256> table(bool lower, bool joined) {
  std::array<char, 256> folded{};
  for (char c = '0'; c <= '9'; ++c) folded[static_cast<unsigned char>(c)] = c;
  for (char c = 'a'; c <= 'z'; ++c) folded[static_cast<unsigned char>(c)] = c;
  for (char c = 'A'; c <= 'Z'; ++c)
    folded[static_cast<unsigned char>(c)] = lower ? static_cast<char>(c + 'a' - 'A') : c;
  folded['_'] = '_';
  for (unsigned char joiner = 0; joined && joiner < joiners; ++joiner) {
    folded[first_joiner + joiner] = static_cast<char>(joiner + 1);
  }
  return folded;
}

template <bool lower, bool joined>
inline constexpr std::array<char, 256> folded = table(lower, joined);

}  // namespace ascii

}  // namespace vizsla
