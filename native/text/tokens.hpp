// Tokens: whole words, the character n-grams of words, or what suits each script.
#pragma once

#include <stdexcept>
#include <string_view>

#include "text/any_language.hpp"
#include "text/words.hpp"

namespace vizsla {

// How a text becomes tokens: n-gram lengths in characters; 0 and 0 stand for whole words.
struct TokenRule {
  static constexpr int longest = 64;

  bool lower = true;
  int min_chars = 0;
  int max_chars = 0;
  bool any_language = false;

  bool words() const { return max_chars == 0; }

  void check() const {
    if (any_language && max_chars != 0) throw std::invalid_argument("n-gram lengths must be 0 for any language");
    if (min_chars == 0 && max_chars == 0) return;
    if (min_chars < 1 || max_chars < min_chars || max_chars > longest) {
      throw std::invalid_argument("n-gram lengths must satisfy 1 <= min_chars <= max_chars <= 64");
    }
  }
};

// Calls emit for every n-gram of a word, by where it begins, then by length. A word that is shorter than the shortest
// n-gram is emitted whole: otherwise it could not be found at all.
template <class Emit>
void for_each_ngram(std::string_view word, const TokenRule& rule, Emit&& emit) {
  const char* const end = word.data() + word.size();
  const auto next = [end](const char* at) { return at + utf8::decode(at, end).bytes; };
  bool any = false;
  for (const char* begin = word.data(); begin < end; begin = next(begin)) {
    const char* at = begin;
    for (int chars = 1; chars <= rule.max_chars && at < end; ++chars) {
      at = next(at);
      if (chars < rule.min_chars) continue;
      emit(std::string_view(begin, static_cast<std::size_t>(at - begin)));
      any = true;
    }
  }
  if (!any) emit(word);
}

template <class Emit>
void for_each_token(std::string_view text, const TokenRule& rule, WordBuffer& buffer, Emit&& emit) {
  if (rule.any_language) {
    any_language::for_each_token(text, rule.lower, buffer, emit);
  } else if (rule.words()) {
    for_each_word(text, rule.lower, buffer, emit);
  } else {
    for_each_word(text, rule.lower, buffer, [&](std::string_view word) { for_each_ngram(word, rule, emit); });
  }
}

}  // namespace vizsla
