// The training instances of one parent, gathered once for all its children: a small matrix with features of its own
// numbering, most frequent first, so that what is touched most lies together in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/csr.hpp"

namespace vizsla {

struct ChunkEntry {
  std::uint32_t feature;
  float value;
};

struct Chunk {
  std::vector<std::size_t> offsets;
  std::vector<ChunkEntry> entries;
  std::vector<float> norms;              // squared length of each row, with the bias
  std::vector<float> sums;               // of each feature over all rows
  double sums_square = 0;                // their squared length
  std::vector<std::int32_t> features;    // chunk's number -> X's column
  std::vector<std::uint32_t> ascending;  // chunk's numbers in the order of X's columns

  std::size_t rows() const { return norms.size(); }
};

// Gathers chunks one after another; owns the table from X's columns to the chunk's numbers.
class ChunkGatherer {
 public:
  ChunkGatherer(const CsrView& x, float bias) : x_(x), bias_(bias), slots_(x.width, 0) {}

  Chunk gather(std::span<const std::uint32_t> instances) {
    Chunk chunk;
    count(instances, chunk);
    number(chunk);
    copy(instances, chunk);
    sum(chunk);
    for (const std::int32_t feature : chunk.features) slots_[static_cast<std::size_t>(feature)] = 0;
    return chunk;
  }

 private:
  void count(std::span<const std::uint32_t> instances, Chunk& chunk) {
    for (const std::uint32_t row : instances) {
      for (std::size_t at = x_.begin(row); at < x_.end(row); ++at) {
        const std::int32_t column = x_.columns[at];
        if (slots_[static_cast<std::size_t>(column)]++ == 0) chunk.features.push_back(column);
      }
    }
  }

  // Afterwards slots_ holds the number of each of the chunk's features.
  void number(Chunk& chunk) {
    std::vector<std::int32_t>& features = chunk.features;
    std::sort(features.begin(), features.end());
    std::vector<std::uint64_t> keys(features.size());  // rarity, then column: one integer sorts faster than a pair
    for (std::size_t i = 0; i < features.size(); ++i)
      keys[i] = (std::uint64_t{UINT32_MAX - slots_[static_cast<std::size_t>(features[i])]} << 32) | i;
    std::sort(keys.begin(), keys.end());
    std::vector<std::int32_t> sorted(features.size());
    chunk.ascending.resize(features.size());
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
      const std::size_t place = keys[rank] & UINT32_MAX;
      sorted[rank] = features[place];
      chunk.ascending[place] = static_cast<std::uint32_t>(rank);
      slots_[static_cast<std::size_t>(sorted[rank])] = static_cast<std::uint32_t>(rank);
    }
    features = std::move(sorted);
  }

  void copy(std::span<const std::uint32_t> instances, Chunk& chunk) const {
    std::size_t total = 0;
    for (const std::uint32_t row : instances) total += x_.end(row) - x_.begin(row);
    chunk.entries.reserve(total);
    chunk.norms.reserve(instances.size());
    chunk.offsets.reserve(instances.size() + 1);
    chunk.offsets.push_back(0);
    for (const std::uint32_t row : instances) copy_row(row, chunk);
  }

  void copy_row(std::uint32_t row, Chunk& chunk) const {
    double norm = double{bias_} * bias_;
    for (std::size_t at = x_.begin(row); at < x_.end(row); ++at) {
      const float value = x_.values[at];
      chunk.entries.push_back({slots_[static_cast<std::size_t>(x_.columns[at])], value});
      norm += double{value} * value;
    }
    chunk.offsets.push_back(chunk.entries.size());
    chunk.norms.push_back(static_cast<float>(norm));
  }

  static void sum(Chunk& chunk) {
    chunk.sums.assign(chunk.features.size(), 0.0f);
    for (const ChunkEntry& entry : chunk.entries) chunk.sums[entry.feature] += entry.value;
    for (const float one : chunk.sums) chunk.sums_square += double{one} * one;
  }

  CsrView x_;
  float bias_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace vizsla
