// Words: maximal runs of letters, marks, numbers and underscores, in lower case if wished.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace vizsla {

// Where a word is written while it is read. Words may be read `padding` bytes past their end (see Vocabulary).
class WordBuffer {
 public:
  static constexpr std::size_t padding = 16;

  // Lower case lengthens a character from two bytes to three at most.
  char* room_for(std::size_t text_bytes) {
    const std::size_t wanted = text_bytes + text_bytes / 2 + padding;
    if (bytes_.size() < wanted) bytes_.resize(wanted);
    return bytes_.data();
  }

 private:
  std::vector<char> bytes_;
};

// Calls emit(std::string_view) for every word; the view holds until emit returns.
template <class Emit>
void for_each_word(std::string_view text, bool lower, WordBuffer& buffer, Emit&& emit) {
  const Unicode& unicode = Unicode::get();
  const auto& ascii_word = lower ? ascii::lowered : ascii::as_is;
  char* const word = buffer.room_for(text.size());
  char* out = word;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto finish = [&] {
    if (out != word) emit(std::string_view(word, static_cast<std::size_t>(out - word)));
    out = word;
  };
  while (at < end) {
    const auto byte = static_cast<unsigned char>(*at);
    if (const char letter = ascii_word[byte]; letter != 0) {
      *out++ = letter;
      ++at;
    } else if (byte < 0x80) {
      finish();
      ++at;
    } else {
      const utf8::Decoded character = utf8::decode(at, end);
      at += character.bytes;
      const std::uint32_t lowered = unicode.lower(character.code);
      if (lowered != 0) {
        out = utf8::encode(lower ? lowered : character.code, out);
      } else {
        finish();
      }
    }
  }
  finish();
}

}  // namespace vizsla
