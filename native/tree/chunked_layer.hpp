// One layer of a tree model, laid out for search.
//
// The children of one parent form a chunk. A chunk keeps, for each feature that any of its children uses, a row of
// (child, weight) entries. Rows are found by a hash table of buckets: a bucket is one cache line with eight features and
// eight places, so that a look-up, found or not, most often touches a single line.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "common/checks.hpp"

namespace vizsla {

// Weights as 32-bit floats, or as integers with one factor a chunk.
enum class WeightKind { float32, int16, int8 };

struct LayerArrays {
  std::span<const std::int32_t> child_offsets;   // chunk p holds the nodes [p] … [p + 1]
  std::span<const std::int64_t> bucket_offsets;  // buckets of chunk p
  std::span<const std::uint32_t> buckets;        // 16 numbers a bucket: 8 features, 8 places
  std::span<const std::int64_t> entry_offsets;   // entries of chunk p
  std::span<const std::uint8_t> children;        // of each entry: which child of the chunk
  std::span<const std::uint8_t> weights;         // of each entry, in bytes of the weight kind
  std::span<const float> factors;                // of each chunk, for integer weights
};

// A run of entries: (child, weight).
struct Row {
  std::size_t begin;
  std::size_t count;
};

class ChunkedLayer {
 public:
  static constexpr std::size_t slots = 8;
  static constexpr std::size_t words_per_bucket = 2 * slots;
  static constexpr std::uint32_t empty = UINT32_MAX;
  static constexpr std::size_t max_children = 256;           // a child is one byte
  static constexpr std::size_t max_entries = 1U << 24;       // a place is 24 bits of begin and 8 of count - 1

  ChunkedLayer(const LayerArrays& arrays, WeightKind kind) : a_(arrays), kind_(kind) { check(); }

  std::size_t chunks() const { return a_.child_offsets.size() - 1; }
  std::size_t nodes() const { return static_cast<std::size_t>(a_.child_offsets.back()); }
  std::size_t first_child(std::size_t chunk) const { return static_cast<std::size_t>(a_.child_offsets[chunk]); }
  std::size_t child_count(std::size_t chunk) const { return first_child(chunk + 1) - first_child(chunk); }
  std::size_t entry_count(std::size_t chunk) const { return static_cast<std::size_t>(a_.entry_offsets[chunk + 1] - a_.entry_offsets[chunk]); }
  WeightKind kind() const { return kind_; }
  float factor(std::size_t chunk) const { return a_.factors[chunk]; }
  const std::uint8_t* children(std::size_t chunk) const { return a_.children.data() + a_.entry_offsets[chunk]; }

  template <class Weight>
  const Weight* weights(std::size_t chunk) const {
    return reinterpret_cast<const Weight*>(a_.weights.data()) + a_.entry_offsets[chunk];
  }

  const std::uint32_t* buckets(std::size_t chunk) const {
    return a_.buckets.data() + static_cast<std::size_t>(a_.bucket_offsets[chunk]) * words_per_bucket;
  }

  std::uint32_t bucket_count(std::size_t chunk) const {
    return static_cast<std::uint32_t>(a_.bucket_offsets[chunk + 1] - a_.bucket_offsets[chunk]);
  }

  // A feature's hash: mixed once a query, used in every chunk.
  static std::uint32_t mix(std::uint32_t feature) {
    const std::uint32_t mixed = feature * 0x9E3779B1U;
    return (mixed ^ (mixed >> 15)) * 0x85EBCA6BU;
  }

  // The high part of a product: any number of buckets, no division.
  static std::uint32_t home(std::uint32_t hash, std::uint32_t buckets) {
    return static_cast<std::uint32_t>(std::uint64_t{hash} * buckets >> 32);
  }

  // The row of a feature in a chunk, or one without entries. A place that leads out of the chunk counts as none, so that
  // a damaged file can be searched without harm.
  Row find(std::size_t chunk, std::uint32_t feature, std::uint32_t hash) const {
    const std::uint32_t count = bucket_count(chunk);
    if (count == 0) return {0, 0};
    const std::uint32_t* all = buckets(chunk);
    std::uint32_t bucket = home(hash, count);
    for (std::uint32_t probes = 0; probes < count; ++probes) {
      const std::uint32_t* words = all + std::size_t{bucket} * words_per_bucket;
      const std::uint32_t found = matches(words, feature);
      if (found != 0) return row_at(chunk, words[slots + static_cast<std::uint32_t>(__builtin_ctz(found))]);
      if (words[slots - 1] == empty) return {0, 0};  // Buckets fill from the left: the last one is empty unless all are taken.
      bucket = bucket + 1 == count ? 0 : bucket + 1;
    }
    return {0, 0};
  }

  void prefetch(std::size_t chunk, std::span<const std::uint32_t> hashes) const {
    const std::uint32_t count = bucket_count(chunk);
    const std::uint32_t* all = buckets(chunk);
    if (count == 0) return;
    for (std::uint32_t hash : hashes) __builtin_prefetch(all + std::size_t{home(hash, count)} * words_per_bucket);
  }

  static std::uint32_t place(std::size_t begin, std::size_t count) {
    return static_cast<std::uint32_t>(begin << 8 | (count - 1));
  }

 private:
  // One bit for each of a bucket's features that is the wanted one.
  static std::uint32_t matches(const std::uint32_t* words, std::uint32_t feature) {
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(feature));
    const __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)), wanted);
    const __m128i high = _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 4)), wanted);
    return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(low)) | _mm_movemask_ps(_mm_castsi128_ps(high)) << 4);
#else
    std::uint32_t found = 0;
    for (std::uint32_t slot = 0; slot < slots; ++slot) found |= static_cast<std::uint32_t>(words[slot] == feature) << slot;
    return found;
#endif
  }

  Row row_at(std::size_t chunk, std::uint32_t place) const {
    const Row row{place >> 8, (place & 0xFF) + std::size_t{1}};
    return row.begin + row.count <= entry_count(chunk) ? row : Row{0, 0};
  }

  static std::size_t bytes_of(WeightKind kind) {
    return kind == WeightKind::float32 ? 4 : kind == WeightKind::int16 ? 2 : 1;
  }

  template <class Number>
  static void check_rising(std::span<const Number> offsets, std::size_t end, const char* otherwise) {
    require(!offsets.empty() && offsets.front() == 0, otherwise);
    for (std::size_t i = 1; i < offsets.size(); ++i) require(offsets[i] >= offsets[i - 1], otherwise);
    require(static_cast<std::uint64_t>(offsets.back()) == end, otherwise);
  }

  void check() const {
    const std::size_t chunk_count = a_.child_offsets.empty() ? 0 : a_.child_offsets.size() - 1;
    require(chunk_count > 0, "a layer must have at least one chunk");
    require(a_.bucket_offsets.size() == chunk_count + 1 && a_.entry_offsets.size() == chunk_count + 1, "a layer's offsets must have one number a chunk and one more");
    require(a_.child_offsets.back() >= 0, "child offsets must not decrease");
    check_rising(a_.child_offsets, static_cast<std::size_t>(a_.child_offsets.back()), "child offsets must rise from 0");
    check_rising(a_.bucket_offsets, a_.buckets.size() / words_per_bucket, "bucket offsets must rise from 0 to the number of buckets");
    check_rising(a_.entry_offsets, a_.children.size(), "entry offsets must rise from 0 to the number of entries");
    require(a_.buckets.size() % words_per_bucket == 0, "buckets must be whole");
    require(a_.weights.size() == a_.children.size() * bytes_of(kind_), "there must be one weight an entry");
    require(kind_ == WeightKind::float32 || a_.factors.size() == chunk_count, "integer weights need one factor a chunk");
    for (std::size_t chunk = 0; chunk < chunk_count; ++chunk) {
      require(child_count(chunk) <= max_children && entry_count(chunk) <= max_entries, "a chunk is too large");
      require(a_.bucket_offsets[chunk + 1] - a_.bucket_offsets[chunk] <= INT32_MAX, "a chunk has too many buckets");
    }
  }

  LayerArrays a_;
  WeightKind kind_;
};

}  // namespace vizsla
