// One layer of a tree model, laid out for search.
//
// The children of one parent form a chunk. A chunk keeps, for each feature that any of its children uses, a row of
// (child, weight) entries. Rows are found by a hash table of buckets: a bucket is one cache line with eight features
// and eight places, and a mark when rows that belong there had to go on to the next one, so that a look-up, found or
// not, most often touches a single line.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "common/checks.hpp"
#include "common/prefetch.hpp"

namespace vizsla {

// Weights as 32-bit floats, or as integers with one factor a chunk.
enum class WeightKind { float32, int16, int8 };

struct LayerArrays {
  std::span<const std::int32_t> child_offsets;   // chunk c holds the nodes [c] … [c + 1]
  std::span<const std::int64_t> bucket_offsets;  // buckets of chunk c
  std::span<const std::uint32_t> buckets;        // 16 numbers a bucket: 8 features, 8 places
  std::span<const std::int64_t> entry_offsets;   // entries of chunk c
  std::span<const std::uint8_t>
      entries;  // row after row: its weights, then which children of the chunk they are of; spare bytes
  std::span<const float> factors;  // of each chunk; 1 where weights are floats
};

// The entries of a feature in a chunk: `count` weights, and after them as many children, a byte each.
struct Row {
  const std::uint8_t* weights;
  std::size_t count;
};

template <class Weight>
float weight_at(const Row& row, std::size_t entry) {
  Weight weight;
  std::memcpy(&weight, row.weights + entry * sizeof weight, sizeof weight);
  return static_cast<float>(weight);
}

// A chunk's hash table of rows.
class ChunkTable {
 public:
  static constexpr std::size_t slots = 8;
  static constexpr std::size_t words_per_bucket = 2 * slots;
  // The highest bit of a bucket's last feature is its mark; features are below `empty`.
  static constexpr std::uint32_t mark = 0x80000000U;
  static constexpr std::uint32_t empty = ~mark;

  ChunkTable(const std::uint32_t* buckets, std::uint32_t count, std::span<const std::uint8_t> entries,
             std::size_t entry_bytes)
      : buckets_(buckets), count_(count), entries_(entries), entry_bytes_(entry_bytes) {}

  // Multiplicative hashing; a query hashes its features once.
  static std::uint32_t hash(std::uint32_t feature) {
    const std::uint32_t mixed = feature * 0x9E3779B1U;
    return (mixed ^ (mixed >> 15)) * 0x85EBCA6BU;
  }

  // The high part of a product: any number of buckets, no division.
  static std::uint32_t home(std::uint32_t hash, std::uint32_t buckets) {
    return static_cast<std::uint32_t>(std::uint64_t{hash} * buckets >> 32);
  }

  static std::uint32_t place(std::size_t begin, std::size_t count) {
    return static_cast<std::uint32_t>(begin << 8 | (count - 1));
  }

  VIZSLA_PREFETCHES void prefetch(std::uint32_t hash) const {
    __builtin_prefetch(buckets_ + std::size_t{home(hash, count_)} * words_per_bucket);
  }

  // The row of a feature, or one without entries. A place that leads out of the chunk counts as none, so that a damaged
  // file can be searched without harm.
  Row find(std::uint32_t feature, std::uint32_t hash) const {
    std::uint32_t bucket = home(hash, count_);
    for (std::uint32_t probes = 0; probes < count_; ++probes) {
      const std::uint32_t* words = buckets_ + std::size_t{bucket} * words_per_bucket;
      const std::uint32_t found = slots_with(words, feature);
      if (found != 0) return row_at(words[slots + static_cast<std::uint32_t>(__builtin_ctz(found))]);
      if ((words[slots - 1] & mark) == 0) return {nullptr, 0};
      bucket = bucket + 1 == count_ ? 0 : bucket + 1;
    }
    return {nullptr, 0};
  }

  // Calls with each feature and its row, whatever their order.
  template <class Call>
  void for_each_row(const Call& call) const {
    for (std::uint32_t bucket = 0; bucket < count_; ++bucket) {
      const std::uint32_t* words = buckets_ + std::size_t{bucket} * words_per_bucket;
      for (std::uint32_t slot = 0; slot < slots; ++slot) {
        const std::uint32_t feature = words[slot] & (slot + 1 == slots ? ~mark : UINT32_MAX);
        if (feature >= empty) continue;  // none, or nothing that a query could have
        const Row row = row_at(words[slots + slot]);
        if (row.count > 0) call(feature, row);
      }
    }
  }

 private:
  // A bit for each slot that holds the feature.
  static std::uint32_t slots_with(const std::uint32_t* words, std::uint32_t feature) {
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(feature));
    const __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)), wanted);
    const __m128i unmarked = _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 4)),
                                           _mm_set_epi32(INT32_MAX, -1, -1, -1));
    const __m128i high = _mm_cmpeq_epi32(unmarked, wanted);
    const __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
#else
    std::uint32_t found = 0;
    for (std::uint32_t slot = 0; slot < slots; ++slot)
      found |= static_cast<std::uint32_t>((words[slot] & ~mark) == feature) << slot;
    return found;
#endif
  }

  Row row_at(std::uint32_t place) const {
    const std::size_t begin = (place >> 8) * entry_bytes_, count = (place & 0xFF) + std::size_t{1};
    if (begin + count * entry_bytes_ > entries_.size()) return {nullptr, 0};
    return {entries_.data() + begin, count};
  }

  const std::uint32_t* buckets_;
  std::uint32_t count_;
  std::span<const std::uint8_t> entries_;
  std::size_t entry_bytes_;
};

class ChunkedLayer {
 public:
  static constexpr std::size_t max_children = 256;      // a child is one byte
  static constexpr std::size_t max_entries = 1U << 24;  // a place is 24 bits of begin and 8 of count - 1
  static constexpr std::size_t spare_bytes = 16;  // after the last entry: short rows are read four entries at a time

  ChunkedLayer(const LayerArrays& arrays, WeightKind kind) : a_(arrays), kind_(kind), entry_bytes_(entry_bytes(kind)) {
    check();
  }

  std::size_t chunks() const { return a_.child_offsets.size() - 1; }
  std::size_t nodes() const { return static_cast<std::size_t>(a_.child_offsets.back()); }
  std::size_t first_child(std::size_t chunk) const { return static_cast<std::size_t>(a_.child_offsets[chunk]); }
  std::size_t child_count(std::size_t chunk) const { return first_child(chunk + 1) - first_child(chunk); }
  std::size_t entry_count(std::size_t chunk) const {
    return static_cast<std::size_t>(a_.entry_offsets[chunk + 1] - a_.entry_offsets[chunk]);
  }
  WeightKind kind() const { return kind_; }
  std::size_t entries() const { return static_cast<std::size_t>(a_.entry_offsets.back()); }
  float factor(std::size_t chunk) const { return a_.factors[chunk]; }

  ChunkTable table(std::size_t chunk) const {
    const auto first = static_cast<std::size_t>(a_.bucket_offsets[chunk]);
    const auto last = static_cast<std::size_t>(a_.bucket_offsets[chunk + 1]);
    const auto begin = static_cast<std::size_t>(a_.entry_offsets[chunk]) * entry_bytes_;
    return {a_.buckets.data() + first * ChunkTable::words_per_bucket, static_cast<std::uint32_t>(last - first),
            a_.entries.subspan(begin, entry_count(chunk) * entry_bytes_), entry_bytes_};
  }

  // Calls with each feature and its row of a chunk. A sound chunk's rows have as many entries as the chunk; where a
  // damaged file claims more, the rest is left out, so that no caller gathers more than the file holds.
  template <class Call>
  void for_each_row(std::size_t chunk, const Call& call) const {
    std::size_t left = entry_count(chunk);
    table(chunk).for_each_row([&](std::uint32_t feature, const Row& row) {
      if (row.count > left) return;
      left -= row.count;
      call(feature, row);
    });
  }

  // A weight and its child.
  static std::size_t entry_bytes(WeightKind kind) {
    return kind == WeightKind::float32 ? 5 : kind == WeightKind::int16 ? 3 : 2;
  }

 private:
  template <class Number>
  static void check_rising(std::span<const Number> offsets, std::size_t end, const char* otherwise) {
    require(!offsets.empty() && offsets.front() == 0, otherwise);
    for (std::size_t i = 1; i < offsets.size(); ++i) require(offsets[i] >= offsets[i - 1], otherwise);
    require(static_cast<std::uint64_t>(offsets.back()) == end, otherwise);
  }

  void check() const {
    require(a_.child_offsets.size() > 1, "a layer must have at least one chunk");
    const std::size_t chunk_count = a_.child_offsets.size() - 1;
    require(a_.bucket_offsets.size() == chunk_count + 1 && a_.entry_offsets.size() == chunk_count + 1,
            "a layer's offsets must have one number a chunk and one more");
    require(a_.child_offsets.back() >= 0, "child offsets must not decrease");
    check_rising(a_.child_offsets, static_cast<std::size_t>(a_.child_offsets.back()), "child offsets must rise from 0");
    check_rising(a_.bucket_offsets, a_.buckets.size() / ChunkTable::words_per_bucket,
                 "bucket offsets must rise from 0 to the number of buckets");
    require(a_.entries.size() >= spare_bytes && (a_.entries.size() - spare_bytes) % entry_bytes_ == 0,
            "entries must be whole, with spare bytes after them");
    check_rising(a_.entry_offsets, (a_.entries.size() - spare_bytes) / entry_bytes_,
                 "entry offsets must rise from 0 to the number of entries");
    require(a_.buckets.size() % ChunkTable::words_per_bucket == 0, "buckets must be whole");
    require(a_.factors.size() == chunk_count, "a layer must have one factor a chunk");
    for (std::size_t chunk = 0; chunk < chunk_count; ++chunk) {
      require(std::isfinite(a_.factors[chunk]), "factors must be finite");
      require(child_count(chunk) <= max_children && entry_count(chunk) <= max_entries, "a chunk is too large");
      require(a_.bucket_offsets[chunk + 1] - a_.bucket_offsets[chunk] <= INT32_MAX, "a chunk has too many buckets");
    }
  }

  LayerArrays a_;
  WeightKind kind_;
  std::size_t entry_bytes_;
};

}  // namespace vizsla
