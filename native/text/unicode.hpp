// Which characters make words, and their lower case: the generated ranges spread out for one look-up a character.
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
  std::uint32_t lower(std::uint32_t code) const { return code < flat ? lower_[code] : beyond(code); }

 private:
  // Beyond the first two planes there is no case, and little but Chinese: the ranges themselves serve.
  static constexpr std::uint32_t flat = 0x20000;

  Unicode() : lower_(flat, 0) {
    for (const auto& range : unicode_ranges::words) {
      for (std::uint32_t code = range.first; code <= range.last && code < flat; ++code) lower_[code] = code;
    }
    for (const auto& run : unicode_ranges::lower) {
      for (std::uint32_t code = run.first; code <= run.last; code += run.step) {
        lower_[code] = static_cast<std::uint32_t>(static_cast<std::int32_t>(code) + run.distance);
      }
    }
  }

  static std::uint32_t beyond(std::uint32_t code) {
    const auto* range = std::upper_bound(std::begin(unicode_ranges::words), std::end(unicode_ranges::words), code,
                                         [](std::uint32_t c, const auto& r) { return c < r.first; });
    return code <= std::prev(range)->last ? code : 0;
  }

  static_assert(std::prev(std::end(unicode_ranges::lower))->last < flat);

  std::vector<std::uint32_t> lower_;
};

namespace ascii {

// As Unicode::lower, for one byte: 0 where no word is, and for every byte of a longer character.
constexpr std::array<char, 256> table(bool lower) {
  std::array<char, 256> folded{};
  for (char c = '0'; c <= '9'; ++c) folded[static_cast<unsigned char>(c)] = c;
  for (char c = 'a'; c <= 'z'; ++c) folded[static_cast<unsigned char>(c)] = c;
  for (char c = 'A'; c <= 'Z'; ++c) folded[static_cast<unsigned char>(c)] = lower ? static_cast<char>(c + 'a' - 'A') : c;
  folded['_'] = '_';
  return folded;
}

inline constexpr std::array<char, 256> lowered = table(true);
inline constexpr std::array<char, 256> as_is = table(false);

}  // namespace ascii

}  // namespace vizsla
