// A part of a sum that is asked query by query, while what its search came by is still at hand.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace vizsla {

// What one query's search found, best first.
struct LiveAnswer {
  std::vector<std::int32_t> items;
  std::vector<float> scores;
  float ceiling = INFINITY;  // no item outside of the list scores above it
  bool certain = false;      // nobody is missing from the list
};

// Items whose scores somebody else would like to know, in any order, and room for them: NaN where a search did not come by.
struct AlsoWanted {
  std::span<const std::int32_t> items;
  std::span<float> scores;
};

// One thread's work with a part, in the part's own item numbers. All but `search` speak of the query that was searched last.
class LivePart {
 public:
  virtual ~LivePart() = default;

  virtual void search(std::size_t row, std::size_t k, const AlsoWanted& also, LiveAnswer& found) = 0;

  // Whether `bound` says more than the ceiling does.
  virtual bool bounds() const = 0;

  // What no score of these items, which the search did not find, exceeds.
  virtual void bound(std::span<const std::int32_t> items, std::span<float> bounds) = 0;

  // These will probably be scored soon: their memory may be asked for.
  virtual void expect(std::span<const std::int32_t>) {}

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
  // `asked`: whether `bound` and `score` may be called after a search.
  virtual std::unique_ptr<LivePart> open(std::size_t k, bool asked) = 0;
};

}  // namespace vizsla
