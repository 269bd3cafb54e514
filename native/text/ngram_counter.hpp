// In how many texts the n-grams of one kind occur, in bounded memory, and the choice of the most frequent ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/checks.hpp"
#include "text/string_table.hpp"
#include "text/vocabulary.hpp"

namespace vizsla {

// N-grams by falling frequency, and the frequencies of all others, summed in bins by their hash.
struct ChosenNgrams {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> texts;
  std::vector<std::int64_t> unseen;
};

class NgramCounter {
 public:
  NgramCounter(std::size_t most, std::size_t bins) : most_(most), unseen_(bins, 0) {
    require(most > 0, "an n-gram counter needs room");
  }

  // The n-gram must be followed by WordBuffer::padding readable bytes.
  void count(std::string_view ngram, std::uint32_t text) {
    Vocabulary::Entry& entry = table_.at(ngram);
    if (entry.row == text) return;
    entry.row = text;
    ++entry.place;
  }

  // Called between texts. When there are too many n-grams, the rarest go, so that at most half of the room is taken.
  void make_room() {
    if (table_.size() <= most_) return;
    const std::vector<Count> counts = counted();
    std::vector<std::uint32_t> sizes(counts.size());
    std::transform(counts.begin(), counts.end(), sizes.begin(), [](const Count& count) { return count.texts; });
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(most_ / 2);
    std::nth_element(sizes.begin(), middle, sizes.end(), std::greater<>());
    Vocabulary kept;
    std::string padded;
    for (std::uint32_t number = 0; number < counts.size(); ++number) {
      if (counts[number].texts <= *middle) {
        leave_out(number, counts[number].texts);
        continue;
      }
      padded.assign(table_.text(number)).append(WordBuffer::padding, ' ');
      Vocabulary::Entry& entry = kept.at(std::string_view(padded).substr(0, padded.size() - WordBuffer::padding));
      entry.row = counts[number].last;
      entry.place = counts[number].texts;
    }
    table_ = std::move(kept);
  }

  // The `budget` most frequent of those that occur in at least `least` texts; of equals, the one that was met first.
  // Ends the counting.
  ChosenNgrams choose(std::size_t budget, std::size_t least) {
    const std::vector<Count> counts = counted();
    std::vector<std::uint32_t> ranking(counts.size());
    for (std::uint32_t i = 0; i < ranking.size(); ++i) ranking[i] = i;
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return counts[a].texts > counts[b].texts; };
    std::stable_sort(ranking.begin(), ranking.end(), before);
    ChosenNgrams chosen;
    for (std::uint32_t number : ranking) {
      if (chosen.texts.size() < budget && counts[number].texts >= least) {
        keep(number, counts[number].texts, chosen);
      } else {
        leave_out(number, counts[number].texts);
      }
    }
    chosen.unseen = std::move(unseen_);
    table_ = Vocabulary();
    return chosen;
  }

 private:
  struct Count {
    std::uint32_t texts;
    std::uint32_t last;
  };

  std::vector<Count> counted() const {
    std::vector<Count> counts(table_.size());
    table_.for_each([&](const Vocabulary::Entry& entry) { counts[entry.number()] = {entry.place, entry.row}; });
    return counts;
  }

  void keep(std::uint32_t number, std::uint32_t texts, ChosenNgrams& chosen) const {
    const std::string_view ngram = table_.text(number);
    chosen.bytes.insert(chosen.bytes.end(), ngram.begin(), ngram.end());
    chosen.offsets.push_back(static_cast<std::int64_t>(chosen.bytes.size()));
    chosen.texts.push_back(texts);
  }

  void leave_out(std::uint32_t number, std::uint32_t texts) {
    if (!unseen_.empty()) unseen_[StringTable::hash(table_.text(number)) % unseen_.size()] += texts;
  }

  std::size_t most_;
  Vocabulary table_;
  std::vector<std::int64_t> unseen_;
};

}  // namespace vizsla
