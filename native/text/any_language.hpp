// Tokens of any language, without a choice: words where a script has spaces, n-grams of one and two characters where it
// has none, and numbers that hold letters or joiners both whole and in parts.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "text/words.hpp"

namespace vizsla::any_language {

inline constexpr std::uint8_t first_word_byte = 8;  // separators and joiners are less
inline constexpr std::size_t longest_compound = 64;
inline constexpr int most_parts = 8;  // more parts are a hash, not a compound

inline bool digit(char byte) { return static_cast<unsigned char>(byte - '0') < 10; }

// Eight bytes that hold a digit, an underscore, or a byte beyond ASCII.
inline bool odd(std::uint64_t bytes) {
  constexpr std::uint64_t ones = 0x0101010101010101ULL, tops = 0x80 * ones;
  const auto less = [](std::uint64_t x, std::uint64_t bound) { return (x - bound * ones) & ~x & tops; };
  return ((bytes & tops) | less(bytes ^ '0' * ones, 10) | less(bytes ^ '_' * ones, 1)) != 0;
}

// Whether a word may be more than one token; up to 8 bytes are read past its end.
inline bool may_have_parts(std::string_view word) {
  std::uint64_t bytes;
  for (std::size_t left = word.size(); left > 8; left -= 8) {
    std::memcpy(&bytes, word.data() + word.size() - left, sizeof bytes);
    if (odd(bytes)) return true;
  }
  const std::size_t rest = (word.size() - 1) % 8 + 1;
  std::memcpy(&bytes, word.data() + word.size() - rest, sizeof bytes);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * rest);
  return odd((bytes & mask) | (0x6161616161616161ULL & ~mask));
}

// A word of a script with spaces, then its parts: runs of digits and runs of others; underscores only separate.
template <class Emit>
void emit_spaced(std::string_view word, Emit&& emit) {
  emit(word);
  std::array<std::string_view, most_parts> parts;
  int count = 0;
  for (std::size_t at = 0; at < word.size();) {
    if (word[at] == '_') {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < word.size() && word[end] != '_' && digit(word[end]) == digit(word[at])) ++end;
    if (count == most_parts) return;
    parts[static_cast<std::size_t>(count++)] = word.substr(at, end - at);
    at = end;
  }
  if (count == 1 && parts[0].size() == word.size()) return;
  for (int part = 0; part < count; ++part) emit(parts[static_cast<std::size_t>(part)]);
}

// Reads a word of any scripts, character by character. A letter and the marks that follow it are one character.
class Scripts {
 public:
  explicit Scripts(std::string_view word) : end_(word.data() + word.size()) {}

  bool unspaced(const char* at) const { return at < end_ && unicode_.unspaced(utf8::decode(at, end_).code); }

  const char* after_character(const char* at) const {
    at += utf8::decode(at, end_).bytes;
    while (at < end_ && unicode_.mark(utf8::decode(at, end_).code)) at += utf8::decode(at, end_).bytes;
    return at;
  }

  const char* end_of_run(const char* at) const {
    const bool kind = unspaced(at);
    while (at < end_ && unspaced(at) == kind) at = after_character(at);
    return at;
  }

  // Every character, and every two that follow each other: a query of one character finds what it should.
  template <class Emit>
  void emit_unspaced(const char* at, const char* end, Emit&& emit) const {
    while (at < end) {
      const char* const next = after_character(at);
      emit(std::string_view(at, static_cast<std::size_t>(next - at)));
      if (next < end) emit(std::string_view(at, static_cast<std::size_t>(after_character(next) - at)));
      at = next;
    }
  }

 private:
  const char* end_;
  const Unicode& unicode_ = Unicode::get();
};

// All tokens of one word; returns whether it is written in scripts with spaces alone. Few words come here: apart, they
// leave the loop over the others small.
template <class Emit>
[[gnu::noinline]] bool emit_word(std::string_view word, Emit&& emit) {
  const Scripts scripts(word);
  const char* const end = word.data() + word.size();
  bool spaced = true;
  for (const char* at = word.data(); at < end;) {
    const char* const stop = scripts.end_of_run(at);
    if (scripts.unspaced(at)) {
      scripts.emit_unspaced(at, stop, emit);
      spaced = false;
    } else {
      emit_spaced(std::string_view(at, static_cast<std::size_t>(stop - at)), emit);
    }
    at = stop;
  }
  return spaced;
}

// Words that single joiners hold together, such as WH-1000XM4, 3/8 and 2.0.1: one token more, if a digit is among them.
class Compound {
 public:
  bool open() const { return words_ > 0; }

  void add(std::string_view word, bool spaced) {
    if (words_++ == 0) begin_ = word.data();
    end_ = word.data() + word.size();
    spaced_ &= spaced;
  }

  template <class Emit>
  [[gnu::noinline]] void close(Emit&& emit) {
    const auto size = static_cast<std::size_t>(end_ - begin_);
    if (words_ > 1 && spaced_ && size <= longest_compound) emit_whole({begin_, size}, emit);
    *this = {};
  }

 private:
  // A joiner stays between two digits only, or 3/8 would be 38; WH-1000XM4 is written WH1000XM4 as well.
  template <class Emit>
  static void emit_whole(std::string_view joined, Emit&& emit) {
    std::array<char, longest_compound + WordBuffer::padding> whole;
    std::size_t size = 0;
    bool digits = false;
    for (std::size_t at = 0; at < joined.size(); ++at) {
      const auto byte = static_cast<unsigned char>(joined[at]);
      digits |= digit(joined[at]);
      if (byte >= first_word_byte) {
        whole[size++] = joined[at];
      } else if (digit(joined[at - 1]) && digit(joined[at + 1])) {
        whole[size++] = static_cast<char>(ascii::first_joiner + byte - 1);
      }
    }
    std::memset(whole.data() + size, 0, WordBuffer::padding);
    if (digits) emit(std::string_view(whole.data(), size));
  }

  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  int words_ = 0;
  bool spaced_ = true;
};

// Calls emit(std::string_view) for every token; the view holds until emit returns.
template <class Emit>
void for_each_token(std::string_view text, bool lower, WordBuffer& buffer, Emit&& emit) {
  const std::string_view rewritten = buffer.rewrite<true>(text, lower);
  if (!buffer.odd()) return for_each_run<first_word_byte>(rewritten, emit);
  const char* at = rewritten.data();
  Compound compound;
  for (const char* const end = at + rewritten.size(); at < end;) {
    const std::size_t size = bytes_before_less<first_word_byte>(at);
    const std::string_view word(at, size);
    at += size + 1;
    if (size == 0) continue;
    bool spaced = true;
    if (may_have_parts(word)) {
      spaced = emit_word(word, emit);
    } else {
      emit(word);
    }
    const bool joined = at[-1] != 0 && static_cast<unsigned char>(*at) >= first_word_byte;
    if (joined || compound.open()) compound.add(word, spaced);
    if (!joined && compound.open()) compound.close(emit);
  }
}

}  // namespace vizsla::any_language
