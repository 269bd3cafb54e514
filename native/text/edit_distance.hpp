// How many edits lie between two short words: insertions, deletions, substitutions, swaps of neighboring characters.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "text/utf8.hpp"

namespace vizsla {

// The code points of a short word, without an allocation.
class CodePoints {
 public:
  static constexpr std::size_t most = 40;

  // Whether the text has at most `most` characters; one that has more keeps the first of them.
  bool read(std::string_view text) {
    const char* const end = text.data() + text.size();
    size_ = 0;
    for (const char* at = text.data(); at < end;) {
      if (size_ == most) return false;
      const utf8::Decoded character = utf8::decode(at, end);
      codes_[size_++] = character.code;
      at += character.bytes;
    }
    return true;
  }

  std::span<const std::uint32_t> span() const { return {codes_.data(), size_}; }
  std::size_t size() const { return size_; }

 private:
  std::array<std::uint32_t, most> codes_;
  std::size_t size_ = 0;
};

// The restricted Damerau-Levenshtein distance (optimal string alignment: no part is edited twice), if it is at most
// `most`; else most + 1. Both words have at most CodePoints::most characters.
inline std::size_t edit_distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, std::size_t most) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a = a.subspan(1), b = b.subspan(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a = a.first(a.size() - 1), b = b.first(b.size() - 1);
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > most) return most + 1;
  if (a.empty()) return b.size();
  using Row = std::array<std::uint8_t, CodePoints::most + 1>;
  Row rows[3];
  Row *before = &rows[0], *last = &rows[1], *row = &rows[2];
  const auto beyond = static_cast<std::uint8_t>(most + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) (*last)[j] = static_cast<std::uint8_t>(std::min(j, most + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    // Only cells near the diagonal can hold `most` or less.
    const std::size_t first = i > most ? i - most : 1, end = std::min(b.size(), i + most);
    (*row)[first - 1] = first == 1 ? static_cast<std::uint8_t>(std::min(i, most + 1)) : beyond;
    std::uint8_t least = (*row)[first - 1];
    for (std::size_t j = first; j <= end; ++j) {
      const std::uint8_t above = j == i + most ? beyond : (*last)[j];
      std::uint8_t cost = static_cast<std::uint8_t>((*last)[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1));
      cost = std::min({cost, static_cast<std::uint8_t>(above + 1), static_cast<std::uint8_t>((*row)[j - 1] + 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost = std::min(cost, static_cast<std::uint8_t>((*before)[j - 2] + 1));
      (*row)[j] = std::min(cost, beyond);
      least = std::min(least, (*row)[j]);
    }
    if (least > most) return most + 1;
    Row* const spare = before;
    before = last, last = row, row = spare;
  }
  return (*last)[b.size()];
}

}  // namespace vizsla
