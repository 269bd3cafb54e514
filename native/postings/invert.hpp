// Rows of (term, weight) become inverted lists by a counting sort: linear time, each list's items ascending.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/checks.hpp"
#include "common/threads.hpp"

namespace vizsla {

struct Rows {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> terms;
  std::span<const float> weights;

  std::size_t size() const { return offsets.size() - 1; }

  void check(std::size_t term_count) const {
    require(!offsets.empty() && offsets.front() == 0, "row offsets must begin with 0");
    require(size() <= INT32_MAX, "an index holds fewer than 2^31 items");
    for (std::size_t i = 1; i < offsets.size(); ++i)
      require(offsets[i - 1] <= offsets[i], "row offsets must not decrease");
    require(terms.size() == weights.size() && static_cast<std::uint64_t>(offsets.back()) == terms.size(),
            "the last row offset must equal the number of entries");
    for (std::int32_t term : terms)
      require(term >= 0 && static_cast<std::size_t>(term) < term_count, "terms must be below the number of terms");
    for (float weight : weights)
      require(weight >= 0 && std::isfinite(weight), "weights must be finite and not negative");
  }

  // Calls `visit(item, term, weight)` for every entry, and `poll` now and then.
  template <class Visit>
  void each(const Visit& visit, const Poll& poll) const {
    constexpr std::size_t rows_a_turn = 4096;
    for (std::size_t row = 0; row < size(); ++row) {
      if (poll && row % rows_a_turn == 0) poll();
      const auto end = static_cast<std::size_t>(offsets[row + 1]);
      for (auto i = static_cast<std::size_t>(offsets[row]); i < end; ++i)
        visit(row, static_cast<std::size_t>(terms[i]), weights[i]);
    }
  }
};

// An entry's impact. Without gains it is the weight; with them it is gain * weight / (weight + norm), the shape that
// all BM25 variants share: a gain for each term, a norm for each item.
struct Saturation {
  std::span<const double> gains, norms;

  void check(std::size_t term_count, std::size_t item_count) const {
    if (gains.empty() && norms.empty()) return;
    require(gains.size() == term_count && norms.size() == item_count,
            "there must be a gain for each term and a norm for each item");
    for (double gain : gains) require(gain >= 0 && gain < double{FLT_MAX}, "gains must be finite and not negative");
    for (double norm : norms) require(norm >= 0 && std::isfinite(norm), "norms must be finite and not negative");
  }

  bool none(std::size_t term, float weight) const { return weight == 0 || (!gains.empty() && gains[term] == 0); }

  float operator()(std::size_t item, std::size_t term, float weight) const {
    if (gains.empty()) return weight;
    const auto impact = static_cast<float>(gains[term] * double{weight} / (double{weight} + norms[item]));
    return std::max(impact, FLT_TRUE_MIN);  // small is not absent
  }
};

// Counts first, so that the postings are written straight to their places; entries without impact are left out.
inline std::vector<std::int64_t> posting_offsets(const Rows& rows, std::size_t term_count, const Saturation& impact,
                                                 const Poll& poll = {}) {
  std::vector<std::int64_t> offsets(term_count + 1, 0);
  rows.each(
      [&](std::size_t, std::size_t term, float weight) { offsets[term + 1] += impact.none(term, weight) ? 0 : 1; },
      poll);
  for (std::size_t term = 0; term < term_count; ++term) offsets[term + 1] += offsets[term];
  return offsets;
}

inline void fill_postings(const Rows& rows, const Saturation& impact, std::span<const std::int64_t> offsets,
                          std::int32_t* items, float* impacts, const Poll& poll = {}) {
  std::vector<std::int64_t> next(offsets.begin(), offsets.end());
  rows.each(
      [&](std::size_t item, std::size_t term, float weight) {
        if (impact.none(term, weight)) return;
        const std::int64_t place = next[term]++;
        const auto number = static_cast<std::int32_t>(item);
        require(place == offsets[term] || items[place - 1] != number, "a row must name each term once");
        items[place] = number;
        impacts[place] = impact(item, term, weight);
      },
      poll);
}

}  // namespace vizsla
