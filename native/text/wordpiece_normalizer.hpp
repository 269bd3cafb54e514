// What BERT's tokenizers do to a text before they cut it: control characters go, accents and capitals too if wished,
// and punctuation and ideographs become words of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "text/utf8.hpp"
#include "text/wordpiece_decompositions.hpp"
#include "text/wordpiece_ranges.hpp"
#include "text/words.hpp"

namespace vizsla {

struct WordPieceRule {
  bool lower = true;
  bool strip_accents = true;
  bool split_ideographs = true;

  std::size_t number() const {
    return std::size_t{lower} + 2 * std::size_t{strip_accents} + 4 * std::size_t{split_ideographs};
  }
};

// The generated ranges spread out for one look-up a character.
class WordPieceNormalizer {
 public:
  static constexpr std::size_t padding = WordBuffer::padding;

  // One table a rule, made when it is first needed.
  static std::shared_ptr<const WordPieceNormalizer> get(const WordPieceRule& rule) {
    static std::mutex lock;
    static std::array<std::shared_ptr<const WordPieceNormalizer>, 8> tables;
    const std::lock_guard guard(lock);
    auto& table = tables[rule.number()];
    if (!table) table.reset(new WordPieceNormalizer(rule));
    return table;
  }

  // Words as they will be looked up, with zero bytes between them, in `bytes`, which grows as needed; `padding` bytes
  // can be read after the end.
  std::string_view rewrite(std::string_view text, std::vector<char>& bytes) const {
    const std::size_t room = most_growth * text.size() + 64 + padding;
    if (bytes.size() < room) bytes.resize(room);
    char* out = bytes.data();
    const char* at = text.data();
    const char* const end = at + text.size();
    Marks marks;
    while (at < end) {
      if (static_cast<unsigned char>(*at) >= 0x80) {
        const utf8::Decoded character = utf8::decode(at, end);
        out = put(character.code, out, marks);
        at += character.bytes;
      } else if (!marks.empty() && ascii_[static_cast<unsigned char>(*at)].bytes == 0) {
        ++at;  // nothing stands between the marks
      } else {
        out = marks.flush(out);
        for (; at < end && static_cast<unsigned char>(*at) < 0x80; ++at) {
          const Ascii& one = ascii_[static_cast<unsigned char>(*at)];
          std::memcpy(out, one.text, 4);
          out += one.bytes;
        }
      }
    }
    out = marks.flush(out);
    std::memset(out, 0, padding);
    return {bytes.data(), static_cast<std::size_t>(out - bytes.data())};
  }

 private:
  enum Kind : std::uint32_t { word, space, alone, removed, starter, several, syllable, mark };

  static constexpr std::uint32_t flat = 0x30000;  // beyond there are ideographs, and what is removed
  static constexpr std::size_t most_growth = 4;

  // What an ASCII character becomes, so that one store serves all.
  struct Ascii {
    char text[4] = {0, 0, 0, 0};
    std::uint8_t bytes = 0;
  };

  // Marks that stay when accents go; Unicode's normal form sorts each run of them by class.
  class Marks {
   public:
    bool empty() const { return kept_.empty(); }
    void add(std::uint32_t number, std::uint32_t code) { kept_.push_back({number, code}); }
    char* flush(char* out) {
      if (kept_.empty()) return out;
      std::stable_sort(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [number, code] : kept_) out = utf8::encode(code, out);
      kept_.clear();
      return out;
    }

   private:
    std::vector<std::pair<std::uint32_t, std::uint32_t>> kept_;
  };

  explicit WordPieceNormalizer(const WordPieceRule& rule)
      : rule_(rule), parts_(std::begin(wordpiece_ranges::several), std::end(wordpiece_ranges::several)) {
    // The one character whose lower case is two: an i and a dot above.
    parts_.push_back({0x130, {'i', 0x307, 0, 0}});
    fill();
  }

  static std::uint32_t action(Kind kind, std::uint32_t value) { return kind << 24 | value; }

  char* put(std::uint32_t code, char* out, Marks& marks) const {
    const std::uint32_t found = code < flat ? actions_[code] : slow_action(code);
    const std::uint32_t value = found & 0xFFFFFFU;
    const auto kind = static_cast<Kind>(found >> 24);
    if (kind == removed) return out;
    if (kind == mark) {
      marks.add(class_of(value), value);
      return out;
    }
    out = marks.flush(out);
    switch (kind) {
      case word:
        return utf8::encode(value, out);
      case space:
        *out++ = 0;
        return out;
      case alone:
        return put_alone(value, out);
      case several:
        return put_parts(parts_[value], out, marks);
      case syllable:
        return put_syllable(value, out);
      default:
        return out;
    }
  }

  static char* put_alone(std::uint32_t code, char* out) {
    *out++ = 0;
    out = utf8::encode(code, out);
    *out++ = 0;
    return out;
  }

  char* put_parts(const wordpiece_ranges::Parts& parts, char* out, Marks& marks) const {
    for (const std::uint32_t part : parts.parts) {
      if (part == 0) break;
      if (const std::uint32_t number = class_of(part)) {
        marks.add(number, part);
      } else {
        out = put_simple(part, marks.flush(out));
      }
    }
    return out;
  }

  // A part of a decomposition, which has none itself.
  char* put_simple(std::uint32_t code, char* out) const {
    if (in(wordpiece_ranges::punctuation, code)) return put_alone(code, out);
    return utf8::encode(rule_.lower ? lower(code) : code, out);
  }

  // Hangul: a leading consonant, a vowel, and perhaps another consonant.
  static char* put_syllable(std::uint32_t code, char* out) {
    constexpr std::uint32_t vowels = 21, tails = 28;
    const std::uint32_t index = code - 0xAC00;
    out = utf8::encode(0x1100 + index / (vowels * tails), out);
    out = utf8::encode(0x1161 + index / tails % vowels, out);
    return index % tails == 0 ? out : utf8::encode(0x11A7 + index % tails, out);
  }

  template <class Ranges>
  static bool in(const Ranges& ranges, std::uint32_t code) {
    const auto* after = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                         [](std::uint32_t c, const auto& range) { return c < range.first; });
    return after != std::begin(ranges) && code <= std::prev(after)->last;
  }

  static std::uint32_t class_of(std::uint32_t code) {
    for (const auto& range : wordpiece_ranges::classes)
      if (code >= range.first && code <= range.last) return range.number;
    return 0;
  }

  static std::uint32_t lower(std::uint32_t code) {
    const auto* after = std::upper_bound(std::begin(wordpiece_ranges::lower), std::end(wordpiece_ranges::lower), code,
                                         [](std::uint32_t c, const auto& run) { return c < run.first; });
    if (after == std::begin(wordpiece_ranges::lower)) return code;
    const auto& run = *std::prev(after);
    if (code > run.last || (code - run.first) % run.step != 0) return code;
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(code) + run.distance);
  }

  // The entry of a sorted table for a character, or null.
  template <class Table>
  static auto entry(const Table& table, std::uint32_t code) -> decltype(std::begin(table)) {
    const auto found = std::lower_bound(std::begin(table), std::end(table), code,
                                        [](const auto& one, std::uint32_t c) { return one.code < c; });
    return found != std::end(table) && found->code == code ? found : nullptr;
  }

  static std::uint32_t base(std::uint32_t code) {
    const auto* found = entry(wordpiece_ranges::bases, code);
    return found == nullptr ? code : found->base;
  }

  // The steps in their order: cleaning, ideographs, accents, capitals, punctuation.
  std::uint32_t slow_action(std::uint32_t code) const {
    using namespace wordpiece_ranges;
    if (in(wordpiece_ranges::removed, code)) return action(Kind::removed, 0);
    if (in(spaces, code)) return action(Kind::space, 0);
    const bool ideograph = rule_.split_ideographs && in(ideographs, code);
    if (rule_.strip_accents) {
      if (code >= 0xAC00 && code < 0xD7A4) return action(Kind::syllable, code);
      if (in(marks, code)) return action(in(starters, code) ? Kind::starter : Kind::removed, 0);
      if (class_of(code) != 0) return action(Kind::mark, code);
      if (const auto* found = entry(wordpiece_ranges::several, code))
        return action(Kind::several, static_cast<std::uint32_t>(found - std::begin(wordpiece_ranges::several)));
      code = base(code);
      if (in(spaces, code)) return action(Kind::space, 0);
    } else if (code == 0x130 && rule_.lower) {
      return action(Kind::several, static_cast<std::uint32_t>(parts_.size() - 1));
    }
    if (rule_.lower) code = lower(code);
    return action(ideograph || in(punctuation, code) ? Kind::alone : Kind::word, code);
  }

  void fill() {
    actions_.resize(flat);
    for (std::uint32_t code = 0; code < flat; ++code) actions_[code] = slow_action(code);
    for (std::uint32_t code = 0; code < 0x80; ++code) {
      Marks none;
      char text[16] = {};
      const char* const after = put(code, text, none);
      ascii_[code].bytes = static_cast<std::uint8_t>(after - text);
      std::memcpy(ascii_[code].text, text, 4);
    }
  }

  WordPieceRule rule_;
  std::vector<wordpiece_ranges::Parts> parts_;
  std::vector<std::uint32_t> actions_;
  std::array<Ascii, 128> ascii_;
};

}  // namespace vizsla
