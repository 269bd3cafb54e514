// A place in one inverted list that only moves forward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/prefetch.hpp"
#include "postings/query.hpp"

namespace vizsla {

VIZSLA_PREFETCHES inline void prefetch_impact(const float* impacts, std::size_t at) {
  __builtin_prefetch(impacts + at);
}

template <class Impacts>
class ListCursor {
 public:
  using List = PostingList<Impacts>;

  static constexpr std::int64_t no_item = std::numeric_limits<std::int64_t>::max();

  // No posting of a block gives more than `bound_weight` times the block's bound; mostly it is the weight.
  ListCursor(const List& list, float weight, double bound_weight)
      : list_(list),
        items_(list.items.data()),
        impacts_(list.impacts),
        blocks_(list.blocks.data()),
        count_(list.items.size()),
        block_count_(list.blocks.size()),
        weight_(weight),
        bound_weight_(bound_weight) {}

  const List& list() const { return list_; }
  float weight() const { return weight_; }

  // Short lists are over before the processor has guessed where they lie.
  VIZSLA_PREFETCHES void prefetch() const {
    constexpr std::size_t line = 64 / sizeof(std::int32_t), lines = 2;
    for (std::size_t at = 0; at < std::min(count_, lines * line); at += line) {
      __builtin_prefetch(items_ + at);
      prefetch_impact(impacts_, at);
    }
  }

  // Moves to the first item from `low` on, and returns it.
  std::int64_t seek(std::int64_t low) {
    if (position_ < count_ && items_[position_] >= low) return items_[position_];
    seek_block(low);
    position_ = std::max(position_, block_ * List::block_size);
    if (position_ >= count_) return no_item;
    position_ = first_from(position_, block_end(block_), static_cast<std::int32_t>(low));
    return items_[position_];
  }

  // The most that an item in [low, high) can get from this list, by the bounds of the blocks that reach into it.
  double bound(std::int64_t low, std::int64_t high) {
    seek_block(low);
    float largest = 0;
    blocks_met_ = 0;
    for (std::size_t block = block_; block < block_count_; ++block) {
      largest = std::max(largest, blocks_[block].bound);
      ++blocks_met_;
      if (blocks_[block].last >= high - 1) break;
    }
    return blocks_met_ == 0 ? 0 : Query::largest_product(bound_weight_, largest);
  }

  // At most so many postings lie in the range that was last bounded.
  std::size_t postings_met() const { return blocks_met_ * List::block_size; }

  // What the item gets from this list. Items must be asked for in ascending order.
  float value(std::int64_t item) { return seek(item) == item ? weight_ * impacts_[position_] : 0.0F; }

  // Calls `add(item - low, value)` for every posting in [low, high), and returns how many there were.
  template <class Add>
  std::size_t walk(std::int64_t low, std::int64_t high, const Add& add) {
    seek(low);
    begin_ = position_;
    // Copies: what `add` writes could be these members, for all the compiler knows.
    const auto step = [items = items_, impacts = impacts_, weight = weight_, base = static_cast<std::int32_t>(low),
                       &add](std::size_t i) { add(static_cast<std::uint32_t>(items[i] - base), weight * impacts[i]); };
    std::size_t at = begin_;
    // A block that ends inside the range needs no look at each item.
    for (std::size_t block = at / List::block_size; block < block_count_ && blocks_[block].last < high; ++block) {
      for (const std::size_t end = block_end(block); at < end; ++at) step(at);
    }
    for (; at < count_ && items_[at] < high; ++at) step(at);
    position_ = at;
    return position_ - begin_;
  }

  // Adds every posting in [low, high) to `sums[item - low]`, and returns how many there were: a walk that knows that a
  // list names no item twice, and so need not wait for one sum before it reads the next.
  std::size_t add_to(std::int64_t low, std::int64_t high, float* sums) {
    seek(low);
    begin_ = position_;
    std::size_t end = begin_;
    for (std::size_t block = end / List::block_size; block < block_count_ && blocks_[block].last < high; ++block) {
      end = block_end(block);
    }
    while (end < count_ && items_[end] < high) ++end;
    add_range(begin_, end, sums - low);
    position_ = end;
    return position_ - begin_;
  }

  // Calls `visit(item - low)` for every posting of the last walk.
  template <class Visit>
  void again(std::int64_t low, const Visit& visit) const {
    for (std::size_t at = begin_; at < position_; ++at)
      visit(static_cast<std::uint32_t>(items_[at] - static_cast<std::int32_t>(low)));
  }

 private:
  // The first place from `begin` on whose item is not below `low`; the last one is not. Halves without a branch: where
  // an item lies in its block cannot be guessed.
  std::size_t first_from(std::size_t begin, std::size_t end, std::int32_t low) const {
    const std::int32_t* at = items_ + begin;
    for (std::size_t count = end - begin; count > 1;) {
      const std::size_t half = count / 2;
      at = at[half - 1] < low ? at + half : at;
      count -= half;
    }
    return static_cast<std::size_t>(at - items_);
  }

  void add_range(std::size_t at, std::size_t end, float* sums) const {
    const std::int32_t* const items = items_;
    const Impacts impacts = impacts_;
    const float weight = weight_;
    for (; at + 4 <= end; at += 4) {
      float* const a = sums + items[at];
      float* const b = sums + items[at + 1];
      float* const c = sums + items[at + 2];
      float* const d = sums + items[at + 3];
      const float of_a = *a + weight * impacts[at], of_b = *b + weight * impacts[at + 1];
      const float of_c = *c + weight * impacts[at + 2], of_d = *d + weight * impacts[at + 3];
      *a = of_a;
      *b = of_b;
      *c = of_c;
      *d = of_d;
    }
    for (; at < end; ++at) sums[items[at]] += weight * impacts[at];
  }

  std::size_t block_end(std::size_t block) const { return std::min(count_, (block + 1) * List::block_size); }

  void seek_block(std::int64_t low) {
    while (block_ < block_count_ && blocks_[block_].last < low) ++block_;
  }

  List list_;
  const std::int32_t* items_;
  Impacts impacts_;
  const Block* blocks_;
  std::size_t count_, block_count_;
  float weight_;
  double bound_weight_;
  std::size_t position_ = 0, begin_ = 0, block_ = 0, blocks_met_ = 0;
};

using Cursor = ListCursor<const float*>;

}  // namespace vizsla
