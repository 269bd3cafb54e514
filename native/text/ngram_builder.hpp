// Reads texts one after another and counts their word unigrams, word bigrams and character trigrams.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "text/marked_text.hpp"
#include "text/ngram_counter.hpp"

namespace vizsla {

inline constexpr std::size_t ngram_kinds = 3;  // unigrams, bigrams, trigrams: the order of features

class NgramBuilder {
 public:
  // `most` n-grams of each kind are counted at once; none of a kind whose `most` is 0.
  NgramBuilder(bool lower, const std::array<std::size_t, ngram_kinds>& most, std::size_t bins) : lower_(lower) {
    for (std::size_t kind = 0; kind < ngram_kinds; ++kind) {
      if (most[kind] > 0) counters_[kind].emplace(most[kind], bins);
    }
  }

  std::size_t texts() const { return texts_; }

  void add(std::string_view text) {
    if (texts_ >= INT32_MAX) throw std::length_error("there must be fewer than 2^31 texts");
    marked_.read(text, lower_);
    for (std::size_t word = 0; word < marked_.words(); ++word) add_word(word);
    for (auto& counter : counters_) {
      if (counter) counter->make_room();
    }
    ++texts_;
  }

  ChosenNgrams choose(std::size_t kind, std::size_t budget, std::size_t least) {
    require(kind < ngram_kinds && counters_[kind], "n-grams of this kind were not counted");
    return counters_[kind]->choose(budget, least);
  }

 private:
  void add_word(std::size_t word) {
    auto& [unigrams, bigrams, trigrams] = counters_;
    if (unigrams) unigrams->count(marked_.unigram(word), texts_);
    if (bigrams && word + 1 < marked_.words()) bigrams->count(marked_.bigram(word), texts_);
    if (trigrams) {
      NgramCounter& counter = *trigrams;  // Clang before its 16th version cannot capture a structured binding
      for_each_trigram(marked_.marked(word), [&](std::string_view trigram) { counter.count(trigram, texts_); });
    }
  }

  bool lower_;
  std::array<std::optional<NgramCounter>, ngram_kinds> counters_;
  std::uint32_t texts_ = 0;
  MarkedText marked_;
};

}  // namespace vizsla
