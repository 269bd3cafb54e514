// UTF-8, one character at a time. Decoding never reads past the end and never fails: a byte that begins no valid
// character is a character of its own, U+FFFD, which belongs to no word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vizsla::utf8 {

struct Decoded {
  std::uint32_t code;
  std::uint32_t bytes;
};

inline bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

inline Decoded decode(const char* at, const char* end) {
  const auto part = [at](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i])); };
  const auto follow = [&](int i) { return part(i) & 0x3FU; };
  const std::uint32_t lead = part(0);
  const std::ptrdiff_t left = end - at;
  constexpr Decoded invalid{0xFFFD, 1};
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2) return invalid;
  if (left < 2 || !continues(at[1])) return invalid;
  if (lead < 0xE0) return {(lead & 0x1FU) << 6 | follow(1), 2};
  if (left < 3 || !continues(at[2])) return invalid;
  if (lead < 0xF0) {
    const std::uint32_t code = (lead & 0xFU) << 12 | follow(1) << 6 | follow(2);
    return code < 0x800 || (code >= 0xD800 && code < 0xE000) ? invalid : Decoded{code, 3};
  }
  if (left < 4 || !continues(at[3]) || lead > 0xF4) return invalid;
  const std::uint32_t code = (lead & 0x7U) << 18 | follow(1) << 12 | follow(2) << 6 | follow(3);
  return code < 0x10000 || code > 0x10FFFF ? invalid : Decoded{code, 4};
}

inline bool valid(std::string_view text) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const Decoded character = decode(at, end);
    if (character.bytes == 1 && static_cast<unsigned char>(*at) >= 0x80) return false;
    at += character.bytes;
  }
  return true;
}

// Writes a valid code point and returns where the next one goes.
inline char* encode(std::uint32_t code, char* out) {
  const auto put = [&out](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6);
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12);
    put(0x80U | (code >> 6 & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | code >> 18);
    put(0x80U | (code >> 12 & 0x3FU));
    put(0x80U | (code >> 6 & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
  return out;
}

}  // namespace vizsla::utf8
