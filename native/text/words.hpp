// Words: maximal runs of letters, marks, numbers and underscores, in lower case if wished.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace vizsla {

// A text rewritten for cutting: words as they will be emitted, and a zero byte for every character between them; with
// `joined` a byte from 1 to 5 for a character that may join numbers.
// Words may be read `padding` bytes past their end (see Vocabulary).
class WordBuffer {
 public:
  static constexpr std::size_t padding = 16;

  // Whether the text that was rewritten with `joined` holds a digit, an underscore, or a character beyond ASCII.
  bool odd() const { return odd_; }

  template <bool joined = false>
  std::string_view rewrite(std::string_view text, bool lower) {
    // Lower case lengthens a character from two bytes to three at most.
    const std::size_t room = text.size() + text.size() / 2 + 2 * block + padding;
    if (bytes_.size() < room) bytes_.resize(room);
    const std::size_t size = lower ? rewritten<true, joined>(text) : rewritten<false, joined>(text);
    std::memset(bytes_.data() + size, 0, padding);
    return {bytes_.data(), size};
  }

 private:
  static constexpr std::size_t block = 32;

  template <bool lower, bool joined>
  std::size_t rewritten(std::string_view text) {
    char* out = bytes_.data();
    const char* at = text.data();
    const char* const end = at + text.size();
    odd_ = false;
    while (static_cast<std::size_t>(end - at) >= block) {
      if (rewrite_ascii<lower, joined>(at, out)) {
        at += block;
        out += block;
      } else {
        at = rewrite_slowly<lower, joined>(at, at + block, end, out);
      }
    }
    rewrite_slowly<lower, joined>(at, end, end, out);
    return static_cast<std::size_t>(out - bytes_.data());
  }

  // One block, without branches so that it is compiled to vector instructions; false if it was not all ASCII.
  template <bool lower, bool joined>
  bool rewrite_ascii(const char* in, char* out) {
    unsigned char seen = 0, digits = 0;
    for (std::size_t i = 0; i < block; ++i) {
      const auto byte = static_cast<unsigned char>(in[i]);
      const auto lowered = static_cast<unsigned char>(byte | 0x20U);
      const bool letter = static_cast<unsigned char>(lowered - 'a') < 26;
      const bool digit = static_cast<unsigned char>(byte - '0') < 10;
      const unsigned char kept = lower && letter ? lowered : byte;
      const auto joiner = static_cast<unsigned char>(byte - ascii::first_joiner);
      const unsigned char between = joined && joiner < ascii::joiners ? static_cast<unsigned char>(joiner + 1) : 0;
      out[i] = static_cast<char>((letter | digit | (byte == '_')) ? kept : between);
      seen |= byte;
      if constexpr (joined) digits |= static_cast<unsigned char>(digit | (byte == '_'));
    }
    odd_ |= digits != 0;
    return seen < 0x80;
  }

  // Characters that begin before `stop`, one by one; moves `out` and returns where the next character begins.
  template <bool lower, bool joined>
  const char* rewrite_slowly(const char* at, const char* stop, const char* end, char*& out) {
    const Unicode& unicode = Unicode::get();
    while (at < stop) {
      const auto byte = static_cast<unsigned char>(*at);
      if (byte < 0x80) {
        *out++ = ascii::folded<lower, joined>[byte];
        if constexpr (joined) odd_ |= static_cast<unsigned char>(byte - '0') < 10 || byte == '_';
        ++at;
        continue;
      }
      odd_ = true;
      const utf8::Decoded character = utf8::decode(at, end);
      const std::uint32_t lowered = unicode.lower(character.code);
      out = utf8::encode(lower || lowered == 0 ? lowered : character.code, out);
      at += character.bytes;
    }
    return at;
  }

  std::vector<char> bytes_;
  bool odd_ = false;
};

// The number of bytes before the first one that is less than `bound`; 8 bytes must be readable after it.
template <std::uint8_t bound>
std::size_t bytes_before_less(const char* begin) {
  static_assert(std::endian::native == std::endian::little);
  for (const char* at = begin;; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    // The lowest bit that is set stands in the first such byte.
    const std::uint64_t less = (word - bound * 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;
    if (less != 0) return static_cast<std::size_t>(at - begin) + static_cast<std::size_t>(std::countr_zero(less)) / 8;
  }
}

// Calls emit for every run of bytes that are not less than `bound`, of a text that was rewritten.
template <std::uint8_t bound, class Emit>
void for_each_run(std::string_view rewritten, Emit&& emit) {
  const char* at = rewritten.data();
  for (const char* const end = at + rewritten.size(); at < end;) {
    const std::size_t size = bytes_before_less<bound>(at);
    if (size > 0) emit(std::string_view(at, size));
    at += size + 1;
  }
}

// Calls emit(std::string_view) for every word; the view holds until emit returns.
template <class Emit>
void for_each_word(std::string_view text, bool lower, WordBuffer& buffer, Emit&& emit) {
  for_each_run<1>(buffer.rewrite(text, lower), emit);
}

}  // namespace vizsla
