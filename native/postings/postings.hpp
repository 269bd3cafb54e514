// Weighted inverted lists: term -> (item, impact), items ascending, impacts above 0.
// A view over three flat arrays, which may be memory-mapped; only the block bounds are its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/checks.hpp"

namespace vizsla {

// What pruning may assume about the postings of one block.
struct Block {
  std::int32_t last;  // the highest item
  float bound;        // the highest impact
};

class Postings {
 public:
  static constexpr std::size_t block_size = 128;

  struct List {
    std::span<const std::int32_t> items;
    std::span<const float> impacts;
    std::span<const Block> blocks;
    float bound;
    float priority;
  };

  // Checks every number: whatever lies in the arrays, no search reads out of bounds or prunes wrongly. `priorities`
  // say in which order a query's terms are added up; when there are none, the lists' own bounds do.
  Postings(std::size_t items, std::span<const std::int64_t> offsets, std::span<const std::int32_t> numbers,
           std::span<const float> impacts, std::span<const float> priorities)
      : items_(items), offsets_(offsets), numbers_(numbers), impacts_(impacts), priorities_(priorities) {
    require(items <= INT32_MAX, "an index holds fewer than 2^31 items");
    check_offsets();
    check_priorities();
    block_offsets_.reserve(offsets.size());
    blocks_.reserve(numbers.size() / block_size + terms());
    bounds_.reserve(terms());
    block_offsets_.push_back(0);
    for (std::size_t term = 0; term < terms(); ++term) add_blocks(term);
  }

  std::size_t items() const { return items_; }
  std::size_t terms() const { return offsets_.size() - 1; }
  std::size_t size() const { return numbers_.size(); }
  // What orders the terms: as given, or the bounds.
  std::span<const float> priorities() const { return priorities_.empty() ? std::span<const float>(bounds_) : priorities_; }
  std::size_t block_bytes() const {
    return blocks_.size() * sizeof(Block) + block_offsets_.size() * sizeof(std::int64_t) +
           bounds_.size() * sizeof(float);
  }

  List list(std::size_t term) const {
    const std::size_t begin = at(offsets_[term]);
    const std::size_t count = at(offsets_[term + 1]) - begin;
    const std::size_t first = at(block_offsets_[term]);
    return {numbers_.subspan(begin, count), impacts_.subspan(begin, count),
            std::span(blocks_).subspan(first, at(block_offsets_[term + 1]) - first), bounds_[term], priorities()[term]};
  }

 private:
  static std::size_t at(std::int64_t offset) { return static_cast<std::size_t>(offset); }

  void check_offsets() const {
    require(!offsets_.empty() && offsets_.front() == 0, "posting offsets must begin with 0");
    require(offsets_.size() - 1 <= INT32_MAX, "an index holds fewer than 2^31 terms");
    for (std::size_t i = 1; i < offsets_.size(); ++i)
      require(offsets_[i - 1] <= offsets_[i], "posting offsets must not decrease");
    require(numbers_.size() == impacts_.size() && static_cast<std::uint64_t>(offsets_.back()) == numbers_.size(),
            "the last posting offset must equal the number of postings");
  }

  void check_priorities() const {
    if (priorities_.empty()) return;
    require(priorities_.size() == terms(), "there must be a priority for each term");
    for (float priority : priorities_)
      require(priority >= 0 && std::isfinite(priority), "priorities must be finite and not negative");
  }

  void add_blocks(std::size_t term) {
    const std::size_t end = at(offsets_[term + 1]);
    std::int64_t previous = -1;
    float bound = 0;
    for (std::size_t begin = at(offsets_[term]); begin < end; begin += block_size) {
      blocks_.push_back(checked_block(begin, std::min(begin + block_size, end), previous));
      previous = blocks_.back().last;
      bound = std::max(bound, blocks_.back().bound);
    }
    block_offsets_.push_back(static_cast<std::int64_t>(blocks_.size()));
    bounds_.push_back(bound);
  }

  Block checked_block(std::size_t begin, std::size_t end, std::int64_t previous) const {
    float bound = 0;
    bool ascending = true, positive = true;
    for (std::size_t i = begin; i < end; ++i) {
      ascending &= numbers_[i] > previous;
      previous = numbers_[i];
      positive &= impacts_[i] > 0;  // false for NaN
      bound = std::max(bound, impacts_[i]);
    }
    require(ascending && previous < static_cast<std::int64_t>(items_),
            "a list's items must ascend and be below the number of items");
    require(positive && std::isfinite(bound), "impacts must be finite and above 0");
    return {static_cast<std::int32_t>(previous), bound};
  }

  std::size_t items_;
  std::span<const std::int64_t> offsets_;
  std::span<const std::int32_t> numbers_;
  std::span<const float> impacts_;
  std::span<const float> priorities_;
  std::vector<std::int64_t> block_offsets_;
  std::vector<Block> blocks_;
  std::vector<float> bounds_;
};

}  // namespace vizsla
