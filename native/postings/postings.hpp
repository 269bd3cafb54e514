// Weighted inverted lists: term -> (item, impact), items ascending, impacts above 0.
// A view over flat arrays, which may be memory-mapped; only the block bounds are its own.
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

// One term's postings. `Impacts` gives the impact of the i-th posting by `[i]`: a pointer to stored impacts, or
// something that computes them.
template <class Impacts>
struct PostingList {
  static constexpr std::size_t block_size = 128;

  std::span<const std::int32_t> items;
  Impacts impacts;
  std::span<const Block> blocks;
  float bound;
  float priority;
};

class Postings {
 public:
  using List = PostingList<const float*>;

  static constexpr std::size_t block_size = List::block_size;

  // What belongs to terms rather than to postings: each empty, or a number for each term.
  struct Terms {
    std::span<const float> priorities;  // in which order a query's terms are added up; else by their lists' bounds
    std::span<const double> absent;     // what every item gets from a query's term, whether it holds it or not
  };

  // Checks every number: whatever lies in the arrays, no search reads out of bounds or prunes wrongly.
  Postings(std::size_t items, std::span<const std::int64_t> offsets, std::span<const std::int32_t> numbers,
           std::span<const float> impacts, const Terms& of_terms)
      : items_(items), offsets_(offsets), numbers_(numbers), impacts_(impacts), terms_(of_terms) {
    require(items <= INT32_MAX, "an index holds fewer than 2^31 items");
    check_offsets();
    check_terms();
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
  std::span<const float> priorities() const {
    return terms_.priorities.empty() ? std::span<const float>(bounds_) : terms_.priorities;
  }
  double absent(std::size_t term) const { return terms_.absent.empty() ? 0 : terms_.absent[term]; }
  std::size_t block_bytes() const {
    return blocks_.size() * sizeof(Block) + block_offsets_.size() * sizeof(std::int64_t) +
           bounds_.size() * sizeof(float);
  }

  List list(std::size_t term) const {
    const std::size_t begin = at(offsets_[term]);
    const std::size_t count = at(offsets_[term + 1]) - begin;
    const std::size_t first = at(block_offsets_[term]);
    return {numbers_.subspan(begin, count), impacts_.data() + begin,
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

  void check_terms() const {
    require(terms_.priorities.empty() || terms_.priorities.size() == terms(), "there must be a priority for each term");
    for (float priority : terms_.priorities)
      require(priority >= 0 && std::isfinite(priority), "priorities must be finite and not negative");
    require(terms_.absent.empty() || terms_.absent.size() == terms(), "there must be an absent share for each term");
    for (double share : terms_.absent)
      require(share >= 0 && std::isfinite(share), "absent shares must be finite and not negative");
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
  Terms terms_;
  std::vector<std::int64_t> block_offsets_;
  std::vector<Block> blocks_;
  std::vector<float> bounds_;
};

}  // namespace vizsla
