// From one-vs-rest weights, child by child, to the chunked layout that search reads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/checks.hpp"
#include "tree/chunked_layer.hpp"

namespace vizsla {

struct BuiltLayer {
  std::vector<std::int64_t> bucket_offsets{0};
  std::vector<std::uint32_t> buckets;
  std::vector<std::int64_t> entry_offsets{0};
  std::vector<std::uint8_t> children;
  std::vector<std::uint8_t> weights;
  std::vector<float> factors;
};

// Weights of a layer's nodes: node n has features[offsets[n]] … with as many values.
struct NodeWeights {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> features;
  std::span<const float> values;
};

class LayerBuilder {
 public:
  LayerBuilder(std::span<const std::int32_t> child_offsets, const NodeWeights& nodes, WeightKind kind)
      : child_offsets_(child_offsets), nodes_(nodes), kind_(kind) {
    check();
  }

  BuiltLayer build() {
    for (std::size_t chunk = 0; chunk + 1 < child_offsets_.size(); ++chunk) {
      gather(chunk);
      write_entries();
      write_buckets();
    }
    return std::move(built_);
  }

 private:
  struct Entry {
    std::uint32_t feature;
    std::uint8_t child;
    float weight;
  };

  void check() const {
    require(child_offsets_.size() > 1 && child_offsets_.front() == 0, "child offsets must begin with 0");
    for (std::size_t i = 1; i < child_offsets_.size(); ++i) {
      require(child_offsets_[i] >= child_offsets_[i - 1], "child offsets must not decrease");
      require(child_offsets_[i] - child_offsets_[i - 1] <= static_cast<std::int32_t>(ChunkedLayer::max_children), "a chunk has at most 256 children");
    }
    require(nodes_.offsets.size() == static_cast<std::size_t>(child_offsets_.back()) + 1, "there must be one offset a node and one more");
    require(nodes_.features.size() == nodes_.values.size(), "there must be one value a feature");
    require(nodes_.offsets.front() == 0 && static_cast<std::uint64_t>(nodes_.offsets.back()) == nodes_.features.size(), "weight offsets must rise from 0 to the number of weights");
    for (std::size_t n = 1; n < nodes_.offsets.size(); ++n) {
      require(nodes_.offsets[n] >= nodes_.offsets[n - 1], "weight offsets must not decrease");
    }
    for (std::int32_t feature : nodes_.features) require(feature >= 0, "features must not be negative");
    for (float value : nodes_.values) require(std::isfinite(value), "weights must be finite");
  }

  void gather(std::size_t chunk) {
    entries_.clear();
    const auto first = static_cast<std::size_t>(child_offsets_[chunk]);
    const auto last = static_cast<std::size_t>(child_offsets_[chunk + 1]);
    for (std::size_t node = first; node < last; ++node) {
      for (auto i = static_cast<std::size_t>(nodes_.offsets[node]); i < static_cast<std::size_t>(nodes_.offsets[node + 1]); ++i) {
        if (nodes_.values[i] == 0.0F) continue;
        entries_.push_back({static_cast<std::uint32_t>(nodes_.features[i]), static_cast<std::uint8_t>(node - first), nodes_.values[i]});
      }
    }
    require(entries_.size() <= ChunkedLayer::max_entries, "a chunk has too many weights: raise the threshold or use smaller leaves");
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.feature < b.feature; });
  }

  void write_entries() {
    const float factor = factor_of_entries();
    built_.factors.push_back(factor);
    for (const Entry& entry : entries_) {
      built_.children.push_back(entry.child);
      switch (kind_) {
        case WeightKind::float32: append(entry.weight); break;
        case WeightKind::int16: append(static_cast<std::int16_t>(std::lround(entry.weight / factor))); break;
        case WeightKind::int8: append(static_cast<std::int8_t>(std::lround(entry.weight / factor))); break;
      }
    }
    built_.entry_offsets.push_back(static_cast<std::int64_t>(built_.children.size()));
  }

  float factor_of_entries() const {
    float largest = 0;
    for (const Entry& entry : entries_) largest = std::max(largest, std::fabs(entry.weight));
    if (kind_ == WeightKind::float32 || largest == 0) return 1.0F;
    return largest / (kind_ == WeightKind::int16 ? 32767.0F : 127.0F);
  }

  template <class Weight>
  void append(Weight weight) {
    std::uint8_t bytes[sizeof weight];
    std::memcpy(bytes, &weight, sizeof weight);
    built_.weights.insert(built_.weights.end(), bytes, bytes + sizeof weight);
  }

  void write_buckets() {
    std::size_t rows = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) rows += i == 0 || entries_[i].feature != entries_[i - 1].feature;
    // Four fifths full: most look-ups end in their first line, and the table costs ten bytes a row.
    const std::size_t count = rows == 0 ? 0 : (rows * 5 + 31) / 32;
    const std::size_t base = built_.buckets.size();
    built_.buckets.resize(base + count * ChunkedLayer::words_per_bucket, ChunkedLayer::empty);
    for (std::size_t begin = 0, end = 0; begin < entries_.size(); begin = end) {
      while (end < entries_.size() && entries_[end].feature == entries_[begin].feature) ++end;
      require(end - begin <= ChunkedLayer::max_children, "a node gives a feature twice");
      insert(base, static_cast<std::uint32_t>(count), entries_[begin].feature, ChunkedLayer::place(begin, end - begin));
    }
    built_.bucket_offsets.push_back(static_cast<std::int64_t>(built_.buckets.size() / ChunkedLayer::words_per_bucket));
  }

  void insert(std::size_t base, std::uint32_t count, std::uint32_t feature, std::uint32_t place) {
    for (std::uint32_t bucket = ChunkedLayer::home(ChunkedLayer::mix(feature), count);; bucket = bucket + 1 == count ? 0 : bucket + 1) {
      std::uint32_t* words = built_.buckets.data() + base + std::size_t{bucket} * ChunkedLayer::words_per_bucket;
      for (std::size_t slot = 0; slot < ChunkedLayer::slots; ++slot) {
        if (words[slot] != ChunkedLayer::empty) continue;
        words[slot] = feature;
        words[ChunkedLayer::slots + slot] = place;
        return;
      }
    }
  }

  std::span<const std::int32_t> child_offsets_;
  NodeWeights nodes_;
  WeightKind kind_;
  std::vector<Entry> entries_;
  BuiltLayer built_;
};

}  // namespace vizsla
