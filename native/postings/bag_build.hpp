// Rows of distinct tokens become the lists of a bag index, block by block: a counting sort in linear time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/checks.hpp"
#include "common/growing_array.hpp"
#include "common/threads.hpp"
#include "postings/bag_blocks.hpp"

namespace vizsla {

struct BuiltBlocks {
  std::vector<std::int32_t> items;
  std::vector<std::int64_t> token_offsets{0}, data_offsets{0};
  GrowingArray<std::int32_t> tokens;
  GrowingArray<std::uint32_t> starts;
  GrowingArray<std::uint16_t> data;
};

class BagBuild {
 public:
  explicit BagBuild(std::size_t token_count)
      : counts_(token_count, 0), place_of_(token_count, 0), last_(token_count, 0) {}

  // Rows need not be sorted; a row must name each token once.
  BuiltBlocks build(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens,
                    const Poll& poll = {}) {
    require(!offsets.empty() && offsets.front() == 0 && static_cast<std::uint64_t>(offsets.back()) == tokens.size(),
            "row offsets must rise from 0 to the number of tokens");
    for (std::size_t i = 1; i < offsets.size(); ++i)
      require(offsets[i - 1] <= offsets[i], "row offsets must not decrease");
    require(offsets.size() - 1 <= INT32_MAX, "an index holds fewer than 2^31 items");
    for (const std::int32_t token : tokens)
      require(token >= 0 && static_cast<std::size_t>(token) < counts_.size(),
              "tokens must be below the number of tokens");
    for (std::size_t first = 0; first + 1 < offsets.size(); first += BagBlocks::most_items) {
      if (poll) poll();
      add(offsets.subspan(first, std::min(BagBlocks::most_items, offsets.size() - 1 - first) + 1), tokens);
    }
    return std::move(built_);
  }

 private:
  void add(std::span<const std::int64_t> offsets, std::span<const std::int32_t> tokens) {
    const std::size_t items = offsets.size() - 1;
    const auto bitmap = static_cast<std::uint32_t>(BagBlocks::bitmap_size(items));
    const auto mine = tokens.subspan(static_cast<std::size_t>(offsets.front()),
                                     static_cast<std::size_t>(offsets.back() - offsets.front()));
    for (const std::int32_t token : mine) ++counts_[static_cast<std::size_t>(token)];
    std::uint16_t* const lists = lay_out(bitmap, mine.size());
    for (std::size_t item = 0; item < items; ++item) {
      for (std::int64_t i = offsets[item]; i < offsets[item + 1]; ++i)
        put(static_cast<std::size_t>(tokens[static_cast<std::size_t>(i)]), static_cast<std::uint32_t>(item), lists);
    }
    for (const std::int32_t token : mine) counts_[static_cast<std::size_t>(token)] = 0;
    built_.items.push_back(static_cast<std::int32_t>(items));
  }

  // Gives each token its list, and returns where the block's lists begin.
  std::uint16_t* lay_out(std::uint32_t bitmap, std::size_t postings) {
    // A bitmap is faster to search than a list of half its size, and taken if a posting still needs no more than two
    // bytes.
    frequent_ = (bitmap + 1) / 2;
    if (size_with(bitmap) > postings) frequent_ = bitmap;
    std::uint64_t size = 0;
    for (std::size_t token = 0; token < counts_.size(); ++token) {
      if (counts_[token] == 0) continue;
      built_.tokens.push_back(static_cast<std::int32_t>(token));
      built_.starts.push_back(static_cast<std::uint32_t>(size));
      place_of_[token] = static_cast<std::uint32_t>(size);
      last_[token] = 0;
      size += counts_[token] < frequent_ ? counts_[token] : bitmap;
      require(size <= UINT32_MAX, "a block holds fewer than 2^32 postings");
    }
    built_.starts.push_back(static_cast<std::uint32_t>(size));
    std::uint16_t* const lists = built_.data.room(size);
    std::fill_n(lists, size, std::uint16_t{0});
    built_.data.take(size);
    built_.token_offsets.push_back(static_cast<std::int64_t>(built_.tokens.size()));
    built_.data_offsets.push_back(static_cast<std::int64_t>(built_.data.size()));
    return lists;
  }

  // Of the lists and what names them, a token and a start each, in data's words.
  std::uint64_t size_with(std::uint32_t bitmap) const {
    constexpr std::uint64_t name = (sizeof(std::int32_t) + sizeof(std::uint32_t)) / sizeof(std::uint16_t);
    std::uint64_t size = 0;
    for (const std::uint32_t count : counts_)
      if (count > 0) size += name + (count < frequent_ ? count : bitmap);
    return size;
  }

  void put(std::size_t token, std::uint32_t item, std::uint16_t* lists) {
    require(last_[token] != item + 1, "a row must name each token once");
    last_[token] = item + 1;
    if (counts_[token] >= frequent_) {
      std::uint16_t& word = lists[place_of_[token] + item / 16];
      word = static_cast<std::uint16_t>(word | 1U << item % 16);
    } else {
      lists[place_of_[token]++] = static_cast<std::uint16_t>(item);
    }
  }

  std::vector<std::uint32_t> counts_, place_of_, last_;
  std::uint32_t frequent_ = 0;  // tokens of so many items get a bitmap
  BuiltBlocks built_;
};

// The rows again, tokens ascending: what merging small blocks, and learning from items, need.
inline void unbuild(const BagBlocks::Block& block, std::vector<std::int64_t>& offsets,
                    std::vector<std::int32_t>& tokens) {
  std::vector<std::int64_t> next(block.items + 1, 0);
  const auto each = [&block](std::size_t at, const auto& visit) {
    const BagList list = block.list(at);
    if (!list.bitmap) {
      for (std::uint32_t i = 0; i < list.size; ++i) visit(std::size_t{list.data[i]});
      return;
    }
    for (std::uint32_t word = 0; word < list.size; ++word)
      for (std::uint32_t bits = list.data[word]; bits != 0; bits &= bits - 1)
        visit(std::size_t{16} * word + static_cast<std::size_t>(std::countr_zero(bits)));
  };
  for (std::size_t at = 0; at < block.tokens.size(); ++at) each(at, [&](std::size_t place) { ++next[place + 1]; });
  const auto begin = static_cast<std::int64_t>(tokens.size());
  for (std::size_t item = 0; item < block.items; ++item) {
    next[item + 1] += next[item];
    offsets.push_back(begin + next[item + 1]);
  }
  tokens.resize(static_cast<std::size_t>(begin + next[block.items]));
  for (std::size_t at = 0; at < block.tokens.size(); ++at)
    each(at, [&](std::size_t place) { tokens[static_cast<std::size_t>(begin + next[place]++)] = block.tokens[at]; });
}

}  // namespace vizsla
