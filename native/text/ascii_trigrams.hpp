// The features of all trigrams that can be written with the 64 ASCII characters of words and marks: a table of 2^18
// cells, so that a trigram costs one load and no comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/marked_text.hpp"

namespace vizsla {

namespace trigram_letters {

inline constexpr unsigned bits = 6;
inline constexpr unsigned foreign = 1U << bits;  // the code of every other byte

constexpr std::array<std::uint8_t, 256> make_codes() {
  std::array<std::uint8_t, 256> made{};
  made.fill(foreign);
  std::uint8_t code = 0;
  made[static_cast<unsigned char>(MarkedText::mark)] = code++;
  for (std::size_t byte = 0; byte < 0x80; ++byte) {
    if (ascii::folded<false, false>[byte] != 0) made[byte] = code++;
  }
  return made;
}

inline constexpr std::array<std::uint8_t, 256> codes = make_codes();

}  // namespace trigram_letters

class AsciiTrigrams {
 public:
  explicit AsciiTrigrams(std::int32_t otherwise) : features_(cells, otherwise) {}

  // Does nothing for a string that is no such trigram.
  void set(std::string_view trigram, std::int32_t feature) {
    if (trigram.size() != 3) return;
    unsigned cell = 0, strange = 0;
    for (char letter : trigram) {
      const unsigned code = codes[static_cast<unsigned char>(letter)];
      strange |= code & foreign;
      cell = cell << bits | (code & (foreign - 1));
    }
    if (strange == 0) features_[cell] = feature;
  }

  // Calls set for every trigram there can be.
  template <class FeatureOf>
  void set_all(const FeatureOf& feature_of) {
    std::array<char, foreign> letters{};
    for (std::size_t byte = 0; byte < codes.size(); ++byte) {
      if (codes[byte] != foreign) letters[codes[byte]] = static_cast<char>(byte);
    }
    for (char a : letters) {
      for (char b : letters) {
        for (char c : letters) {
          const char trigram[] = {a, b, c};
          set({trigram, 3}, feature_of(std::string_view(trigram, 3)));
        }
      }
    }
  }

  // Writes the features of a word between its marks, negative ones left out, and returns where the next one goes, or
  // nullptr if the word holds another character. `out` needs room for as many features as the word has bytes.
  std::int32_t* find(std::string_view marked, std::int32_t* out) const {
    const auto code = [&](std::size_t i) -> unsigned { return codes[static_cast<unsigned char>(marked[i])]; };
    unsigned cell = code(0) << bits | code(1), strange = code(1);
    for (std::size_t i = 2; i < marked.size(); ++i) {
      strange |= code(i);
      cell = (cell << bits | code(i)) & (cells - 1);
      *out = features_[cell];
      out += *out >= 0;
    }
    return (strange & foreign) == 0 ? out : nullptr;
  }

 private:
  static constexpr unsigned bits = trigram_letters::bits;
  static constexpr unsigned foreign = trigram_letters::foreign;
  static constexpr std::size_t cells = std::size_t{1} << 3 * bits;
  static constexpr const std::array<std::uint8_t, 256>& codes = trigram_letters::codes;

  std::vector<std::int32_t> features_;
};

}  // namespace vizsla
