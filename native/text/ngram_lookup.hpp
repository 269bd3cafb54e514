// Turns texts into weighted rows over finished n-gram vocabularies: the native half of every query.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/checks.hpp"
#include "common/count_sorted.hpp"
#include "common/growing_array.hpp"
#include "common/prefetch.hpp"
#include "text/ascii_trigrams.hpp"
#include "text/marked_text.hpp"
#include "text/string_table.hpp"

namespace vizsla {

struct NgramRows {
  GrowingArray<std::int64_t> offsets;  // where each row ends; the first row begins at 0
  GrowingArray<std::int32_t> features;
  GrowingArray<float> values;

  void clear() {
    offsets.clear();
    features.clear();
    values.clear();
  }
};

// The n-grams of one kind: the known ones, then the bins of all others.
struct NgramNames {
  StringTable names;
  std::size_t bins;

  std::size_t features() const { return names.size() + bins; }
};

struct NgramRule {
  bool lower;
  bool sublinear;  // 1 + log(count) instead of the count
  bool by_kind;    // each kind's part of the row gets the length of its share before the row gets length 1
  std::array<double, 3> shares;  // of the kinds; only where `by_kind`
};

// What one thread needs besides the result.
struct NgramScratch {
  MarkedText text;
  std::vector<std::int32_t> found;
  CountScratch count;
  NgramRows rows;
  std::vector<std::uint64_t> entries;  // of a row that is renumbered
};

class NgramLookup {
 public:
  // With `columns` the rows name a feature by its column: a vocabulary that has grown keeps the numbers that it had.
  NgramLookup(const NgramRule& rule, const NgramNames& unigrams, const NgramNames& bigrams, const NgramNames& trigrams,
              std::span<const float> weights, std::span<const std::int32_t> columns)
      : rule_(rule),
        unigrams_(unigrams),
        bigrams_(bigrams),
        trigrams_(trigrams),
        weights_(weights),
        columns_(columns),
        ascii_(-1) {
    constexpr std::size_t most = INT32_MAX;
    const double* share = rule.shares.data();
    for (const NgramNames* kind : {&unigrams, &bigrams, &trigrams}) {
      require(kind->bins <= most && kind->names.size() <= most, "there must be fewer than 2^31 features");
      const bool used = *share >= 1e-3 && *share <= 1;
      require(used || (*share == 0 && kind->features() == 0),
              "shares must be between 0.001 and 1, or 0 for a kind without features");
      ++share;
    }
    const std::size_t features = unigrams.features() + bigrams.features() + trigrams.features();
    require(features <= most, "there must be fewer than 2^31 features");
    require(weights.size() == features, "there must be a weight for each feature");
    // An idf is below 23; larger ones could overflow when they are squared. NaN fails too.
    for (float weight : weights) require(weight >= 0 && weight <= 1e6F, "weights must be between 0 and a million");
    check_columns();
    firsts_[1] = static_cast<std::int32_t>(unigrams.features());
    firsts_[2] = static_cast<std::int32_t>(unigrams.features() + bigrams.features());
    firsts_[3] = static_cast<std::int32_t>(features);
    fill_ascii();
    for (std::size_t i = 1; i < tf_.size(); ++i) tf_[i] = tf(i);
  }

  void add(std::string_view text, NgramScratch& scratch) const {
    scratch.text.read(text, rule_.lower);
    const std::size_t words = scratch.text.words();
    // A trigram begins at every byte but the last two of a word between its marks.
    const std::size_t wanted = 2 * words + scratch.text.bytes();
    if (scratch.found.size() < wanted) scratch.found.resize(wanted);
    std::int32_t* const begin = scratch.found.data();
    Ends ends{begin, begin + words, begin + 2 * words};
    for (std::size_t word = 0; word < words; word += words_together) {
      find(scratch.text, word, std::min(word + words_together, words), ends);
    }
    weigh({{{begin, ends.unigrams}, {begin + words, ends.bigrams}, {begin + 2 * words, ends.trigrams}}}, scratch);
  }

 private:
  using Found = std::span<const std::int32_t>;

  static constexpr std::size_t words_together = 16;  // look-ups under way at once: about what a core can wait for

  // Where the next feature of each kind goes.
  struct Ends {
    std::int32_t* unigrams;
    std::int32_t* bigrams;
    std::int32_t* trigrams;
  };

  void check_columns() const {
    if (columns_.empty()) return;
    require(columns_.size() == weights_.size(), "there must be a column for each feature");
    std::vector<bool> taken(columns_.size(), false);
    for (std::int32_t column : columns_) {
      const auto number = static_cast<std::size_t>(column);
      require(column >= 0 && number < taken.size() && !taken[number], "every column must be given once");
      taken[number] = true;
    }
  }

  void fill_ascii() {
    if (trigrams_.bins > 0) {
      const auto hash = [&](std::string_view trigram) { return trigrams_.bins > 1 ? StringTable::hash(trigram) : 0; };
      ascii_.set_all([&](std::string_view trigram) { return firsts_[2] + unseen(trigrams_, hash(trigram)); });
    }
    for (std::size_t number = 0; number < trigrams_.names.size(); ++number) {
      ascii_.set(trigrams_.names[number], firsts_[2] + static_cast<std::int32_t>(number));
    }
  }

  static std::int32_t unseen(const NgramNames& kind, std::uint64_t hash) {
    return static_cast<std::int32_t>(kind.names.size() + hash % kind.bins);
  }

  // Word n-grams of one kind on their way through the vocabulary.
  struct Probes {
    struct Probe {
      std::string_view ngram;
      std::uint64_t hash;
    };

    explicit Probes(const NgramNames& names) : kind(names) {}

    void start(std::string_view ngram) {
      const std::uint64_t hash = StringTable::hash(ngram);
      kind.names.prefetch_slot(hash);
      probes[size++] = {ngram, hash};
    }

    VIZSLA_PREFETCHES void prefetch_offsets() const {
      for (std::size_t i = 0; i < size; ++i) kind.names.prefetch_offset(probes[i].hash);
    }

    VIZSLA_PREFETCHES void prefetch_bytes() const {
      for (std::size_t i = 0; i < size; ++i) kind.names.prefetch_bytes(probes[i].hash);
    }

    std::int32_t* finish(std::int32_t first, std::int32_t* out) const {
      for (std::size_t i = 0; i < size; ++i) out = find_one(kind, first, probes[i].ngram, probes[i].hash, out);
      return out;
    }

    const NgramNames& kind;
    std::array<Probe, words_together> probes;
    std::size_t size = 0;
  };

  // Large vocabularies lie in main memory: the words' look-ups wait for it together, and the trigrams fill the time.
  void find(const MarkedText& text, std::size_t first, std::size_t last, Ends& ends) const {
    Probes unigrams(unigrams_), bigrams(bigrams_);
    for (std::size_t word = first; word < last && unigrams_.features() > 0; ++word) unigrams.start(text.unigram(word));
    const std::size_t last_bigram = bigrams_.features() > 0 ? std::min(last, text.words() - 1) : 0;
    for (std::size_t word = first; word < last_bigram; ++word) bigrams.start(text.bigram(word));
    for (std::size_t word = first; word < last && trigrams_.features() > 0; ++word) {
      ends.trigrams = find_trigrams(text.marked(word), ends.trigrams);
    }
    unigrams.prefetch_offsets();
    bigrams.prefetch_offsets();
    unigrams.prefetch_bytes();
    bigrams.prefetch_bytes();
    ends.unigrams = unigrams.finish(firsts_[0], ends.unigrams);
    ends.bigrams = bigrams.finish(firsts_[1], ends.bigrams);
  }

  // Writes the n-gram's feature, if it has one, and returns where the next one goes.
  static std::int32_t* find_one(const NgramNames& kind, std::int32_t first, std::string_view ngram, std::uint64_t hash,
                                std::int32_t* out) {
    const std::int64_t number = kind.names.find(ngram, hash);
    if (number >= 0) {
      *out++ = first + static_cast<std::int32_t>(number);
    } else if (kind.bins > 0) {
      *out++ = first + unseen(kind, hash);
    }
    return out;
  }

  std::int32_t* find_trigrams(std::string_view marked, std::int32_t* out) const {
    if (std::int32_t* const end = ascii_.find(marked, out)) return end;
    for_each_trigram(marked, [&](std::string_view trigram) {
      out = find_one(trigrams_, firsts_[2], trigram, StringTable::hash(trigram), out);
    });
    return out;
  }

  // Kinds lie one after another in the numbering, so that each is sorted by itself.
  void weigh(const std::array<Found, 3>& kinds, NgramScratch& scratch) const {
    NgramRows& rows = scratch.rows;
    const std::size_t begin = rows.features.size();
    double squares = 0;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const std::size_t from = rows.features.size();
      double part = weigh_kind(kinds[kind], kind, scratch);
      if (rule_.by_kind && part > 0) {
        const double share = rule_.shares[kind];
        scale(rows, from, share / std::sqrt(part));
        part = share * share;
      }
      squares += part;
    }
    if (squares > 0) scale(rows, begin, 1 / std::sqrt(squares));
    if (!columns_.empty()) renumber(rows, begin, scratch.entries);
    rows.offsets.push_back(static_cast<std::int64_t>(rows.features.size()));
  }

  // Appends a feature once with its count × weight; returns the sum of their squares.
  double weigh_kind(Found found, std::size_t kind, NgramScratch& scratch) const {
    NgramRows& rows = scratch.rows;
    std::int32_t* features = rows.features.room(found.size());
    float* values = rows.values.room(found.size());
    std::size_t size = 0;
    double squares = 0;
    const std::int32_t first = firsts_[kind];
    const auto bound = static_cast<std::uint32_t>(firsts_[kind + 1] - first);
    count_sorted(found, first, bound, scratch.count, [&](std::int32_t feature, std::size_t count) {
      const double weight = weights_[static_cast<std::size_t>(feature)];
      const auto value = static_cast<float>((count < tf_.size() ? tf_[count] : tf(count)) * weight);
      features[size] = feature;
      values[size] = value;
      size += value > 0;  // not so for a bin that met nothing in training
      squares += static_cast<double>(value) * static_cast<double>(value);
    });
    rows.features.take(size);
    rows.values.take(size);
    return squares;
  }

  // Columns must ascend, as features do; values are not negative, so that their bits are as good as any others.
  void renumber(NgramRows& rows, std::size_t begin, std::vector<std::uint64_t>& entries) const {
    entries.clear();
    for (std::size_t i = begin; i < rows.features.size(); ++i) {
      const auto column = static_cast<std::uint64_t>(columns_[static_cast<std::size_t>(rows.features[i])]);
      entries.push_back(column << 32 | std::bit_cast<std::uint32_t>(rows.values[i]));
    }
    if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      rows.features[begin + i] = static_cast<std::int32_t>(entries[i] >> 32);
      rows.values[begin + i] = std::bit_cast<float>(static_cast<std::uint32_t>(entries[i]));
    }
  }

  static void scale(NgramRows& rows, std::size_t begin, double factor) {
    for (std::size_t i = begin; i < rows.values.size(); ++i) {
      rows.values[i] = static_cast<float>(rows.values[i] * factor);
    }
  }

  double tf(std::size_t count) const {
    return rule_.sublinear ? 1 + std::log(static_cast<double>(count)) : static_cast<double>(count);
  }

  NgramRule rule_;
  NgramNames unigrams_, bigrams_, trigrams_;
  std::span<const float> weights_;
  std::span<const std::int32_t> columns_;
  std::array<std::int32_t, 4> firsts_{};  // each kind's first feature, and the end
  AsciiTrigrams ascii_;
  std::array<double, 64> tf_{};
};

}  // namespace vizsla
