// Endings that make one English word of another (general, generally), as Porter's second algorithm lists them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace vizsla::english {

// What an ending asks of the letters before it.
enum class Before : std::uint8_t { anything, l, s_or_t, valid_li };

struct Suffix {
  std::string_view end, instead;
  Before before = Before::anything;
};

// Each list has longer endings before the shorter ones that they end in: the first that fits is the longest.
inline constexpr Suffix second_step[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"ization", "ize"}, {"ation", "ate"},         {"fulness", "ful"},
    {"ousness", "ous"}, {"iveness", "ive"}, {"biliti", "ble"},  {"iviti", "ive"},         {"aliti", "al"},
    {"alism", "al"},    {"lessli", "less"}, {"entli", "ent"},   {"ousli", "ous"},         {"fulli", "ful"},
    {"alli", "al"},     {"abli", "able"},   {"bli", "ble"},     {"enci", "ence"},         {"anci", "ance"},
    {"izer", "ize"},    {"ator", "ate"},    {"ogist", "og"},    {"ogi", "og", Before::l}, {"li", "", Before::valid_li},
};
inline constexpr Suffix third_step[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"alize", "al"}, {"icate", "ic"},
    {"iciti", "ic"},    {"ical", "ic"},     {"ful", ""},     {"ness", ""},
};
inline constexpr Suffix fourth_step[] = {
    {"ement", ""}, {"ment", ""}, {"ent", ""}, {"ance", ""}, {"ence", ""}, {"able", ""},
    {"ible", ""},  {"ant", ""},  {"ism", ""}, {"ate", ""},  {"iti", ""},  {"ous", ""},
    {"ive", ""},   {"ize", ""},  {"al", ""},  {"er", ""},   {"ic", ""},   {"ion", "", Before::s_or_t},
};

inline bool fits(Before before, std::string_view part) {
  constexpr std::string_view valid = "cdeghkmnrt";
  if (before == Before::anything) return true;
  if (part.empty()) return false;
  const char last = part.back();
  if (before == Before::l) return last == 'l';
  return before == Before::s_or_t ? last == 's' || last == 't' : valid.find(last) != std::string_view::npos;
}

// The longest of the endings that the word has; none: nullptr.
inline const Suffix* longest(std::span<const Suffix> endings, std::string_view word) {
  if (word.empty()) return nullptr;
  for (const Suffix& suffix : endings) {
    if (suffix.end.back() == word.back() && word.ends_with(suffix.end)) return &suffix;
  }
  return nullptr;
}

// The pairs of letters that an ending leaves at the end of a stem, which may have lost an e: for each last letter a bit
// for every letter before it.
inline constexpr auto last_pairs = [] {
  std::array<std::uint32_t, 26> pairs{};
  const auto note = [&](std::string_view end) {
    pairs[static_cast<std::size_t>(end.back() - 'a')] |= 1U << (end[end.size() - 2] - 'a');
  };
  const auto note_all = [&](std::span<const Suffix> endings) {
    for (const Suffix& suffix : endings) {
      note(suffix.end);
      if (suffix.end.back() == 'e') note(suffix.end.substr(0, suffix.end.size() - 1));
    }
  };
  note_all(second_step);
  note_all(third_step);
  note_all(fourth_step);
  for (const std::string_view end : {"iv", "ive", "ll"}) note(end);  // -ative, fulfill
  return pairs;
}();

inline bool may_be_derived(std::string_view stem) {
  if (stem.size() < 3) return false;
  const auto last = static_cast<unsigned char>(stem.back() - 'a'),
             before = static_cast<unsigned char>(stem[stem.size() - 2] - 'a');
  return last < 26 && before < 26 && (last_pairs[last] >> before & 1U) != 0;
}

}  // namespace vizsla::english
