// From one-vs-rest weights, child by child, to the chunked layout that search reads.
#pragma once

#include <algorithm>
#include <bit>
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
  std::vector<std::uint8_t> entries;
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
    built_.entries.resize(built_.entries.size() + ChunkedLayer::spare_bytes);
    return std::move(built_);
  }

 private:
  struct Entry {
    std::uint32_t feature;
    std::uint8_t child;
    float weight;
  };

  struct PlacedRow {
    std::uint32_t feature;
    std::uint32_t place;
  };

  void check() const {
    require(child_offsets_.size() > 1 && child_offsets_.front() == 0, "child offsets must begin with 0");
    for (std::size_t i = 1; i < child_offsets_.size(); ++i) {
      require(child_offsets_[i] >= child_offsets_[i - 1], "child offsets must not decrease");
      require(child_offsets_[i] - child_offsets_[i - 1] <= static_cast<std::int32_t>(ChunkedLayer::max_children),
              "a chunk has at most 256 children");
    }
    require(nodes_.offsets.size() == static_cast<std::size_t>(child_offsets_.back()) + 1,
            "there must be one offset a node and one more");
    require(nodes_.features.size() == nodes_.values.size(), "there must be one value a feature");
    require(nodes_.offsets.front() == 0 && static_cast<std::uint64_t>(nodes_.offsets.back()) == nodes_.features.size(),
            "weight offsets must rise from 0 to the number of weights");
    for (std::size_t n = 1; n < nodes_.offsets.size(); ++n) {
      require(nodes_.offsets[n] >= nodes_.offsets[n - 1], "weight offsets must not decrease");
    }
    for (std::int32_t feature : nodes_.features)
      require(feature >= 0 && feature < INT32_MAX, "features must be between 0 and 2^31 - 2");
    for (float value : nodes_.values) require(std::isfinite(value), "weights must be finite");
  }

  void gather(std::size_t chunk) {
    entries_.clear();
    const auto first = static_cast<std::size_t>(child_offsets_[chunk]),
               last = static_cast<std::size_t>(child_offsets_[chunk + 1]);
    for (std::size_t node = first; node < last; ++node) {
      for (auto i = static_cast<std::size_t>(nodes_.offsets[node]);
           i < static_cast<std::size_t>(nodes_.offsets[node + 1]); ++i) {
        if (nodes_.values[i] == 0.0F) continue;
        entries_.push_back({static_cast<std::uint32_t>(nodes_.features[i]), static_cast<std::uint8_t>(node - first),
                            nodes_.values[i]});
      }
    }
    require(entries_.size() <= ChunkedLayer::max_entries,
            "a chunk has too many weights: raise the threshold or use smaller leaves");
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.feature < b.feature; });
  }

  void write_entries() {
    const float factor = factor_of_entries();
    built_.factors.push_back(factor);
    for (std::size_t begin = 0, end = 0; begin < entries_.size(); begin = end) {
      end = row_end(begin);
      for (std::size_t i = begin; i < end; ++i) append_weight(entries_[i].weight, factor);
      for (std::size_t i = begin; i < end; ++i) built_.entries.push_back(entries_[i].child);
    }
    built_.entry_offsets.push_back(built_.entry_offsets.back() + static_cast<std::int64_t>(entries_.size()));
  }

  std::size_t row_end(std::size_t begin) const {
    std::size_t end = begin;
    while (end < entries_.size() && entries_[end].feature == entries_[begin].feature) ++end;
    return end;
  }

  void append_weight(float weight, float factor) {
    switch (kind_) {
      case WeightKind::float32:
        return append(weight);
      case WeightKind::int16:
        return append(static_cast<std::int16_t>(std::lround(weight / factor)));
      case WeightKind::int8:
        return append(static_cast<std::int8_t>(std::lround(weight / factor)));
    }
  }

  float factor_of_entries() const {
    float largest = 0;
    for (const Entry& entry : entries_) largest = std::max(largest, std::fabs(entry.weight));
    if (kind_ == WeightKind::float32 || largest == 0) return 1.0F;
    return kind_ == WeightKind::int16 ? power_of_two_above(largest / 32767.0F) : short_number_above(largest / 127.0F);
  }

  // Both factors are chosen so that weights that were read back and are stored again become the same bytes: products of
  // factor and integer are exact, and the largest of them leads to the same factor.
  static float power_of_two_above(float number) {
    int exponent = 0;
    const float mantissa = std::frexp(number, &exponent);
    return std::ldexp(1.0F, mantissa == 0.5F ? exponent - 1 : exponent);
  }

  static float short_number_above(float number) {  // a mantissa of 16 bits
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(number) + 0xFFU) & ~0xFFU);
  }

  template <class Weight>
  void append(Weight weight) {
    std::uint8_t bytes[sizeof weight];
    std::memcpy(bytes, &weight, sizeof weight);
    built_.entries.insert(built_.entries.end(), bytes, bytes + sizeof weight);
  }

  // Rows that find their own bucket full wait until all others are placed: the fewest are displaced, and the fewest
  // buckets marked.
  void write_buckets() {
    std::size_t rows = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) rows += i == 0 || entries_[i].feature != entries_[i - 1].feature;
    const std::size_t base = built_.buckets.size(), count = bucket_count(rows);
    built_.buckets.resize(base + count * ChunkTable::words_per_bucket, ChunkTable::empty);
    displaced_.clear();
    for (std::size_t begin = 0, end = 0; begin < entries_.size(); begin = end) {
      end = row_end(begin);
      require(end - begin <= ChunkedLayer::max_children, "a node gives a feature twice");
      const PlacedRow row{entries_[begin].feature, ChunkTable::place(begin, end - begin)};
      if (!put(bucket(base, home(row, count)), row)) displaced_.push_back(row);
    }
    for (const PlacedRow& row : displaced_) displace(base, count, row);
    built_.bucket_offsets.push_back(static_cast<std::int64_t>(built_.buckets.size() / ChunkTable::words_per_bucket));
  }

  // Seven tenths full: a row costs eleven bytes. Fuller tables are smaller and slower, because more look-ups need a
  // second line: at eight tenths a search takes 1.1 to 1.2 times as long.
  static std::size_t bucket_count(std::size_t rows) { return (rows * 10 + 55) / 56; }

  static std::uint32_t home(const PlacedRow& row, std::size_t count) {
    return ChunkTable::home(ChunkTable::hash(row.feature), static_cast<std::uint32_t>(count));
  }

  std::uint32_t* bucket(std::size_t base, std::size_t number) {
    return built_.buckets.data() + base + number * ChunkTable::words_per_bucket;
  }

  static bool put(std::uint32_t* words, const PlacedRow& row) {
    for (std::size_t slot = 0; slot < ChunkTable::slots; ++slot) {
      if ((words[slot] & ~ChunkTable::mark) != ChunkTable::empty) continue;
      words[slot] = row.feature | (words[slot] & ChunkTable::mark);
      words[ChunkTable::slots + slot] = row.place;
      return true;
    }
    return false;
  }

  void displace(std::size_t base, std::size_t count, const PlacedRow& row) {
    std::size_t number = home(row, count);
    do {
      bucket(base, number)[ChunkTable::slots - 1] |= ChunkTable::mark;
      number = number + 1 == count ? 0 : number + 1;
    } while (!put(bucket(base, number), row));
  }

  std::span<const std::int32_t> child_offsets_;
  NodeWeights nodes_;
  WeightKind kind_;
  std::vector<Entry> entries_;
  std::vector<PlacedRow> displaced_;
  BuiltLayer built_;
};

}  // namespace vizsla
