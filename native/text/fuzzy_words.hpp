// The words of a vocabulary within one or two edits of a given word, in a few bytes per word.
//
// A word has a signature: a bit for each common letter that it holds, one more where it holds it twice, and bits that
// rarer letters share. An insertion sets one bit at most, a deletion clears one, a substitution does both, and a swap
// changes none. So a word within d edits lacks at most d bits of another's signature, and has at most d more. Words are
// grouped by length and by the first bits; only groups that are near enough are scanned, and only words whose other
// bits are near enough are compared. Nothing is missed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/checks.hpp"
#include "common/clones.hpp"
#include "common/threads.hpp"
#include "text/edit_distance.hpp"
#include "text/string_table.hpp"

namespace vizsla {

// Which bits of a signature a character sets: a function of the most common letters of the vocabulary.
class LetterBits {
 public:
  static constexpr std::size_t grouping = 12;  // bits that words are grouped by, at most: the most common letters
  static constexpr std::size_t letters = 32;   // that have a bit of their own

  explicit LetterBits(std::span<const std::uint32_t> common) {
    require(common.size() <= letters, "there must be at most 32 common letters");
    ascii_.fill(0xFF);
    for (std::size_t rank = 0; rank < common.size(); ++rank) {
      if (common[rank] < ascii_.size()) ascii_[common[rank]] = static_cast<std::uint8_t>(rank);
      others_.push_back({common[rank], static_cast<std::uint8_t>(rank)});
    }
    std::sort(others_.begin(), others_.end());
  }

  std::uint64_t signature(std::span<const std::uint32_t> word) const {
    std::uint64_t once = 0, twice = 0;
    for (const std::uint32_t code : word) {
      const std::uint64_t bit = std::uint64_t{1} << rank(code);
      twice |= once & bit;
      once |= bit;
    }
    // Bits 0 to 31: letters; 32 to 43: those of the grouping letters that occur twice.
    return once | (twice & ((1U << grouping) - 1)) << letters;
  }

 private:
  std::size_t rank(std::uint32_t code) const {
    if (code < ascii_.size()) {
      if (ascii_[code] != 0xFF) return ascii_[code];
    } else {
      const auto found =
          std::lower_bound(others_.begin(), others_.end(), std::pair<std::uint32_t, std::uint8_t>{code, 0});
      if (found != others_.end() && found->first == code) return found->second;
    }
    return grouping + (code * 2654435761U >> 8) % (letters - grouping);  // shared with letters of their own
  }

  std::array<std::uint8_t, 128> ascii_;
  std::vector<std::pair<std::uint32_t, std::uint8_t>> others_;
};

// What is stored: words without those that are too long, by length and group.
struct FuzzyArrays {
  std::vector<std::uint32_t> letters;     // the most common ones, the most common first
  std::vector<std::uint32_t> starts;      // where each group begins, one more than there are groups
  std::vector<std::uint32_t> numbers;     // of the words
  std::vector<std::uint32_t> signatures;  // the bits that a group leaves open
};

struct Neighbor {
  std::uint32_t word;
  std::uint32_t distance;
  auto operator<=>(const Neighbor&) const = default;
};

namespace detail {

// Groups of a vocabulary: none for a few words, up to 2^12 per length for many.
inline std::size_t fuzzy_bits(std::size_t words) {
  return std::min<std::size_t>(LetterBits::grouping, static_cast<std::size_t>(std::bit_width(words / 64)));
}

inline std::uint32_t open_bits(std::uint64_t signature) {
  return static_cast<std::uint32_t>(signature >> LetterBits::grouping);
}

// Appends the places from begin to end whose signatures lack at most `lost` bits of `wanted`, and have at most `more`.
VIZSLA_CLONES inline std::size_t near_places(const std::uint32_t* signatures, std::size_t begin, std::size_t end,
                                             std::uint32_t wanted, int lost, int more, std::uint32_t* out) {
  std::size_t found = 0;
  for (std::size_t place = begin; place < end; ++place) {
    const std::uint32_t own = signatures[place];
    out[found] = static_cast<std::uint32_t>(place);
    found += (std::popcount(wanted & ~own) <= lost) & (std::popcount(own & ~wanted) <= more);
  }
  return found;
}

}  // namespace detail

class FuzzyWords {
 public:
  static constexpr std::size_t most_edits = 2;

  // Views: the strings and arrays must outlive it.
  FuzzyWords(StringTable words, std::span<const std::uint32_t> letters, std::span<const std::uint32_t> starts,
             std::span<const std::uint32_t> numbers, std::span<const std::uint32_t> signatures)
      : words_(words), bits_(letters), starts_(starts), numbers_(numbers), signatures_(signatures) {
    require(numbers.size() <= words.size(), "there must be at most as many places as words");
    require(numbers.size() == signatures.size(), "there must be a signature for each place");
    group_bits_ = detail::fuzzy_bits(words.size());
    require(starts.size() == (CodePoints::most << group_bits_) + 1, "the groups must be as many as the words need");
    require(starts.front() == 0 && starts.back() == numbers.size(), "the groups must cover all places");
    require(std::is_sorted(starts.begin(), starts.end()), "the groups must ascend");
  }

  static FuzzyArrays build(const StringTable& words, const Poll& poll) {
    FuzzyArrays built;
    built.letters = common_letters(words, poll);
    const LetterBits bits(built.letters);
    const std::size_t group_bits = detail::fuzzy_bits(words.size());
    built.starts.assign((CodePoints::most << group_bits) + 1, 0);
    std::vector<std::uint32_t> groups(words.size(), UINT32_MAX);
    std::vector<std::uint64_t> signatures(words.size());
    CodePoints word;
    for (std::size_t number = 0; number < words.size(); ++number) {
      if (poll && number % words_a_look == 0) poll();
      if (!word.read(words[number]) || word.size() == 0) continue;
      signatures[number] = bits.signature(word.span());
      groups[number] = static_cast<std::uint32_t>(group_of(word.size(), signatures[number], group_bits));
      ++built.starts[groups[number] + 1];
    }
    for (std::size_t group = 1; group < built.starts.size(); ++group) built.starts[group] += built.starts[group - 1];
    std::vector<std::uint32_t> next(built.starts.begin(), built.starts.end() - 1);
    built.numbers.resize(built.starts.back());
    built.signatures.resize(built.starts.back());
    for (std::size_t number = 0; number < words.size(); ++number) {
      if (groups[number] == UINT32_MAX) continue;
      const std::uint32_t place = next[groups[number]]++;
      built.numbers[place] = static_cast<std::uint32_t>(number);
      built.signatures[place] = detail::open_bits(signatures[number]);
    }
    return built;
  }

  // The words within `most` edits, the nearest first, then by number; the word itself, too, if it is there.
  std::vector<Neighbor> near(std::string_view text, std::size_t most) const {
    require(most <= most_edits, "there must be at most 2 edits");
    std::vector<Neighbor> found;
    CodePoints word;
    if (!word.read(text) || word.size() == 0) return found;
    std::vector<std::uint32_t> places;
    const std::uint64_t signature = bits_.signature(word.span());
    for (std::size_t length = word.size() > most ? word.size() - most : 1;
         length <= std::min(word.size() + most, CodePoints::most); ++length)
      scan(signature, word.size(), length, most, places);
    compare(word, most, places, found);
    std::sort(found.begin(), found.end(), [](const Neighbor& a, const Neighbor& b) {
      return a.distance != b.distance ? a.distance < b.distance : a.word < b.word;
    });
    return found;
  }

 private:
  static constexpr std::size_t words_a_look = 1 << 16;

  static std::size_t group_of(std::size_t length, std::uint64_t signature, std::size_t group_bits) {
    return ((length - 1) << group_bits) + (signature & ((std::uint64_t{1} << group_bits) - 1));
  }

  static std::vector<std::uint32_t> common_letters(const StringTable& words, const Poll& poll) {
    std::vector<std::uint32_t> holders(0x110000, 0);
    CodePoints word;
    for (std::size_t number = 0; number < words.size(); ++number) {
      if (poll && number % words_a_look == 0) poll();
      if (!word.read(words[number])) continue;
      for (const std::uint32_t code : word.span()) ++holders[code];
    }
    std::vector<std::uint32_t> letters;
    for (std::uint32_t code = 0; code < holders.size(); ++code) {
      if (holders[code] != 0) letters.push_back(code);
    }
    const std::size_t kept = std::min(letters.size(), LetterBits::letters);
    std::partial_sort(
        letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(kept), letters.end(),
        [&](std::uint32_t a, std::uint32_t b) { return holders[a] != holders[b] ? holders[a] > holders[b] : a < b; });
    letters.resize(kept);
    return letters;
  }

  // The sets of at most `most` of the given bits, and how many each has.
  static void subsets(std::uint32_t bits, std::size_t most, std::vector<std::pair<std::uint32_t, int>>& out) {
    out.assign(1, {0, 0});
    for (std::uint32_t rest = bits; rest != 0; rest &= rest - 1) {
      const std::uint32_t bit = rest & (~rest + 1);
      const std::size_t so_far = out.size();
      for (std::size_t i = 0; i < so_far; ++i) {
        if (static_cast<std::size_t>(out[i].second) < most) out.push_back({out[i].first | bit, out[i].second + 1});
      }
    }
  }

  void scan(std::uint64_t signature, std::size_t own, std::size_t length, std::size_t most,
            std::vector<std::uint32_t>& places) const {
    // Each insertion or deletion that the lengths ask for cannot change a bit the other way.
    const std::size_t lost = length > own ? most - (length - own) : most,
                      more = own > length ? most - (own - length) : most;
    const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << group_bits_) - 1);
    const auto key = static_cast<std::uint32_t>(signature) & all;
    const std::uint32_t wanted = detail::open_bits(signature);
    std::vector<std::pair<std::uint32_t, int>> cleared, set;
    subsets(key, lost, cleared);
    subsets(~key & all, more, set);
    const std::uint32_t* const starts = starts_.data() + ((length - 1) << group_bits_);
    for (const auto& [without, fewer] : cleared) {
      for (const auto& [with, added] : set) {
        const std::uint32_t group = (key & ~without) | with;
        const std::size_t begin = starts[group], end = starts[group + 1];
        if (begin == end) continue;
        const std::size_t size = places.size();
        places.resize(size + end - begin);
        places.resize(size + detail::near_places(signatures_.data(), begin, end, wanted, static_cast<int>(lost) - fewer,
                                                 static_cast<int>(more) - added, places.data() + size));
      }
    }
  }

  void compare(const CodePoints& word, std::size_t most, const std::vector<std::uint32_t>& places,
               std::vector<Neighbor>& found) const {
    constexpr std::size_t ahead = 8;
    CodePoints other;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i + ahead < places.size()) __builtin_prefetch(words_[checked(places[i + ahead])].data());
      const std::uint32_t number = checked(places[i]);
      if (!other.read(words_[number])) continue;
      const std::size_t distance = edit_distance(word.span(), other.span(), most);
      if (distance <= most) found.push_back({number, static_cast<std::uint32_t>(distance)});
    }
  }

  std::uint32_t checked(std::uint32_t place) const {
    const std::uint32_t number = numbers_[place];
    require(number < words_.size(), "a place must hold the number of a word");
    return number;
  }

  StringTable words_;
  LetterBits bits_;
  std::span<const std::uint32_t> starts_, numbers_, signatures_;
  std::size_t group_bits_ = 0;
};

}  // namespace vizsla
