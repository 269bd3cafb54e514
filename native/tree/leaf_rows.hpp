// The last layer's weights by item. Search wants them by chunk and feature; who scores a few items here and there would look
// into as many chunks for each feature, and read of each row what belongs to other items.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

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

  std::size_t nbytes() const { return offsets_.size() * sizeof offsets_[0] + features_.size() * sizeof features_[0] + weights_.size(); }
  std::size_t count(std::size_t leaf) const { return offsets_[leaf + 1] - offsets_[leaf]; }

  void prefetch(std::size_t leaf) const {
    const auto* first = reinterpret_cast<const char*>(features_.data() + offsets_[leaf]);
    for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(first + 64 * line);
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
    RowsOfChunk rows;
    for (std::size_t chunk = 0; chunk < layer.chunks(); ++chunk) {
      layer.for_each_row(chunk, [&](std::uint32_t, const Row& row) { for_each_entry<Weight>(layer, chunk, row, [&](std::size_t leaf, std::size_t) { ++offsets_[leaf + 1]; }); });
    }
    for (std::size_t leaf = 0; leaf + 1 < offsets_.size(); ++leaf) offsets_[leaf + 1] += offsets_[leaf];
    features_.resize(offsets_.back());
    weights_.resize(offsets_.back() * sizeof(Weight));
    std::vector<std::size_t> ends(offsets_.begin(), offsets_.end() - 1);
    for (std::size_t chunk = 0; chunk < layer.chunks(); ++chunk) {
      rows.clear();
      layer.for_each_row(chunk, [&](std::uint32_t feature, const Row& row) { rows.emplace_back(feature, row); });
      std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [feature, row] : rows) put<Weight>(layer, chunk, feature, row, ends);
    }
  }

  template <class Weight>
  void put(const ChunkedLayer& layer, std::size_t chunk, std::uint32_t feature, const Row& row, std::vector<std::size_t>& ends) {
    for_each_entry<Weight>(layer, chunk, row, [&](std::size_t leaf, std::size_t entry) {
      features_[ends[leaf]] = feature;
      std::memcpy(weights_.data() + ends[leaf]++ * sizeof(Weight), row.weights + entry * sizeof(Weight), sizeof(Weight));
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

  template <class Weight>
  float sum(const QueryValues& query, std::size_t leaf, float factor) const {
    float total = 0.0F;
    const Row row{weights_.data() + offsets_[leaf] * sizeof(Weight), count(leaf)};
    const std::uint32_t* features = features_.data() + offsets_[leaf];
    for (std::size_t e = 0; e < row.count; ++e) {
      if (!query.may_have(features[e])) continue;
      const float value = query.of(features[e]);
      if (value != 0.0F) total += (std::is_same_v<Weight, float> ? value : value * factor) * weight_at<Weight>(row, e);
    }
    return total;
  }

  WeightKind kind_;
  std::vector<std::size_t> offsets_;     // of each leaf position
  std::vector<std::uint32_t> features_;  // ascending within a leaf
  std::vector<std::uint8_t> weights_;    // as the layer stores them
};

}  // namespace vizsla
