// Turns texts into weighted rows over finished n-gram vocabularies: the native half of every query.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/checks.hpp"
#include "common/growing_array.hpp"
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
  bool sublinear;       // 1 + log(count) instead of the count
  bool equal_kinds;     // each kind's part of the row gets the same length before the row gets length 1
};

// What one thread needs besides the result.
struct NgramScratch {
  MarkedText text;
  std::vector<std::int32_t> found;
  NgramRows rows;
};

class NgramLookup {
 public:
  NgramLookup(const NgramRule& rule, const NgramNames& unigrams, const NgramNames& bigrams, const NgramNames& trigrams,
              std::span<const float> weights)
      : rule_(rule), unigrams_(unigrams), bigrams_(bigrams), trigrams_(trigrams), weights_(weights), ascii_(-1) {
    constexpr std::size_t most = INT32_MAX;
    for (const NgramNames* kind : {&unigrams, &bigrams, &trigrams}) require(kind->bins <= most && kind->names.size() <= most, "there must be fewer than 2^31 features");
    const std::size_t features = unigrams.features() + bigrams.features() + trigrams.features();
    require(features <= most, "there must be fewer than 2^31 features");
    require(weights.size() == features, "there must be a weight for each feature");
    for (float weight : weights) require(std::isfinite(weight) && weight >= 0, "weights must be finite and not negative");
    first_bigram_ = static_cast<std::int32_t>(unigrams.features());
    first_trigram_ = static_cast<std::int32_t>(unigrams.features() + bigrams.features());
    fill_ascii();
    for (std::size_t i = 1; i < tf_.size(); ++i) tf_[i] = tf(i);
  }

  void add(std::string_view text, NgramScratch& scratch) const {
    scratch.text.read(text, rule_.lower);
    // One trigram a byte, and at most as many unigrams and bigrams as bytes.
    if (scratch.found.size() < 2 * scratch.text.bytes()) scratch.found.resize(2 * scratch.text.bytes());
    std::int32_t* const begin = scratch.found.data();
    std::int32_t* const unigrams_end = find_unigrams(scratch.text, begin);
    std::int32_t* const bigrams_end = find_bigrams(scratch.text, unigrams_end);
    std::int32_t* const end = find_trigrams(scratch.text, bigrams_end);
    weigh({{{begin, unigrams_end}, {unigrams_end, bigrams_end}, {bigrams_end, end}}}, scratch.rows);
  }

 private:
  using Found = std::span<std::int32_t>;

  void fill_ascii() {
    if (trigrams_.bins > 0) {
      ascii_.set_all([this](std::string_view trigram) { return first_trigram_ + unseen(trigrams_, trigrams_.bins > 1 ? StringTable::hash(trigram) : 0); });
    }
    for (std::size_t number = 0; number < trigrams_.names.size(); ++number) {
      ascii_.set(trigrams_.names[number], first_trigram_ + static_cast<std::int32_t>(number));
    }
  }

  static std::int32_t unseen(const NgramNames& kind, std::uint64_t hash) {
    return static_cast<std::int32_t>(kind.names.size() + hash % kind.bins);
  }

  // Writes the n-gram's feature, if it has one, and returns where the next one goes.
  static std::int32_t* find(const NgramNames& kind, std::int32_t first, std::string_view ngram, std::int32_t* out) {
    const std::uint64_t hash = StringTable::hash(ngram);
    const std::int64_t number = kind.names.find(ngram, hash);
    if (number >= 0) {
      *out++ = first + static_cast<std::int32_t>(number);
    } else if (kind.bins > 0) {
      *out++ = first + unseen(kind, hash);
    }
    return out;
  }

  std::int32_t* find_unigrams(const MarkedText& text, std::int32_t* out) const {
    if (unigrams_.features() == 0) return out;
    for (std::size_t word = 0; word < text.words(); ++word) out = find(unigrams_, 0, text.unigram(word), out);
    return out;
  }

  std::int32_t* find_bigrams(const MarkedText& text, std::int32_t* out) const {
    if (bigrams_.features() == 0) return out;
    for (std::size_t word = 0; word + 1 < text.words(); ++word) out = find(bigrams_, first_bigram_, text.bigram(word), out);
    return out;
  }

  std::int32_t* find_trigrams(const MarkedText& text, std::int32_t* out) const {
    if (trigrams_.features() == 0) return out;
    for (std::size_t word = 0; word < text.words(); ++word) {
      const std::string_view marked = text.marked(word);
      if (std::int32_t* const end = ascii_.find(marked, out)) {
        out = end;
      } else {
        for_each_trigram(marked, [&](std::string_view trigram) { out = find(trigrams_, first_trigram_, trigram, out); });
      }
    }
    return out;
  }

  // Kinds lie one after another in the numbering, so that each is sorted by itself.
  void weigh(const std::array<Found, 3>& kinds, NgramRows& rows) const {
    const std::size_t begin = rows.features.size();
    double squares = 0;
    for (const Found& found : kinds) {
      const std::size_t from = rows.features.size();
      double part = weigh_kind(found, rows);
      if (rule_.equal_kinds && part > 0) {
        scale(rows, from, part);
        part = 1;
      }
      squares += part;
    }
    if (squares > 0) scale(rows, begin, squares);
    rows.offsets.push_back(static_cast<std::int64_t>(rows.features.size()));
  }

  // Appends a feature once with its count × weight; returns the sum of their squares.
  double weigh_kind(Found found, NgramRows& rows) const {
    std::sort(found.begin(), found.end());
    std::int32_t* features = rows.features.room(found.size());
    float* values = rows.values.room(found.size());
    std::size_t size = 0;
    double squares = 0;
    for (std::size_t i = 0; i < found.size();) {
      const std::int32_t feature = found[i];
      std::size_t count = 1;
      while (++i < found.size() && found[i] == feature) ++count;
      const float weight = weights_[static_cast<std::size_t>(feature)];
      const auto value = static_cast<float>((count < tf_.size() ? tf_[count] : tf(count)) * static_cast<double>(weight));
      features[size] = feature;
      values[size] = value;
      size += value > 0;  // a bin that met nothing in training
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    rows.features.take(size);
    rows.values.take(size);
    return squares;
  }

  static void scale(NgramRows& rows, std::size_t begin, double squares) {
    const double factor = 1 / std::sqrt(squares);
    for (std::size_t i = begin; i < rows.values.size(); ++i) rows.values[i] = static_cast<float>(rows.values[i] * factor);
  }

  double tf(std::size_t count) const {
    return rule_.sublinear ? 1 + std::log(static_cast<double>(count)) : static_cast<double>(count);
  }

  NgramRule rule_;
  NgramNames unigrams_, bigrams_, trigrams_;
  std::span<const float> weights_;
  std::int32_t first_bigram_ = 0, first_trigram_ = 0;
  AsciiTrigrams ascii_;
  std::array<double, 64> tf_{};
};

}  // namespace vizsla
