// A part of a sum that is asked query by query, while what its search came by is still at hand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/also_wanted.hpp"
#include "common/clones.hpp"
#include "common/topk.hpp"

namespace vizsla {

namespace detail {

struct KeyEnds {
  float highest, lowest;
};

template <float score(std::uint64_t)>
[[gnu::always_inline]] inline KeyEnds read_keys(std::span<const std::uint64_t> keys, std::int32_t* items,
                                                float* scores) {
  std::uint64_t first = 0, last = UINT64_MAX;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    items[i] = static_cast<std::int32_t>(item_of(keys[i]));
    scores[i] = score(keys[i]);
    first = std::max(first, keys[i]);
    last = std::min(last, keys[i]);
  }
  return {score(first), score(last)};
}

VIZSLA_CLONES static KeyEnds read_positive_keys(std::span<const std::uint64_t> keys, std::int32_t* items,
                                                float* scores) {
  return read_keys<score_of>(keys, items, scores);
}

VIZSLA_CLONES static KeyEnds read_signed_keys(std::span<const std::uint64_t> keys, std::int32_t* items, float* scores) {
  return read_keys<signed_score_of>(keys, items, scores);
}

}  // namespace detail

// What one query's search found, best first if that was wanted.
struct LiveAnswer {
  std::vector<std::int32_t> items;
  std::vector<float> scores;
  float highest = -INFINITY, lowest = INFINITY;
  float ceiling = INFINITY;  // no item outside of the list scores above it
  bool certain = false;      // nobody is missing from the list

  // Scores are not negative: the others' keys have other bits.
  void take_positive(std::span<const std::uint64_t> keys) { take(keys, detail::read_positive_keys); }
  void take_signed(std::span<const std::uint64_t> keys) { take(keys, detail::read_signed_keys); }

 private:
  void take(std::span<const std::uint64_t> keys,
            detail::KeyEnds read(std::span<const std::uint64_t>, std::int32_t*, float*)) {
    items.resize(keys.size());
    scores.resize(keys.size());
    const detail::KeyEnds ends = read(keys, items.data(), scores.data());
    highest = keys.empty() ? -INFINITY : ends.highest;
    lowest = keys.empty() ? INFINITY : ends.lowest;
  }
};

// What will be asked of a part.
struct LiveUse {
  bool scores;  // whether `tell` and `score` may be called after a search
  bool ranked;  // whether answers must come best first
};

// One thread's work with a part, in the part's own item numbers. All but `search` speak of the query that was searched
// last.
class LivePart {
 public:
  virtual ~LivePart() = default;

  virtual void search(std::size_t row, std::size_t k, const AlsoWanted& also, LiveAnswer& found) = 0;

  // Whether `tell` says more than the ceiling does.
  virtual bool tells() const { return false; }

  // Of these items `tell` may be asked, but not at once.
  virtual void expect(std::span<const std::int32_t>) {}

  // Of items that the search did not find: their scores if it came by them, else NaN, and what they are at most.
  virtual void tell(const AlsoWanted&) {}

  // Of items that `tell` left open: what they are at most, by a closer look that is still cheaper than their scores.
  virtual void bound(std::span<const std::int32_t>, std::span<float>) {}

  virtual void score(std::span<const std::int32_t> items, std::span<float> scores) = 0;

  // How many entries of the index were read since the last call.
  virtual std::uint64_t take_read() = 0;
};

// A part with the rows of a call's queries.
class LiveSource {
 public:
  virtual ~LiveSource() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t items() const = 0;
  // Whether a search comes by the scores of items that others found: such parts are asked after the others.
  virtual bool reads_along() const = 0;
  virtual std::unique_ptr<LivePart> open(std::size_t k, const LiveUse& use) = 0;
};

}  // namespace vizsla
