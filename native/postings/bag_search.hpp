// Exact top-k over a bag index. Items are worked through in windows whose sums stay in the cache. Lists that are long and
// light are left for last, and looked up only for the items that could still make it: what is left out never changes the
// answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/prefetch.hpp"
#include "common/topk.hpp"
#include "postings/bag_blocks.hpp"
#include "postings/bag_query.hpp"
#include "postings/bag_sums.hpp"

namespace vizsla {

// Blocks of one or more segments, numbered through, and what an item's sum is multiplied by.
struct BagView {
  std::span<const BagBlocks::Block> blocks;
  std::span<const float> norms;    // one an item
  std::span<const float> largest;  // the largest norm of each block
  std::size_t items = 0, tokens = 0;
};

class BagSearcher {
 public:
  struct Question {
    std::span<const std::int32_t> tokens;
    std::span<const float> weights;
    std::size_t k;
    std::span<const std::uint8_t> allowed;  // one flag an item, or empty
  };

  // The keys of the best k, best first; they live until the next search.
  std::span<const std::uint64_t> search(const BagView& index, const Question& question) {
    query_.prepare(question.tokens, question.weights, index.tokens);
    top_.start(std::min(question.k, std::max<std::size_t>(index.items, 1)));
    sums_.resize(BagBlocks::most_items);  // all 0: every window is cleared when it is done
    read_ = 0;
    share_ = 0.5;
    allowed_ = question.allowed;
    for (std::size_t i = 0; i < index.blocks.size(); ++i) search_block(index, index.blocks[i], index.largest[i]);
    return top_.finish();
  }

  // Exact scores of given items, in any order; `scores` is as long as `items`.
  void score(const BagView& index, std::span<const std::int32_t> tokens, std::span<const float> weights,
             std::span<const std::int32_t> items, std::span<float> scores) {
    query_.prepare(tokens, weights, index.tokens);
    sums_.resize(BagBlocks::most_items);  // all 0: every window is cleared when it is done
    read_ = 0;
    sort_places(items);
    std::size_t next = 0;
    for (const BagBlocks::Block& block : index.blocks) {
      if (next == places_.size()) break;
      if (item_at(next) >= block.first + block.items) continue;
      find_lists(block);
      while (next < places_.size() && item_at(next) < block.first + block.items) next = score_window(index, block, next, scores);
    }
  }

  // Postings that the last call read, and single look-ups that it made.
  std::size_t read() const { return read_; }

 private:
  static constexpr std::uint32_t window = 16'384;
  static constexpr std::size_t ahead = 12;        // lists that are asked for from memory before they are added
  static constexpr std::size_t lookup_cost = 64;  // looking up an item in a list that lies in no cache, in postings added

  struct Hit {
    BagList list;
    std::int32_t units;
    std::uint32_t at = 0;  // the first place of the list that is not below the last window's end

    // In postings added.
    std::size_t cost() const { return list.bitmap ? list.size * std::size_t{bag_sums::wide_words() ? 1U : 4U} : list.size; }
  };

  // Both the query's tokens and the block's ascend.
  void find_lists(const BagBlocks::Block& block) {
    hits_.clear();
    auto at = block.tokens.begin();
    for (const BagQuery::Term& term : query_.terms()) {
      std::ptrdiff_t step = 1;
      while (block.tokens.end() - at > step && at[step] < term.token) step *= 2;
      at = std::lower_bound(at, at + std::min(step + 1, block.tokens.end() - at), term.token);
      if (at == block.tokens.end()) break;
      if (*at == term.token) hits_.push_back({block.list(static_cast<std::size_t>(at - block.tokens.begin())), term.units});
    }
  }

  void search_block(const BagView& index, const BagBlocks::Block& block, float largest) {
    find_lists(block);
    if (hits_.empty()) return;
    // Those that cost most for what they weigh come last: they are the first to be left.
    std::sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) {
      const double left = static_cast<double>(a.cost()) * b.units, right = static_cast<double>(b.cost()) * a.units;
      return left != right ? left < right : a.list.data < b.list.data;
    });
    const float* norms = index.norms.data() + block.first;
    for (std::uint32_t low = 0; low < block.items; low += window)
      search_window(block, norms, largest, low, std::min<std::uint32_t>(low + window, static_cast<std::uint32_t>(block.items)));
  }

  void search_window(const BagBlocks::Block& block, const float* norms, float largest, std::uint32_t low, std::uint32_t high) {
    std::size_t added = hits_.size() - left_for_last(largest);
    add(0, added, low, high);
    collect(block, norms, low, high, added);
    // More to look up than to add: so add, and look less far next time.
    const std::size_t late = hits_.size() - added;
    if (late > 0) {
      std::size_t saved = 0;
      for (std::size_t i = added; i < hits_.size(); ++i) saved += hits_[i].cost();
      saved = saved * (high - low) / block.items;
      const std::size_t looking = found_.size() * late * lookup_cost / 2;
      if (looking > saved) {
        add(added, hits_.size(), low, high);
        added = hits_.size();
        collect(block, norms, low, high, added);
        share_ *= 0.7;
      } else if (looking * 4 < saved) {
        share_ = std::min(share_ * 1.15, 0.95);
      }
    }
    push(block, norms, added);
    std::fill_n(sums_.begin() + low, high - low, 0);
    top_.settle();
  }

  // How many lists, from the end, weigh together less than a share of what an item needs to pass.
  std::size_t left_for_last(float largest) {
    const float passing = top_.threshold() / query_.unit();
    left_ = 0;
    if (!(passing > 0) || !(largest > 0)) return 0;
    const double room = share_ * double{passing} / double{largest};
    std::size_t count = 0;
    double sum = 0;
    for (; count < hits_.size(); ++count) {
      sum += hits_[hits_.size() - 1 - count].units;
      if (sum >= room) break;
      left_ = static_cast<std::int32_t>(sum);
    }
    return count;
  }

  void add(std::size_t begin, std::size_t end, std::uint32_t low, std::uint32_t high) {
    bag_sums::Bits bits;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + ahead < end) prefetch(hits_[i + ahead]);
      if (hits_[i].list.bitmap) {
        bits.words[bits.count] = hits_[i].list.data;
        bits.units[bits.count++] = hits_[i].units;
        if (bits.count == bag_sums::Bits::most) add_bits(bits, low, high);
      } else {
        add_places(hits_[i], low, high);
      }
    }
    add_bits(bits, low, high);
  }

  // A window's part of a list is short, so that the processor would see where it goes on only when it is over.
  VIZSLA_PREFETCHES static void prefetch(const Hit& hit) {
    const char* const next = reinterpret_cast<const char*>(hit.list.data + hit.at);
    for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(next + 64 * line);
  }

  void add_bits(bag_sums::Bits& bits, std::uint32_t low, std::uint32_t high) {
    bag_sums::add_bits(bits, low / 16, (high + 15) / 16, sums_.data());
    read_ += bits.count * ((high - low) / 16);
    bits.count = 0;
  }

  void add_places(Hit& hit, std::uint32_t low, std::uint32_t high) {
    const std::uint16_t* const end = hit.list.data + hit.list.size;
    const std::uint16_t* at = hit.list.data + hit.at;
    if (at < end && *at < low) at = std::lower_bound(at, end, low);
    const std::uint16_t* const after = bag_sums::add_places(at, end, high, hit.units, sums_.data());
    read_ += static_cast<std::size_t>(after - at);
    hit.at = static_cast<std::uint32_t>(after - hit.list.data);
  }

  // The places that can still make it when the lists that were left out are looked up.
  void collect(const BagBlocks::Block& block, const float* norms, std::uint32_t low, std::uint32_t high, std::size_t added) {
    found_.clear();
    if (added == hits_.size()) left_ = 0;
    const float passing = top_.threshold() / query_.unit();
    const auto passes = [&](std::uint32_t place) {
      return static_cast<float>(sums_[place] + left_) * norms[place] > passing &&
             (allowed_.empty() || allowed_[block.first + place] != 0);
    };
    const std::size_t groups = (high - low) / bag_sums::group;
    groups_.resize(groups + 1);
    const std::size_t passing_groups =
        bag_sums::passing_groups(sums_.data() + low, norms + low, groups, left_, passing, groups_.data());
    for (std::size_t i = 0; i < passing_groups; ++i) {
      const std::uint32_t first = low + groups_[i] * static_cast<std::uint32_t>(bag_sums::group);
      for (std::uint32_t place = first; place < first + bag_sums::group; ++place)
        if (passes(place)) found_.push_back(place);
    }
    for (auto place = low + static_cast<std::uint32_t>(groups * bag_sums::group); place < high; ++place)
      if (passes(place)) found_.push_back(place);
  }

  void push(const BagBlocks::Block& block, const float* norms, std::size_t added) {
    for (const std::uint32_t place : found_) {
      const float norm = norms[place];
      const std::int32_t sum = looked_up(place, sums_[place], norm, added);
      if (sum > 0) top_.push(ranking_key(scored(sum, norm), static_cast<std::uint32_t>(block.first) + place));
    }
  }

  // The whole sum of an item; 0 as soon as it cannot pass any more.
  std::int32_t looked_up(std::uint32_t place, std::int32_t sum, float norm, std::size_t added) {
    if (added == hits_.size()) return sum;
    const float passing = top_.threshold() / query_.unit();
    std::int32_t rest = left_;
    for (std::size_t i = added; i < hits_.size(); ++i) {
      if (!(static_cast<float>(sum + rest) * norm > passing)) return 0;
      if (hits_[i].list.has(place)) sum += hits_[i].units;
      rest -= hits_[i].units;
      ++read_;
    }
    return sum;
  }

  float scored(std::int32_t sum, float norm) const { return static_cast<float>(sum) * query_.unit() * norm; }

  std::size_t item_at(std::size_t place) const { return static_cast<std::size_t>(places_[place] >> 32); }

  void sort_places(std::span<const std::int32_t> items) {
    places_.clear();
    for (std::size_t i = 0; i < items.size(); ++i) places_.push_back((static_cast<std::uint64_t>(items[i]) << 32) | i);
    if (!std::is_sorted(places_.begin(), places_.end())) std::sort(places_.begin(), places_.end());
  }

  // Scores the items of one window from `next` on, and returns the first beyond it.
  std::size_t score_window(const BagView& index, const BagBlocks::Block& block, std::size_t next, std::span<float> scores) {
    const auto first = static_cast<std::uint32_t>(item_at(next) - block.first);
    const std::uint32_t low = first / window * window;
    const std::uint32_t high = std::min<std::uint32_t>(low + window, static_cast<std::uint32_t>(block.items));
    std::size_t last = next, cost = 0;
    while (last < places_.size() && item_at(last) < block.first + high) ++last;
    for (const Hit& hit : hits_) cost += hit.cost();
    const bool dense = (last - next) * hits_.size() * lookup_cost > cost * (high - low) / block.items;
    if (dense) {
      add(0, hits_.size(), low, high);
    }
    for (; next < last; ++next) {
      const auto place = static_cast<std::uint32_t>(item_at(next) - block.first);
      const std::int32_t sum = dense ? sums_[place] : sum_of(place);
      scores[places_[next] & UINT32_MAX] = scored(sum, index.norms[item_at(next)]);
    }
    if (dense) std::fill_n(sums_.begin() + low, high - low, 0);
    return next;
  }

  std::int32_t sum_of(std::uint32_t place) {
    std::int32_t sum = 0;
    for (const Hit& hit : hits_) sum += hit.list.has(place) ? hit.units : 0;
    read_ += hits_.size();
    return sum;
  }

  BagQuery query_;
  std::vector<Hit> hits_;  // the block's lists; in a search, those that cost least for their weight first
  std::vector<std::int32_t> sums_;
  std::vector<std::uint32_t> found_, groups_;
  std::vector<std::uint64_t> places_;
  std::span<const std::uint8_t> allowed_;
  TopK top_;
  double share_ = 0.5;       // how much of what an item needs may be left for last
  std::int32_t left_ = 0;    // the units of the lists that are left for last
  std::size_t read_ = 0;
};

}  // namespace vizsla
