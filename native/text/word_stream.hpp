// Reads texts and keeps their words in order: which rows hold a word, and where a phrase stands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "common/checks.hpp"
#include "common/growing_array.hpp"
#include "text/tokens.hpp"
#include "text/vocabulary.hpp"

namespace vizsla {

class WordStream {
 public:
  explicit WordStream(const TokenRule& rule) : rule_(rule) {
    rule.check();
    starts_.push_back(0);
  }

  std::size_t rows() const { return starts_.size() - 1; }

  void add(std::string_view text) {
    if (text.size() > INT32_MAX) throw std::length_error("a text must be shorter than 2^31 bytes");
    if (rows() >= INT32_MAX) throw std::length_error("there must be fewer than 2^31 texts");
    for_each_token(text, rule_, buffer_, [&](std::string_view token) {
      words_.push_back(static_cast<std::int32_t>(vocabulary_.at(token).number()));
    });
    starts_.push_back(static_cast<std::int64_t>(words_.size()));
  }

  // The words by their first occurrence.
  std::pair<std::vector<std::uint8_t>, std::vector<std::int64_t>> forms() const {
    const auto& bytes = vocabulary_.bytes();
    const auto& offsets = vocabulary_.offsets();
    return {std::vector<std::uint8_t>(bytes.data(), bytes.data() + bytes.size()),
            std::vector<std::int64_t>(offsets.data(), offsets.data() + offsets.size())};
  }

  // Where each row begins, and the words of all rows, one after another.
  std::pair<GrowingArray<std::int64_t>, GrowingArray<std::int32_t>> take() {
    return {std::move(starts_), std::move(words_)};
  }

 private:
  TokenRule rule_;
  Vocabulary vocabulary_;
  WordBuffer buffer_;
  GrowingArray<std::int64_t> starts_;
  GrowingArray<std::int32_t> words_;
};

// Rows of words, one after another, as a file or a caller hands them over.
struct WordRows {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> words;

  std::size_t size() const { return starts.size() - 1; }

  std::span<const std::int32_t> row(std::size_t number) const {
    const std::int64_t begin = starts[number], end = starts[number + 1];
    require(0 <= begin && begin <= end && static_cast<std::uint64_t>(end) <= words.size(),
            "rows must lie within the words");
    return words.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  // For each of `forms` words the rows that hold it, ascending, each once.
  std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> lists(std::size_t forms) const {
    require(!starts.empty() && size() <= INT32_MAX, "there must be fewer than 2^31 rows");
    std::vector<std::int64_t> offsets(forms + 1, 0);
    std::vector<std::int32_t> last(forms, -1);
    each(last, [&](std::size_t word, std::int32_t) { ++offsets[word + 1]; });
    for (std::size_t word = 0; word < forms; ++word) offsets[word + 1] += offsets[word];
    std::vector<std::int32_t> items(static_cast<std::size_t>(offsets.back()));
    std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
    std::fill(last.begin(), last.end(), -1);
    each(last, [&](std::size_t word, std::int32_t row) { items[static_cast<std::size_t>(next[word]++)] = row; });
    return {std::move(offsets), std::move(items)};
  }

  // Those of some rows that hold these words one after another.
  std::vector<std::int32_t> with_phrase(std::span<const std::int32_t> among,
                                        std::span<const std::int32_t> phrase) const {
    require(!starts.empty() && !phrase.empty(), "a phrase must have words");
    std::vector<std::int32_t> found;
    for (const std::int32_t number : among) {
      require(number >= 0 && static_cast<std::size_t>(number) < size(), "rows must be below their number");
      const auto words_of_row = row(static_cast<std::size_t>(number));
      if (std::search(words_of_row.begin(), words_of_row.end(), phrase.begin(), phrase.end()) != words_of_row.end())
        found.push_back(number);
    }
    return found;
  }

 private:
  template <class Visit>
  void each(std::vector<std::int32_t>& last, const Visit& visit) const {
    for (std::size_t number = 0; number < size(); ++number) {
      for (const std::int32_t word : row(number)) {
        require(word >= 0 && static_cast<std::size_t>(word) < last.size(), "words must be below their number");
        std::int32_t& before = last[static_cast<std::size_t>(word)];
        if (before == static_cast<std::int32_t>(number)) continue;
        before = static_cast<std::int32_t>(number);
        visit(static_cast<std::size_t>(word), before);
      }
    }
  }
};

}  // namespace vizsla
