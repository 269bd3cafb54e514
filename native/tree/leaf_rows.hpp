// The last layer's weights by item. Search wants them by chunk and feature; who scores a few items here and there would look
// into as many chunks for each feature, and read of each row what belongs to other items.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/wide_pages.hpp"
#include "tree/chunked_layer.hpp"
#include "tree/query_values.hpp"

namespace vizsla {

class LeafRows {
 public:
  explicit LeafRows(const ChunkedLayer& layer) : kind_(layer.kind()), offsets_(layer.nodes() + 1, 0) {
    switch (kind_) {
      case WeightKind::float32: fill<float>(layer); break;
      case WeightKind::int16: fill<std::int16_t>(layer); break;
      case WeightKind::int8: fill<std::int8_t>(layer); break;
    }
  }

  std::size_t nbytes() const { return offsets_.size() * sizeof offsets_[0] + rows_.size(); }
  std::size_t count(std::size_t leaf) const { return offsets_[leaf + 1] - offsets_[leaf]; }

  // Only the features' lower halves: a query has few of them, and all else is read for those alone.
  void prefetch_features(std::size_t leaf) const {
    const std::size_t bytes = std::min(count(leaf) * sizeof(std::uint16_t), most_ahead);
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(rows_.data() + offsets_[leaf] * entry_bytes() + at);
  }

  void prefetch(std::size_t leaf) const {
    const std::size_t bytes = std::min(count(leaf) * entry_bytes(), most_ahead);
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(rows_.data() + offsets_[leaf] * entry_bytes() + at);
  }

  // w·x of a leaf, features in ascending order; `factor` is its chunk's.
  float margin(const QueryValues& query, std::size_t leaf, float factor) const {
    switch (kind_) {
      case WeightKind::float32: return sum<float>(query, leaf, factor);
      case WeightKind::int16: return sum<std::int16_t>(query, leaf, factor);
      case WeightKind::int8: return sum<std::int8_t>(query, leaf, factor);
    }
    return 0.0F;
  }

 private:
  using RowsOfChunk = std::vector<std::pair<std::uint32_t, Row>>;

  template <class Weight>
  void fill(const ChunkedLayer& layer) {
    for (std::size_t chunk = 0; chunk < layer.chunks(); ++chunk) {
      layer.for_each_row(chunk, [&](std::uint32_t, const Row& row) {
        for_each_entry<Weight>(layer, chunk, row, [&](std::size_t leaf, std::size_t) { ++offsets_[leaf + 1]; });
      });
    }
    for (std::size_t leaf = 0; leaf + 1 < offsets_.size(); ++leaf) offsets_[leaf + 1] += offsets_[leaf];
    rows_.resize(offsets_.back() * entry_bytes());
    std::vector<std::size_t> ends(offsets_.begin(), offsets_.end() - 1);
    RowsOfChunk rows;
    for (std::size_t chunk = 0; chunk < layer.chunks(); ++chunk) {
      rows.clear();
      layer.for_each_row(chunk, [&](std::uint32_t feature, const Row& row) { rows.emplace_back(feature, row); });
      std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [feature, row] : rows) put<Weight>(layer, chunk, feature, row, ends);
    }
  }

  template <class Weight>
  void put(const ChunkedLayer& layer, std::size_t chunk, std::uint32_t feature, const Row& row,
           std::vector<std::size_t>& ends) {
    for_each_entry<Weight>(layer, chunk, row, [&](std::size_t leaf, std::size_t entry) {
      std::uint8_t* features = rows_.data() + offsets_[leaf] * entry_bytes();
      const std::size_t at = ends[leaf]++ - offsets_[leaf];
      const std::uint16_t halves[] = {static_cast<std::uint16_t>(feature), static_cast<std::uint16_t>(feature >> 16)};
      std::memcpy(features + at * half, &halves[0], half);
      std::memcpy(features + (count(leaf) + at) * half, &halves[1], half);
      std::uint8_t* weights = features + count(leaf) * sizeof feature;
      std::memcpy(weights + at * sizeof(Weight), row.weights + entry * sizeof(Weight), sizeof(Weight));
    });
  }

  // A damaged file can name children that a chunk does not have: they are left out.
  template <class Weight, class Call>
  static void for_each_entry(const ChunkedLayer& layer, std::size_t chunk, const Row& row, const Call& call) {
    const std::uint8_t* children = row.weights + row.count * sizeof(Weight);
    for (std::size_t e = 0; e < row.count; ++e) {
      if (children[e] < layer.child_count(chunk)) call(layer.first_child(chunk) + children[e], e);
    }
  }

  // First those entries are noted that the query may have, without a branch that could be guessed wrong; then they are added.
  template <class Weight>
  float sum(const QueryValues& query, std::size_t leaf, float factor) const {
    std::size_t noted[LikelyFeatures::most];
    const std::uint8_t* lower = rows_.data() + offsets_[leaf] * entry_bytes();
    const std::uint8_t* upper = lower + count(leaf) * half;
    const Row row{upper + count(leaf) * half, count(leaf)};
    float total = 0.0F;
    for (std::size_t first = 0; first < row.count; first += LikelyFeatures::most) {
      std::uint64_t likely = query.likely().among(lower + first * half, std::min(LikelyFeatures::most, row.count - first));
      std::size_t notes = 0;
      for (; likely != 0; likely &= likely - 1) {
        noted[notes] = first + static_cast<std::size_t>(std::countr_zero(likely));
        notes += query.guess(half_at(lower, noted[notes])) != 0;
      }
      for (std::size_t i = 0; i < notes; ++i) {
        const float value = query.of(half_at(lower, noted[i]) | half_at(upper, noted[i]) << 16);
        total += (std::is_same_v<Weight, float> ? value : value * factor) * weight_at<Weight>(row, noted[i]);
      }
    }
    return total;
  }

  static std::uint32_t half_at(const std::uint8_t* halves, std::size_t entry) {
    std::uint16_t found;
    std::memcpy(&found, halves + entry * half, half);
    return found;
  }

  std::size_t entry_bytes() const { return sizeof(std::uint32_t) + ChunkedLayer::entry_bytes(kind_) - 1; }

  static constexpr std::size_t half = sizeof(std::uint16_t);
  static constexpr std::size_t most_ahead = 1024;

  WeightKind kind_;
  std::vector<std::size_t> offsets_;  // of each leaf position, in entries
  std::vector<std::uint8_t, WidePages<std::uint8_t>> rows_;
  // Leaf after leaf: the lower halves of its features, which ascend, the upper halves, and the weights.
};

}  // namespace vizsla
