// White space as Python's str.isspace() and str.strip() see it.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/utf8.hpp"

namespace vizsla {

inline bool is_space(std::uint32_t code) {
  if (code < 0x80) return code == ' ' || (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x1F);
  if (code < 0x1680) return code == 0x85 || code == 0xA0;
  return code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
         code == 0x205F || code == 0x3000;
}

// Where the first character is that is no white space, from `at` on; the end if there is none.
inline const char* skip_space(const char* at, const char* end) {
  while (at < end) {
    const utf8::Decoded character = utf8::decode(at, end);
    if (!is_space(character.code)) break;
    at += character.bytes;
  }
  return at;
}

inline const char* skip_word(const char* at, const char* end) {
  while (at < end) {
    const utf8::Decoded character = utf8::decode(at, end);
    if (is_space(character.code)) break;
    at += character.bytes;
  }
  return at;
}

inline bool is_blank(std::string_view text) {
  const char* const end = text.data() + text.size();
  return skip_space(text.data(), end) == end;
}

}  // namespace vizsla
