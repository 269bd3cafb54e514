// English words without their inflections: plurals, -ed, -ing, and the e and y that these change. These are the first and
// the last step of Porter's second algorithm, without those that take words apart (general, generous): they find other senses.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace vizsla::english {

inline constexpr std::array<std::pair<std::string_view, std::string_view>, 20> exceptions{{
    {"andes", "andes"},     {"atlas", "atlas"},     {"bias", "bias"},       {"canning", "canning"}, {"cosmos", "cosmos"},
    {"dying", "die"},       {"earring", "earring"}, {"exceed", "exceed"},   {"herring", "herring"}, {"howe", "howe"},
    {"inning", "inning"},   {"lying", "lie"},       {"news", "news"},       {"outing", "outing"},   {"proceed", "proceed"},
    {"skies", "sky"},       {"skis", "ski"},        {"sky", "sky"},         {"succeed", "succeed"}, {"tying", "tie"},
}};

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

  void rewrite() {
    if (word_.size() <= 2 || excepted()) return;
    mark_y();
    first_ = after_syllable(word_, 0);
    second_ = after_syllable(word_, first_);
    drop_s();
    if (!excepted()) {
      drop_ed_or_ing();
      turn_y();
      drop_e();
    }
    for (char& letter : word_) letter = letter == 'Y' ? 'y' : letter;
  }

 private:
  bool ends(std::string_view end) const { return std::string_view(word_).ends_with(end); }
  void cut(std::size_t letters) { word_.resize(word_.size() - letters); }

  bool excepted() {
    constexpr std::size_t longest = 7;
    if (word_.size() > longest) return false;
    for (const auto& [from, to] : exceptions) {
      if (word_ != from) continue;
      word_.assign(to);
      return true;
    }
    return false;
  }

  void mark_y() {
    for (std::size_t at = 0; at < word_.size(); ++at) {
      if (word_[at] == 'y' && (at == 0 || vowel(word_[at - 1]))) word_[at] = 'Y';
    }
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
    mend();
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
    return size >= 2 && word_[size - 1] == word_[size - 2] && std::string_view("bdfgmnprt").find(word_[size - 1]) != std::string_view::npos;
  }

  void turn_y() {
    if (word_.size() > 2 && word_.back() == 'y' && !vowel(word_[word_.size() - 2])) word_.back() = 'i';
  }

  void drop_e() {
    if (!ends("e")) return;
    const std::size_t rest = word_.size() - 1;
    if (rest >= second_ || (rest >= first_ && !ends_in_short_syllable(std::string_view(word_).substr(0, rest)))) cut(1);
  }

  std::string& word_;
  std::size_t first_ = 0, second_ = 0;  // after the first syllable, and after the second
};

inline void uninflect(std::string& word) { Word(word).rewrite(); }

}  // namespace vizsla::english
