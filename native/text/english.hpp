// English words without their inflections: plurals, -ed, -ing, and the e and y that these change. These are the first
// and the last step of Porter's second algorithm, without those that take words apart (general, generous): they find
// other senses. With these, a word becomes its root, the stem that Snowball has.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "text/english_suffixes.hpp"

namespace vizsla::english {

// A word of at most seven letters as a number, 0 for a longer one: such are quickly compared.
constexpr std::uint64_t packed(std::string_view word) {
  std::uint64_t letters = 0;
  if (word.size() > 7) return 0;
  for (const char letter : word) letters = letters << 8 | static_cast<unsigned char>(letter);
  return letters;
}

struct Exception {
  constexpr Exception(std::string_view from, std::string_view to) : key(packed(from)), instead(to) {}
  std::uint64_t key;
  std::string_view instead;
};

inline constexpr std::array<Exception, 22> exceptions{{
    {"andes", "andes"},     {"atlas", "atlas"},   {"bias", "bias"},       {"canning", "canning"},
    {"cosmos", "cosmos"},   {"dying", "die"},     {"earring", "earring"}, {"exceed", "exceed"},
    {"herring", "herring"}, {"howe", "howe"},     {"inning", "inning"},   {"lying", "lie"},
    {"news", "news"},       {"outing", "outing"}, {"proceed", "proceed"}, {"skies", "sky"},
    {"skis", "ski"},        {"sky", "sky"},       {"succeed", "succeed"}, {"tying", "tie"},
    {"evening", "evening"}, {"vying", "vie"},
}};

// What only the root of a word knows besides: adverbs that keep their ending, and beginnings that no ending reaches
// into.
inline constexpr std::array<Exception, 6> adverbs{{
    {"early", "earli"},
    {"gently", "gentl"},
    {"idly", "idl"},
    {"only", "onli"},
    {"singly", "singl"},
    {"ugly", "ugli"},
}};
inline constexpr std::array<std::string_view, 8> beginnings{"arsen", "commun", "emerg", "gener",
                                                            "inter", "later",  "organ", "univers"};

inline bool vowel(char letter) {
  constexpr std::uint32_t set = 1U << 0 | 1U << 4 | 1U << 8 | 1U << 14 | 1U << 20 | 1U << 24;  // a e i o u y
  const auto place = static_cast<unsigned char>(letter - 'a');
  return place < 26 && (set >> place & 1U) != 0;
}

inline bool any_vowel(std::string_view part) {
  for (const char letter : part) {
    if (vowel(letter)) return true;
  }
  return false;
}

// Where a syllable that begins at `from` has ended: after the first other letter that follows a vowel.
inline std::size_t after_syllable(std::string_view word, std::size_t from) {
  for (std::size_t at = from + 1; at < word.size(); ++at) {
    if (vowel(word[at - 1]) && !vowel(word[at])) return at + 1;
  }
  return word.size();
}

// A vowel between two others, of which the last is not w, x or Y; or a vowel that begins the word, and another.
inline bool ends_in_short_syllable(std::string_view part) {
  const std::size_t size = part.size();
  if (size < 2 || vowel(part[size - 1]) || !vowel(part[size - 2])) return false;
  if (size == 2) return true;
  const char last = part[size - 1];
  return !vowel(part[size - 3]) && last != 'w' && last != 'x' && last != 'Y';
}

// Rewrites one word, which is in lower case; a Y stands for one that is no vowel meanwhile.
class Word {
 public:
  explicit Word(std::string& letters) : word_(letters) {}

  void uninflect() {
    if (word_.size() <= 2 || excepted(exceptions)) return;
    mark_y();
    divide(after_syllable(word_, 0));
    if (inflections_gone()) drop_e();
    unmark_y();
  }

  void take_root() {
    if (word_.size() <= 2 || excepted(exceptions) || excepted(adverbs)) return;
    mark_y();
    divide(after_beginning());
    drop_adverb();
    if (inflections_gone()) {
      replace(second_step, first_);
      drop_third();
      replace(fourth_step, second_);
      drop_e_or_l();
    }
    unmark_y();
  }

 private:
  bool ends(std::string_view end) const { return std::string_view(word_).ends_with(end); }
  void cut(std::size_t letters) { word_.resize(word_.size() - letters); }

  bool excepted(std::span<const Exception> list) {
    const std::uint64_t key = packed(word_);
    if (key == 0) return false;
    for (const Exception& exception : list) {
      if (key != exception.key) continue;
      word_.assign(exception.instead);
      return true;
    }
    return false;
  }

  void divide(std::size_t first) {
    first_ = first;
    second_ = after_syllable(word_, first_);
  }

  // Returns whether the word may lose more.
  bool inflections_gone() {
    const std::size_t size = word_.size();
    drop_s();
    if (word_.size() != size && excepted(exceptions)) return false;
    drop_ed_or_ing();
    turn_y();
    return true;
  }

  void mark_y() {
    for (std::size_t at = 0; at < word_.size(); ++at) {
      if (word_[at] == 'y' && (at == 0 || vowel(word_[at - 1]))) word_[at] = 'Y';
    }
  }

  void unmark_y() {
    for (char& letter : word_) letter = letter == 'Y' ? 'y' : letter;
  }

  std::size_t after_beginning() const {
    for (const std::string_view beginning : beginnings) {
      if (word_.starts_with(beginning)) return beginning.size();
    }
    return after_syllable(word_, 0);
  }

  void drop_s() {
    if (ends("sses")) return cut(2);
    if (ends("ies") || ends("ied")) return cut(word_.size() > 4 ? 2 : 1);
    if (!ends("s") || ends("us") || ends("ss")) return;
    if (any_vowel(std::string_view(word_).substr(0, word_.size() - 2))) cut(1);
  }

  void drop_ed_or_ing() {
    if (ends("eed")) {
      if (word_.size() - 3 >= first_) cut(1);
      return;
    }
    const std::size_t letters = ends("ed") ? 2 : ends("ing") ? 3 : 0;
    if (letters == 0 || !any_vowel(std::string_view(word_).substr(0, word_.size() - letters))) return;
    cut(letters);
    if (letters == 3 && !adverb_ && a_letter_and_y()) {
      word_.back() = 'i';  // tying, vying: tie, vie
      word_.push_back('e');
    } else {
      mend();
    }
  }

  // Whether a consonant and a y are all that is left; a letter outside of ASCII has several bytes.
  bool a_letter_and_y() const {
    if (word_.size() < 2 || word_.back() != 'y' || vowel(word_[0])) return false;
    const auto further = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; };
    return std::all_of(word_.begin() + 1, word_.end() - 1, further);
  }

  // What stood before -ed or -ing: its e again, or one of two equal letters.
  void mend() {
    if (ends("at") || ends("bl") || ends("iz")) {
      word_.push_back('e');
    } else if (doubled()) {
      cut(1);
    } else if (first_ >= word_.size() && ends_in_short_syllable(word_)) {
      word_.push_back('e');
    }
  }

  bool doubled() const {
    const std::size_t size = word_.size();
    if (size < 2 || word_[size - 1] != word_[size - 2] ||
        std::string_view("bdfgmnprt").find(word_[size - 1]) == std::string_view::npos)
      return false;
    return size > 3 || std::string_view("aeo").find(word_[0]) == std::string_view::npos;  // add, err, odd
  }

  void turn_y() {
    if (word_.size() > 2 && word_.back() == 'y' && !vowel(word_[word_.size() - 2])) word_.back() = 'i';
  }

  void drop_e() {
    if (!ends("e")) return;
    const std::size_t rest = word_.size() - 1;
    if (rest >= second_ || (rest >= first_ && !ends_in_short_syllable(std::string_view(word_).substr(0, rest)))) cut(1);
  }

  // -edly and -ingly go as -ed and -ing do.
  void drop_adverb() {
    if (!ends("edly") && !ends("ingly")) return;
    const std::size_t letters = ends("edly") ? 4 : 5;
    adverb_ = ends("eedly") || any_vowel(std::string_view(word_).substr(0, word_.size() - letters));
    if (adverb_) cut(2);
  }

  void replace(std::span<const Suffix> endings, std::size_t region) {
    const Suffix* const suffix = longest(endings, word_);
    if (suffix == nullptr) return;
    const std::size_t rest = word_.size() - suffix->end.size();
    if (rest < region || !fits(suffix->before, std::string_view(word_).substr(0, rest))) return;
    word_.resize(rest);
    word_.append(suffix->instead);
  }

  void drop_third() {
    if (!ends("ative")) return replace(third_step, first_);
    if (word_.size() - 5 >= second_) cut(5);
  }

  // One ending goes: the e of gazelle, or the second l of fulfill.
  void drop_e_or_l() {
    if (!ends("ll")) return drop_e();
    if (word_.size() - 1 >= second_) cut(1);
  }

  std::string& word_;
  std::size_t first_ = 0, second_ = 0;  // after the first syllable, and after the second
  bool adverb_ = false;                 // it has lost -ly
};

inline void uninflect(std::string& word) { Word(word).uninflect(); }

// What a word is made of: its stem without the endings that make other words. Most stems have none, which their last
// two letters tell.
inline void take_root(std::string_view word, std::string_view stem, std::string& root) {
  const bool derived = may_be_derived(stem);
  root.assign(derived ? word : stem);
  if (derived) Word(root).take_root();
}

}  // namespace vizsla::english
