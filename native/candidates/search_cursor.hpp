// The interface through which a sum searches an index query by query, and asks for further scores of the same query.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/clones.hpp"
#include "common/score_requests.hpp"
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

// The hits of one query, best first if `CursorUse::ranked`.
struct CursorHits {
  std::vector<std::int32_t> items;
  std::vector<float> scores;
  float highest = -INFINITY, lowest = INFINITY;
  float ceiling = INFINITY;  // no item outside of the list scores above it
  bool certain = false;      // the list surely holds the best items

  // For non-negative scores, whose keys are encoded differently.
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

// Which calls a cursor must support.
struct CursorUse {
  bool scores;  // whether `tell` and `score` may be called after a search
  bool ranked;  // whether answers must come best first
};

// One thread's state of searching an index, in the index's own item numbers. All methods but `search` refer to the last
// query searched.
class SearchCursor {
 public:
  virtual ~SearchCursor() = default;

  virtual void search(std::size_t row, std::size_t k, const ScoreRequests& also, CursorHits& found) = 0;

  // Whether `tell` gives more than the ceiling does.
  virtual bool tells() const { return false; }

  // Prefetches what `tell` needs for these items.
  virtual void expect(std::span<const std::int32_t>) {}

  // For items outside of the hits: writes the score if the search computed it, else NaN and an upper bound.
  virtual void tell(const ScoreRequests&) {}

  // For items that `tell` left unscored: writes tighter upper bounds, at less cost than their scores.
  virtual void bound(std::span<const std::int32_t>, std::span<float>) {}

  virtual void score(std::span<const std::int32_t> items, std::span<float> scores) = 0;

  // Returns the number of index entries read since the last call.
  virtual std::uint64_t take_read() = 0;
};

// An index together with the queries of one call; opens one cursor per thread.
class CursorSource {
 public:
  virtual ~CursorSource() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t items() const = 0;
  // Whether a search can report scores of requested items: such parts are searched after the others.
  virtual bool reads_along() const = 0;
  virtual std::unique_ptr<SearchCursor> open(std::size_t k, const CursorUse& use) = 0;
};

}  // namespace vizsla
