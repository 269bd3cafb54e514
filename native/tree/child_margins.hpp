// w·x of all children of some chunks of a layer: what search, filters and scoring have in common.
//
// A child's margin is summed over the query's features in ascending order in every caller, so that all get the same
// bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tree/chunked_layer.hpp"
#include "tree/short_row.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

// A feature of the query, hashed once for all chunks.
struct HashedFeature {
  std::uint32_t number;
  std::uint32_t hash;
  float value;
};

// A chunk to look into: its parent's score, how many children it has, and where their margins begin.
struct ChunkVisit {
  std::uint32_t chunk;
  float score;
  std::size_t count;
  std::size_t begin;
  ChunkTable table;
};

// One thread's margins: the buffers are reused from query to query.
class ChildMargins {
 public:
  void take(const SparseQuery& query, const BiasFeature& bias) {
    features_.clear();
    for (std::size_t i = 0; i < query.features.size(); ++i) take(query.features[i], query.values[i]);
    if (bias.value != 0.0F) take(bias.number, bias.value);
  }

  std::span<const HashedFeature> features() const { return features_; }

  void clear() { visits_.clear(); }

  void visit(const ChunkedLayer& layer, std::uint32_t chunk, float score) {
    visits_.push_back({chunk, score, layer.child_count(chunk), 0, layer.table(chunk)});
  }

  std::span<const ChunkVisit> visits() const { return visits_; }
  const float* of(const ChunkVisit& visit) const { return margins_.data() + visit.begin; }

  void find(const ChunkedLayer& layer) {
    std::size_t total = 0;
    for (ChunkVisit& visited : visits_) {
      visited.begin = total;
      total += visited.count;
    }
    // A damaged file can name children that a chunk does not have: they must fall into memory that is ours.
    margins_.assign(total + ChunkedLayer::max_children, 0.0F);
    switch (layer.kind()) {
      case WeightKind::float32:
        return add_layer<float>(layer);
      case WeightKind::int16:
        return add_layer<std::int16_t>(layer);
      case WeightKind::int8:
        return add_layer<std::int8_t>(layer);
    }
  }

  // How many weights were read since the last call.
  std::uint64_t take_entries() { return std::exchange(entries_, 0); }

 private:
  struct Hit {
    Row row;
    float value;
    std::uint32_t visit;
  };

  // Memory answers after some twenty look-ups. A bucket is asked for that long before it is read, and so are a row's
  // entries: look-ups are one stream that never waits for a single line.
  static constexpr std::size_t buckets_ahead = 24;
  static constexpr std::size_t rows_ahead = 12;

  void take(std::int32_t feature, float value) {
    const auto number = static_cast<std::uint32_t>(feature);
    features_.push_back({number, ChunkTable::hash(number), value});
  }

  template <class Weight>
  void add_layer(const ChunkedLayer& layer) {
    hits_.clear();
    const std::span<const HashedFeature> features(features_);
    const std::span<const ChunkVisit> visits(visits_);
    std::size_t done = 0, ahead_visit = 0, ahead_feature = 0;
    const auto ask = [&] {
      if (ahead_visit == visits.size()) return;
      visits[ahead_visit].table.prefetch(features[ahead_feature].hash);
      if (++ahead_feature == features.size()) ahead_feature = 0, ++ahead_visit;
    };
    if (features.empty()) return;
    for (std::size_t i = 0; i < buckets_ahead; ++i) ask();
    for (std::uint32_t v = 0; v < visits.size(); ++v) {
      const ChunkTable table = visits[v].table;
      for (const HashedFeature& feature : features) {
        ask();
        const Row row = table.find(feature.number, feature.hash);
        if (row.count == 0) continue;
        __builtin_prefetch(row.weights);
        __builtin_prefetch(row.weights + row.count * (sizeof(Weight) + 1) - 1);
        hits_.push_back({row, feature.value, v});
        if (hits_.size() > done + rows_ahead) add_row<Weight>(layer, hits_[done++]);
      }
    }
    while (done < hits_.size()) add_row<Weight>(layer, hits_[done++]);
  }

  template <class Weight>
  void add_row(const ChunkedLayer& layer, const Hit& hit) {
    const ChunkVisit& visited = visits_[hit.visit];
    const float value = std::is_same_v<Weight, float> ? hit.value : hit.value * layer.factor(visited.chunk);
    float* margins = margins_.data() + visited.begin;
    entries_ += hit.row.count;
    if (hit.row.count ==
        visited.count) {  // Every child has the feature, as most have the bias: no need for their numbers.
      for (std::size_t e = 0; e < hit.row.count; ++e) margins[e] += value * weight_at<Weight>(hit.row, e);
      return;
    }
    if (hit.row.count <= short_row) return add_short_row<Weight>(hit.row.weights, hit.row.count, value, margins);
    const std::uint8_t* children = hit.row.weights + hit.row.count * sizeof(Weight);
    for (std::size_t e = 0; e < hit.row.count; ++e) margins[children[e]] += value * weight_at<Weight>(hit.row, e);
  }

  std::vector<HashedFeature> features_;
  std::vector<ChunkVisit> visits_;
  std::vector<Hit> hits_;
  std::vector<float> margins_;
  std::uint64_t entries_ = 0;
};

}  // namespace vizsla
