// Binary inverted lists in blocks of at most 65,536 items: token -> items, as 16-bit places in the block, or as a
// bitmap where that is smaller, or faster and not much larger. A view over flat arrays, which may be memory-mapped.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/checks.hpp"

namespace vizsla {

// A list of one block: a bitmap if it takes as much room as one would, else ascending places.
struct BagList {
  const std::uint16_t* data = nullptr;
  std::uint32_t size = 0;
  bool bitmap = false;

  bool has(std::uint32_t place) const {
    if (bitmap) return (data[place / 16] >> (place % 16) & 1U) != 0;
    const std::uint16_t* at = data;
    for (std::uint32_t count = size; count > 1;) {
      const std::uint32_t half = count / 2;
      at = at[half - 1] < place ? at + half : at;
      count -= half;
    }
    return size > 0 && *at == place;
  }
};

class BagBlocks {
 public:
  static constexpr std::size_t most_items = 65'536;

  BagBlocks() = default;
  BagBlocks(const BagBlocks&) = delete;  // blocks point into it
  BagBlocks& operator=(const BagBlocks&) = delete;

  // A bitmap has a bit for each item. After a large one 32 words are left empty: without them, the same items' words of
  // one bitmap after another would fall into the same few places of the cache.
  static std::size_t bitmap_size(std::size_t items) {
    const std::size_t words = (items + 15) / 16;
    return words + (words >= 1024 ? 32 : 0);
  }

  // One stretch of blocks: `items` has the number of items of each, `tokens` the tokens that each holds, ascending, and
  // `starts` where each token's list begins in `data`, counted from the block's first (one more than tokens, a block).
  struct Arrays {
    std::span<const std::int32_t> items;
    std::span<const std::int64_t> token_offsets, data_offsets;  // one more than blocks
    std::span<const std::int32_t> tokens;
    std::span<const std::uint32_t> starts;
    std::span<const std::uint16_t> data;
  };

  struct Block {
    std::size_t first, items;  // the number of its first item, and how many there are
    std::span<const std::int32_t> tokens;
    const std::uint32_t* starts;
    const std::uint16_t* data;
    std::span<const std::uint32_t>
        shelves;  // how many of its tokens come before each 64th; empty if they are far apart

    // Where a token stands among the block's, looked for from a place on that is not behind it; their number if it is
    // not there.
    std::size_t find(std::int32_t token, std::size_t from) const {
      if (shelves.empty()) return gallop(token, from);
      const auto shelf = static_cast<std::size_t>(token) / 64;
      if (shelf + 1 >= shelves.size()) return tokens.size();
      std::size_t at = shelves[shelf];
      const std::size_t end = shelves[shelf + 1];
      if (end - at == 64) return at + static_cast<std::size_t>(token) % 64;
      std::size_t before = 0;
      for (std::size_t i = at; i < end; ++i) before += tokens[i] < token;
      at += before;
      return at < end && tokens[at] == token ? at : tokens.size();
    }

    std::size_t gallop(std::int32_t token, std::size_t from) const {
      const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(from);
      std::ptrdiff_t step = 1;
      while (tokens.end() - begin > step && begin[step] < token) step *= 2;
      const auto at = std::lower_bound(begin, begin + std::min(step + 1, tokens.end() - begin), token);
      return at != tokens.end() && *at == token ? static_cast<std::size_t>(at - tokens.begin()) : tokens.size();
    }

    std::size_t words() const { return (items + 15) / 16; }
    BagList list(std::size_t at) const {
      const std::uint32_t size = starts[at + 1] - starts[at];
      const bool bitmap = size == bitmap_size(items);
      return {data + starts[at], bitmap ? static_cast<std::uint32_t>(words()) : size, bitmap};
    }
  };

  // Checks every number: whatever lies in the arrays, no search reads out of bounds.
  void add(const Arrays& arrays, std::size_t token_count) {
    const std::size_t blocks = arrays.items.size();
    require(arrays.token_offsets.size() == blocks + 1 && arrays.data_offsets.size() == blocks + 1,
            "there must be an offset for each block, and one more");
    check_rise(arrays.token_offsets, arrays.tokens.size());
    check_rise(arrays.data_offsets, arrays.data.size());
    require(arrays.starts.size() == arrays.tokens.size() + blocks,
            "there must be a start for each list, and one more a block");
    for (std::size_t block = 0; block < blocks; ++block) add_block(arrays, block, token_count);
  }

  std::size_t items() const { return items_; }
  std::size_t postings() const { return postings_; }
  std::span<const Block> blocks() const { return blocks_; }

 private:
  static void check_rise(std::span<const std::int64_t> offsets, std::size_t end) {
    require(offsets.front() == 0 && static_cast<std::uint64_t>(offsets.back()) == end &&
                std::is_sorted(offsets.begin(), offsets.end()),
            "block offsets must rise from 0 to the number of entries");
  }

  void add_block(const Arrays& arrays, std::size_t number, std::size_t token_count) {
    const std::int32_t count = arrays.items[number];
    require(count > 0 && static_cast<std::size_t>(count) <= most_items, "a block must hold from 1 to 65,536 items");
    const auto begin = static_cast<std::size_t>(arrays.token_offsets[number]);
    const std::size_t lists = static_cast<std::size_t>(arrays.token_offsets[number + 1]) - begin;
    const auto data = static_cast<std::size_t>(arrays.data_offsets[number]);
    const std::size_t size = static_cast<std::size_t>(arrays.data_offsets[number + 1]) - data;
    Block block{items_,
                static_cast<std::size_t>(count),
                arrays.tokens.subspan(begin, lists),
                arrays.starts.data() + begin + number,
                arrays.data.data() + data,
                {}};
    check_tokens(block.tokens, token_count);
    block.shelves = shelve(block.tokens);
    require(
        block.starts[0] == 0 && block.starts[lists] == size && std::is_sorted(block.starts, block.starts + lists + 1),
        "starts must rise from 0 to the block's end");
    for (std::size_t at = 0; at < lists; ++at) postings_ += checked_list(block.list(at), block);
    items_ += block.items;
    require(items_ <= INT32_MAX, "an index holds fewer than 2^31 items");
    blocks_.push_back(block);
  }

  // Shelves take less room than lists, or there are none.
  std::span<const std::uint32_t> shelve(std::span<const std::int32_t> tokens) {
    if (tokens.empty() || static_cast<std::size_t>(tokens.back()) / 64 >= tokens.size()) return {};
    std::vector<std::uint32_t> shelves;
    std::uint32_t before = 0;
    for (std::int64_t first = 0; before < tokens.size(); first += 64) {
      shelves.push_back(before);
      while (before < tokens.size() && tokens[before] < first + 64) ++before;
    }
    shelves.push_back(before);
    shelves_.push_back(std::move(shelves));
    return shelves_.back();
  }

  static void check_tokens(std::span<const std::int32_t> tokens, std::size_t token_count) {
    std::int64_t before = -1;
    for (const std::int32_t token : tokens) {
      require(token > before, "a block's tokens must ascend");
      before = token;
    }
    require(before < static_cast<std::int64_t>(token_count), "tokens must be below the number of tokens");
  }

  // Counts the list's items.
  static std::size_t checked_list(const BagList& list, const Block& block) {
    if (list.bitmap) return checked_bitmap(list, block);
    std::int32_t before = -1;
    bool ascending = true;
    for (std::uint32_t i = 0; i < list.size; ++i) {
      ascending &= static_cast<std::int32_t>(list.data[i]) > before;
      before = list.data[i];
    }
    require(ascending && before < static_cast<std::int32_t>(block.items),
            "a list's items must ascend and be of its block");
    return list.size;
  }

  static std::size_t checked_bitmap(const BagList& list, const Block& block) {
    const std::size_t beyond = block.words() * 16 - block.items;
    require((list.data[list.size - 1] >> (16 - beyond)) == 0, "a bitmap must not go beyond its block");
    const std::uint16_t* const end = list.data + bitmap_size(block.items);
    const bool empty = std::all_of(list.data + list.size, end, [](std::uint16_t word) { return word == 0; });
    require(empty, "a bitmap must not go beyond its block");
    std::size_t found = 0;
    for (std::uint32_t word = 0; word < list.size; ++word)
      found += static_cast<std::size_t>(std::popcount(list.data[word]));
    return found;
  }

  std::size_t items_ = 0, postings_ = 0;
  std::vector<Block> blocks_;
  std::vector<std::vector<std::uint32_t>> shelves_;  // which the blocks point to
};

}  // namespace vizsla
