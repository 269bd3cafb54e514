// Exact top-k over a bag index. Items are worked through in windows whose sums stay in the cache. Bitmaps are rounded
// up to find what may pass, and the lightest are left for last; only for the items that could still make it are they
// looked up, as they are. Neither ever changes the answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/prefetch.hpp"
#include "common/topk.hpp"
#include "postings/bag_blocks.hpp"
#include "postings/bag_query.hpp"
#include "postings/bag_slices.hpp"
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
      while (next < places_.size() && item_at(next) < block.first + block.items)
        next = score_window(index, block, next, scores);
    }
  }

  // Postings that the last call read, and single look-ups that it made.
  std::size_t read() const { return read_; }

 private:
  static constexpr std::uint32_t window = 16'384;
  static constexpr std::uint32_t first_window = 2'048;  // what passes is known soon, and few are looked at in vain
  static constexpr std::uint32_t short_list = 512;      // is added to a block's sums at once
  static constexpr std::size_t ahead = 12;              // lists that are asked for from memory before they are added
  static constexpr int precision = 8;                   // bits of what an item needs to pass, when bitmaps are rounded
  static constexpr std::size_t lookup_cost = 48;        // looking up an item in a bitmap, in words added
  static constexpr std::size_t few_bitmaps = 12;        // as many as their sums have digits, or hardly more

  struct Hit {
    const std::uint16_t* data;
    std::uint32_t size;
    std::int32_t units;
    std::uint32_t at = 0;  // the first place of the list that is not below the last window's end
  };

  // The lists and the bitmaps of the query's tokens, which ascend.
  void find_lists(const BagBlocks::Block& block) {
    lists_.clear();
    bitmaps_.clear();
    std::size_t from = 0;
    for (const BagQuery::Term& term : query_.terms()) {
      const std::size_t at = block.find(term.token, from);
      if (at == block.tokens.size()) continue;
      from = at;
      const BagList list = block.list(at);
      (list.bitmap ? bitmaps_ : lists_).push_back({list.data, list.size, term.units});
    }
  }

  void search_block(const BagView& index, const BagBlocks::Block& block, float largest) {
    find_lists(block);
    if (lists_.empty() && bitmaps_.empty()) return;
    // All cost the same; those that weigh least are the first to be left.
    std::sort(bitmaps_.begin(), bitmaps_.end(), [](const Hit& a, const Hit& b) { return a.units > b.units; });
    add_short_lists();
    const float* norms = index.norms.data() + block.first;
    const auto items = static_cast<std::uint32_t>(block.items);
    for (std::uint32_t low = 0; low < items;) {
      const std::uint32_t high = std::min(low + window_after(block.first + low), items);
      search_window(block, norms, largest, low, high);
      low = high;
    }
  }

  // As large as what is known to pass is worth: as many items as were seen before.
  static std::uint32_t window_after(std::size_t seen) {
    return static_cast<std::uint32_t>(
        std::clamp<std::size_t>(seen / first_window * first_window, first_window, window));
  }

  void search_window(const BagBlocks::Block& block, const float* norms, float largest, std::uint32_t low,
                     std::uint32_t high) {
    add_long_lists(low, high);
    const float passing = top_.threshold() / query_.unit();
    std::size_t added = bitmaps_.size();
    slices_.start(std::clamp(std::ilogb(passing / largest), precision, precision + 16) - precision);
    if (passing > 0 && bitmaps_.size() > few_bitmaps) {
      added -= left_for_last(passing, largest);
      add_sliced(added, low, high);
    } else {
      left_ = 0;
      add_bitmaps(0, added, low / 16, (high + 15) / 16);
    }
    collect(block, norms, largest, low, high);
    if (added < bitmaps_.size()) added = add_left(block, norms, largest, low, high, added);
    push(block, norms, added);
    std::fill_n(sums_.begin() + low, high - low, 0);
    top_.settle();
  }

  // If more is to be looked up than to be added: adds it, and looks less far next time.
  std::size_t add_left(const BagBlocks::Block& block, const float* norms, float largest, std::uint32_t low,
                       std::uint32_t high, std::size_t added) {
    const std::size_t looking = found_.size() * lookup_cost, saved = (high - low) / 16;
    if (looking * 4 < saved) share_ = std::min(share_ * 1.15, 0.95);
    if (looking <= saved) return added;
    add_bitmaps(added, bitmaps_.size(), low / 16, (high + 15) / 16);
    left_ = 0;
    collect(block, norms, largest, low, high);
    share_ *= 0.7;
    return bitmaps_.size();
  }

  // How many bitmaps, from the end, weigh together less than a share of what an item needs to pass.
  std::size_t left_for_last(float passing, float largest) {
    const double room = share_ * double{passing} / double{largest};
    std::size_t count = 0;
    double sum = 0;
    left_ = 0;
    for (; count < bitmaps_.size(); ++count) {
      sum += bitmaps_[bitmaps_.size() - 1 - count].units;
      if (sum >= room) break;
      left_ = static_cast<std::int32_t>(sum);
    }
    return count;
  }

  void add_short_lists() {
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (i + ahead < lists_.size()) prefetch(lists_[i + ahead]);
      if (lists_[i].size < short_list) add_places(lists_[i], 0, BagBlocks::most_items);
    }
    std::erase_if(lists_, [](const Hit& hit) { return hit.size < short_list; });
  }

  void add_long_lists(std::uint32_t low, std::uint32_t high) {
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (i + ahead < lists_.size()) prefetch(lists_[i + ahead]);
      add_places(lists_[i], low, high);
    }
  }

  // A window's part of a list is short, so that the processor would see where it goes on only when it is over.
  VIZSLA_PREFETCHES static void prefetch(const Hit& hit) {
    const char* const next = reinterpret_cast<const char*>(hit.data + hit.at);
    for (std::size_t line = 0; line < 8; ++line) __builtin_prefetch(next + 64 * line);
  }

  void add_places(Hit& hit, std::uint32_t low, std::uint32_t high) {
    const std::uint16_t* const end = hit.data + hit.size;
    const std::uint16_t* at = hit.data + hit.at;
    if (at < end && *at < low) at = std::lower_bound(at, end, low);
    const std::uint16_t* const after = bag_sums::add_places(at, end, high, hit.units, sums_.data());
    read_ += static_cast<std::size_t>(after - at);
    hit.at = static_cast<std::uint32_t>(after - hit.data);
  }

  // Words from `first` to `last` of some bitmaps.
  void add_bitmaps(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    bag_sums::Bits bits;
    for (std::size_t i = begin; i < end; ++i) {
      bits.take(bitmaps_[i].data, bitmaps_[i].units);
      if (bits.full() || i + 1 == end) bag_sums::add_bits(bits, first, last, sums_.data());
    }
    read_ += (end - begin) * (last - first);
  }

  // The first bitmaps, rounded up: enough to find what may pass.
  void add_sliced(std::size_t count, std::uint32_t low, std::uint32_t high) {
    const std::size_t sliced = std::min(count, BagSlices::most);
    for (std::size_t i = 0; i < sliced; ++i) slices_.take(bitmaps_[i].data, bitmaps_[i].units);
    const std::size_t first = low / 16, last = (high + 15) / 16, end = slices_.add(first, last);
    slices_.add_to(sums_.data() + low);
    read_ += sliced * (end - first);
    if (end < last) add_bitmaps(0, sliced, end, last);
    if (sliced < count) add_bitmaps(sliced, count, first, last);
  }

  // The places that can still make it when the bitmaps that were left out are looked up.
  void collect(const BagBlocks::Block& block, const float* norms, float largest, std::uint32_t low,
               std::uint32_t high) {
    found_.clear();
    const float passing = top_.threshold() / query_.unit();
    const auto passes = [&](std::uint32_t place) {
      return may_pass(sums_[place] + left_, norms[place], passing) &&
             (allowed_.empty() || allowed_[block.first + place] != 0);
    };
    const std::size_t groups = (high - low) / bag_sums::group;
    groups_.resize(groups + 1);
    const bag_sums::Pass pass{left_, largest, passing};
    const std::size_t passing_groups =
        bag_sums::passing_groups(sums_.data() + low, norms + low, groups, pass, groups_.data());
    for (std::size_t i = 0; i < passing_groups; ++i) {
      const std::uint32_t first = low + groups_[i] * static_cast<std::uint32_t>(bag_sums::group);
      for (std::uint32_t place = first; place < first + bag_sums::group; ++place)
        if (passes(place)) found_.push_back(place);
    }
    for (auto place = low + static_cast<std::uint32_t>(groups * bag_sums::group); place < high; ++place)
      if (passes(place)) found_.push_back(place);
  }

  static bool may_pass(std::int32_t sum, float norm, float passing) { return static_cast<float>(sum) * norm > passing; }

  void push(const BagBlocks::Block& block, const float* norms, std::size_t added) {
    for (const std::uint32_t place : found_) {
      const float norm = norms[place], passing = top_.threshold() / query_.unit();
      if (!may_pass(sums_[place] + left_, norm, passing)) continue;  // what is needed has risen
      const std::int32_t sum = looked_up(place, sums_[place] - slices_.excess(place), norm, passing, added);
      if (sum > 0) top_.push(ranking_key(scored(sum, norm), static_cast<std::uint32_t>(block.first) + place));
    }
  }

  // The whole sum of an item; 0 as soon as it cannot pass any more.
  std::int32_t looked_up(std::uint32_t place, std::int32_t sum, float norm, float passing, std::size_t added) {
    std::int32_t rest = left_;
    for (std::size_t i = added; i < bitmaps_.size(); ++i) {
      if (!may_pass(sum + rest, norm, passing)) return 0;
      if ((bitmaps_[i].data[place / 16] >> (place % 16) & 1) != 0) sum += bitmaps_[i].units;
      rest -= bitmaps_[i].units;
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
  std::size_t score_window(const BagView& index, const BagBlocks::Block& block, std::size_t next,
                           std::span<float> scores) {
    const auto first = static_cast<std::uint32_t>(item_at(next) - block.first);
    const std::uint32_t low = first / window * window;
    const std::uint32_t high = std::min<std::uint32_t>(low + window, static_cast<std::uint32_t>(block.items));
    std::size_t last = next;
    while (last < places_.size() && item_at(last) < block.first + high) ++last;
    const bool dense = (last - next) * cost_of_one() > cost_of_all() * (high - low) / block.items;
    if (dense) {
      add_long_lists(low, high);
      add_bitmaps(0, bitmaps_.size(), low / 16, (high + 15) / 16);
    }
    for (; next < last; ++next) {
      const auto place = static_cast<std::uint32_t>(item_at(next) - block.first);
      const std::int32_t sum = dense ? sums_[place] : sum_of(place);
      scores[places_[next] & UINT32_MAX] = scored(sum, index.norms[item_at(next)]);
    }
    if (dense) std::fill_n(sums_.begin() + low, high - low, 0);
    return next;
  }

  // Of looking up an item, and of adding all lists, in postings added.
  std::size_t cost_of_one() const { return 64 * (lists_.size() + bitmaps_.size()); }
  std::size_t cost_of_all() const {
    std::size_t cost = 0;
    for (const Hit& hit : lists_) cost += hit.size;
    for (const Hit& hit : bitmaps_) cost += hit.size * std::size_t{bag_sums::has_avx512() ? 1U : 4U};
    return cost;
  }

  std::int32_t sum_of(std::uint32_t place) {
    std::int32_t sum = 0;
    for (const Hit& hit : lists_) sum += BagList{hit.data, hit.size, false}.has(place) ? hit.units : 0;
    for (const Hit& hit : bitmaps_) sum += BagList{hit.data, hit.size, true}.has(place) ? hit.units : 0;
    read_ += lists_.size() + bitmaps_.size();
    return sum;
  }

  BagQuery query_;
  std::vector<Hit> lists_, bitmaps_;  // the block's; in a search, the heaviest bitmaps first
  std::vector<std::int32_t> sums_;
  std::vector<std::uint32_t> found_, groups_;
  std::vector<std::uint64_t> places_;
  BagSlices slices_;
  std::span<const std::uint8_t> allowed_;
  TopK top_;
  double share_ = 0.5;     // how much of what an item needs may be left for last
  std::int32_t left_ = 0;  // the units of the lists that are left for last
  std::size_t read_ = 0;
};

}  // namespace vizsla
