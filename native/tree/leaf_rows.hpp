// The last layer's weights by item. Search reads them by chunk and feature; scoring a few scattered items
// that way would look into as many chunks for each feature, and read weights of other items.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/prefetch.hpp"
#include "common/wide_pages.hpp"
#include "tree/chunked_layer.hpp"
#include "tree/query_values.hpp"

namespace vizsla {

// The features of some leaves that a query may have, but for the bias.
struct LeafMatches {
  std::vector<std::uint32_t>
      features;  // their lower 16 bits, and above them those of their places, leaf after leaf, and some room
  std::vector<std::size_t> ends;    // of each leaf
  std::vector<std::uint64_t> sums;  // of the magnitudes before each

  std::span<const std::uint32_t> of(std::size_t leaf) const {
    const std::size_t begin = leaf == 0 ? 0 : ends[leaf - 1];
    return std::span(features).subspan(begin, ends[leaf] - begin);
  }
};

class LeafRows {
 public:
  LeafRows(const ChunkedLayer& layer, std::uint32_t bias) : kind_(layer.kind()), leaves_(layer.nodes() + 1) {
    switch (kind_) {
      case WeightKind::float32:
        fill<float>(layer, bias);
        break;
      case WeightKind::int16:
        fill<std::int16_t>(layer, bias);
        break;
      case WeightKind::int8:
        fill<std::int8_t>(layer, bias);
        break;
    }
  }

  std::size_t nbytes() const {
    return leaves_.size() * sizeof leaves_[0] + lower_.size() * sizeof lower_[0] + rest_.size();
  }
  std::size_t count(std::size_t leaf) const { return leaves_[leaf + 1].begin - leaves_[leaf].begin; }

  VIZSLA_PREFETCHES void prefetch(std::size_t leaf) const {
    prefetch_features(leaf);
    prefetch_lines(rest_.data() + leaves_[leaf].begin * rest_bytes(), std::min(count(leaf) * rest_bytes(), most_ahead));
  }

  // What `margin` reads when it is given the matches.
  VIZSLA_PREFETCHES void prefetch(std::size_t leaf, std::span<const std::uint32_t> matches) const {
    const std::uint8_t* const upper = rest_.data() + leaves_[leaf].begin * rest_bytes();
    const std::uint8_t* const weights = upper + count(leaf) * half;
    const std::size_t weight_bytes = rest_bytes() - half;
    for (const std::uint32_t match : matches) {
      __builtin_prefetch(upper + (match >> 16) * half);
      __builtin_prefetch(weights + (match >> 16) * weight_bytes);
    }
    if (leaves_[leaf].has_bias() != 0) __builtin_prefetch(weights + (count(leaf) - 1) * weight_bytes);
  }

  // What `margins_at_most` reads.
  VIZSLA_PREFETCHES void prefetch_features(std::size_t leaf) const {
    prefetch_lines(lower(leaf), std::min(count(leaf) * half, most_ahead));
  }

  // w·x of a leaf, features in ascending order; `factor` is its chunk's.
  float margin(const QueryValues& query, std::size_t leaf, float factor) const {
    switch (kind_) {
      case WeightKind::float32:
        return sum<float>(query, leaf, factor);
      case WeightKind::int16:
        return sum<std::int16_t>(query, leaf, factor);
      case WeightKind::int8:
        return sum<std::int8_t>(query, leaf, factor);
    }
    return 0.0F;
  }

  // The same of a leaf whose matches are known, which spares the look at all its features.
  float margin(const QueryValues& query, std::size_t leaf, std::span<const std::uint32_t> matches, float factor) const {
    if (count(leaf) > UINT16_MAX) return margin(query, leaf, factor);
    switch (kind_) {
      case WeightKind::float32:
        return sum<float>(query, leaf, matches, factor);
      case WeightKind::int16:
        return sum<std::int16_t>(query, leaf, matches, factor);
      case WeightKind::int8:
        return sum<std::int8_t>(query, leaf, matches, factor);
    }
    return 0.0F;
  }

  // What w·x of some leaves is at most: the bias, and the largest weight for each other feature that query and leaf may
  // share. Most leaves share next to nothing with a query, and are ruled out without a look at their weights.
  void margins_at_most(const QueryValues& query, std::span<const std::uint32_t> leaves, float bias,
                       LeafMatches& matches, std::span<float> margins) const {
    find_likely(query, leaves, matches);
    add_magnitudes(query, matches);
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const Leaf& known = leaves_[leaves[i]];
      const std::uint64_t sum = matches.sums[matches.ends[i]];
      const double shared = query.unit() * static_cast<double>(sum - std::exchange(before, sum));
      const double own = double{bias} * double{known.bias}, most = double{known.largest} * shared;
      // Float sums of n products may exceed the exact sum by a unit of the last place for each.
      margins[i] =
          static_cast<float>(own + most + (std::abs(own) + most) * static_cast<double>(count(leaves[i]) + 8) * 0x1p-23);
    }
  }

 private:
  using RowsOfChunk = std::vector<std::pair<std::uint32_t, Row>>;

  struct Leaf {
    std::size_t begin = 0;  // of its entries among all
    float bias = 0;         // the weight of its last entry, if that is the bias
    float largest = 0;      // of all other weights, by distance from 0

    std::size_t has_bias() const { return bias != 0.0F; }
  };

  // Of all leaves before the next step looks at any: memory answers for several at a time, since nothing is guessed
  // here.
  void find_likely(const QueryValues& query, std::span<const std::uint32_t> leaves, LeafMatches& matches) const {
    std::size_t most = FeatureBloom::beyond;
    for (const std::uint32_t leaf : leaves) most += count(leaf);
    if (matches.features.size() < most) matches.features.resize(most);
    matches.ends.clear();
    std::size_t end = 0;
    for (const std::uint32_t leaf : leaves) {
      end += query.likely().keep(lower(leaf), count(leaf) - leaves_[leaf].has_bias(), matches.features.data() + end);
      matches.ends.push_back(end);
    }
  }

  // One loop for all leaves: it ends once.
  static void add_magnitudes(const QueryValues& query, LeafMatches& matches) {
    const std::size_t count = matches.ends.empty() ? 0 : matches.ends.back();
    matches.sums.resize(count + 1);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      matches.sums[i] = sum;
      sum += query.magnitude(matches.features[i]);
    }
    matches.sums[count] = sum;
  }

  template <class Weight>
  void fill(const ChunkedLayer& layer, std::uint32_t bias) {
    for (std::size_t chunk = 0; chunk < layer.chunks(); ++chunk) {
      layer.for_each_row(chunk, [&](std::uint32_t, const Row& row) {
        for_each_entry<Weight>(layer, chunk, row, [&](std::size_t leaf, std::size_t) { ++leaves_[leaf + 1].begin; });
      });
    }
    for (std::size_t leaf = 0; leaf + 1 < leaves_.size(); ++leaf) leaves_[leaf + 1].begin += leaves_[leaf].begin;
    lower_.resize(leaves_.back().begin * half + FeatureBloom::bytes_beyond);
    rest_.resize(leaves_.back().begin * rest_bytes());
    std::vector<std::size_t> counts(leaves_.size(), 0);
    RowsOfChunk rows;
    for (std::size_t chunk = 0; chunk < layer.chunks(); ++chunk) {
      rows.clear();
      layer.for_each_row(chunk, [&](std::uint32_t feature, const Row& row) { rows.emplace_back(feature, row); });
      std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [feature, row] : rows) put<Weight>(layer, chunk, feature, row, counts);
      note_weights<Weight>(layer, chunk, bias);
    }
  }

  template <class Weight>
  void put(const ChunkedLayer& layer, std::size_t chunk, std::uint32_t feature, const Row& row,
           std::vector<std::size_t>& counts) {
    for_each_entry<Weight>(layer, chunk, row, [&](std::size_t leaf, std::size_t entry) {
      const std::size_t at = counts[leaf]++;
      const std::uint16_t halves[] = {static_cast<std::uint16_t>(feature), static_cast<std::uint16_t>(feature >> 16)};
      std::memcpy(lower_.data() + (leaves_[leaf].begin + at) * half, &halves[0], half);
      std::uint8_t* rest = rest_.data() + leaves_[leaf].begin * rest_bytes();
      std::memcpy(rest + at * half, &halves[1], half);
      std::memcpy(rest + count(leaf) * half + at * sizeof(Weight), row.weights + entry * sizeof(Weight),
                  sizeof(Weight));
    });
  }

  // What `margins_at_most` has to know of a chunk's leaves.
  template <class Weight>
  void note_weights(const ChunkedLayer& layer, std::size_t chunk, std::uint32_t bias) {
    const std::size_t first = layer.first_child(chunk);
    for (std::size_t leaf = first; leaf < first + layer.child_count(chunk); ++leaf) {
      const std::size_t entries = count(leaf);
      const Row row = weights_of(leaf);
      Leaf& known = leaves_[leaf];
      const bool ends_so = entries > 0 && feature_at(leaf, entries - 1) == bias;
      known.bias = ends_so ? layer.factor(chunk) * weight_at<Weight>(row, entries - 1) : 0.0F;
      for (std::size_t entry = 0; entry + known.has_bias() < entries; ++entry) {
        known.largest = std::max(known.largest, std::abs(layer.factor(chunk) * weight_at<Weight>(row, entry)));
      }
    }
  }

  // A damaged file can name children that a chunk does not have: they are left out.
  template <class Weight, class Call>
  static void for_each_entry(const ChunkedLayer& layer, std::size_t chunk, const Row& row, const Call& call) {
    const std::uint8_t* children = row.weights + row.count * sizeof(Weight);
    for (std::size_t e = 0; e < row.count; ++e) {
      if (children[e] < layer.child_count(chunk)) call(layer.first_child(chunk) + children[e], e);
    }
  }

  // First those entries are noted that the query may have, without a branch that could be guessed wrong; then they are
  // added.
  template <class Weight>
  float sum(const QueryValues& query, std::size_t leaf, float factor) const {
    std::size_t noted[FeatureBloom::most];
    const std::uint8_t* features = lower(leaf);
    const Row row = weights_of(leaf);
    float total = 0.0F;
    for (std::size_t first = 0; first < row.count; first += FeatureBloom::most) {
      std::uint64_t likely =
          query.likely().among(features + first * half, std::min(FeatureBloom::most, row.count - first));
      std::size_t notes = 0;
      for (; likely != 0; likely &= likely - 1) {
        noted[notes] = first + static_cast<std::size_t>(std::countr_zero(likely));
        notes += query.guess(half_at(features, noted[notes])) != 0;
      }
      for (std::size_t i = 0; i < notes; ++i) {
        const float value = query.of(feature_at(leaf, noted[i]));
        total += (std::is_same_v<Weight, float> ? value : value * factor) * weight_at<Weight>(row, noted[i]);
      }
    }
    return total;
  }

  template <class Weight>
  float sum(const QueryValues& query, std::size_t leaf, std::span<const std::uint32_t> matches, float factor) const {
    const Row row = weights_of(leaf);
    float total = 0.0F;
    const auto add = [&](std::size_t entry) {
      const float value = query.guess(half_at(lower(leaf), entry)) == 0 ? 0.0F : query.of(feature_at(leaf, entry));
      total += (std::is_same_v<Weight, float> ? value : value * factor) * weight_at<Weight>(row, entry);
    };
    for (const std::uint32_t match : matches) add(match >> 16);
    if (leaves_[leaf].has_bias() != 0) add(row.count - 1);
    return total;
  }

  static std::uint32_t half_at(const std::uint8_t* halves, std::size_t entry) {
    std::uint16_t found;
    std::memcpy(&found, halves + entry * half, half);
    return found;
  }

  std::uint32_t feature_at(std::size_t leaf, std::size_t entry) const {
    return half_at(lower(leaf), entry) | half_at(rest_.data() + leaves_[leaf].begin * rest_bytes(), entry) << 16;
  }

  const std::uint8_t* lower(std::size_t leaf) const { return lower_.data() + leaves_[leaf].begin * half; }

  Row weights_of(std::size_t leaf) const {
    return {rest_.data() + leaves_[leaf].begin * rest_bytes() + count(leaf) * half, count(leaf)};
  }

  // An entry without the lower half of its feature.
  std::size_t rest_bytes() const { return half + ChunkedLayer::entry_bytes(kind_) - 1; }

  static constexpr std::size_t half = sizeof(std::uint16_t);
  static constexpr std::size_t most_ahead = 1024;

  WeightKind kind_;
  std::vector<Leaf> leaves_;  // by position, and one more that begins where the last one ends
  // The lower halves of features, which are read of many leaves, lie close together, and apart from what is read of a
  // few.
  std::vector<std::uint8_t, WidePages<std::uint8_t>> lower_;  // leaf after leaf, ascending features
  std::vector<std::uint8_t, WidePages<std::uint8_t>> rest_;   // leaf after leaf: the upper halves, and the weights
};

}  // namespace vizsla
