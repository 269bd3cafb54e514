// Exact top-k over the lists of a query. Items are worked through in windows whose accumulators stay in the cache. In
// each window the lists whose bounds cannot lift an item over the threshold by themselves are left for last (MaxScore),
// and are looked up only for the items that could still make it. What is left out never changes the answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compress_indices.hpp"
#include "common/score_requests.hpp"
#include "common/topk.hpp"
#include "postings/cursor.hpp"
#include "postings/probe.hpp"
#include "postings/window_sums.hpp"

namespace vizsla {

// What an item's sum is multiplied by, where there is such a thing: a number for each length.
struct LengthNorms {
  std::span<const std::uint32_t> lengths;  // of each item, in halves; empty where sums are scores
  std::span<const float> norms;            // by length, in wholes
  float smallest = 1, largest = 1;         // of the items that hold anything

  bool any() const { return !lengths.empty(); }
  float of(std::size_t item) const { return norms[lengths[item] / 2]; }
};

template <class Impacts>
class WindowSearch {
 public:
  using Cursor = ListCursor<Impacts>;

  struct Question {
    std::size_t k;
    std::size_t items;                      // in these lists
    std::size_t first = 0;                  // what the first of them is called in the answer
    std::span<const std::uint8_t> allowed;  // one bit an item, the lowest of a byte first, or empty
    float base = 0;                         // what every item gets besides
    ScoreRequests also = {};
    LengthNorms norms = {};
  };

  // The lists of a query, in the order in which they are added up. Fill them before each search.
  std::vector<Cursor>& cursors() { return cursors_; }

  // Pushes all items that may be among the best. `bounds` has the most that each list gives. What `top` holds already
  // must be of lower items: these lose a tie.
  void search(const Question& question, std::span<const double> bounds, TopK& top) {
    start(question, bounds, top);
    std::int64_t low = 0;
    while ((low = next_item(low)) < static_cast<std::int64_t>(question.items)) {
      const std::int64_t high = std::min<std::int64_t>(low + window, static_cast<std::int64_t>(question.items));
      const std::size_t essential = bound_lists(low, high);
      if (essential > 0) search_window(low, high, essential, question);
      low = high;
    }
  }

  // Postings that the last search read.
  std::size_t read() const { return read_; }

 private:
  // 32 KB of accumulators: they share the first two cache levels with the postings that stream by.
  static constexpr std::int64_t window = 8192;
  // Looking up one item costs about as much as adding this many postings.
  static constexpr std::size_t lookup_cost = 48;

  void start(const Question& question, std::span<const double> bounds, TopK& top) {
    rest_.assign(cursors_.size() + 1, 0);
    whole_rest_.assign(cursors_.size() + 1, 0);
    for (std::size_t i = cursors_.size(); i-- > 0;) whole_rest_[i] = whole_rest_[i + 1] + bounds[i];
    // A float sum of n products may exceed the sum of their bounds by a few units of the last place for each.
    rounding_ = 1 - static_cast<double>(cursors_.size() + 4) * 0x1p-22;
    base_ = question.base;
    first_ = static_cast<std::uint32_t>(question.first);
    top_ = &top;
    sums_.resize(window);  // all 0: every window is cleared when it is done
    found_.resize(window + 1);
    norms_ = question.norms;
    cut_ = cut_of(top.threshold());
    read_ = 0;
  }

  // The first item from `low` on that the whole lists' bounds do not rule out.
  std::int64_t next_item(std::int64_t low) {
    std::int64_t next = Cursor::no_item;
    for (std::size_t i = 0; whole_rest_[i] > cut_; ++i) next = std::min(next, cursors_[i].seek(low));
    return next;
  }

  // Fills in the bounds for the window, and returns how many lists from the first on are needed to pass the threshold.
  std::size_t bound_lists(std::int64_t low, std::int64_t high) {
    for (std::size_t i = cursors_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + cursors_[i].bound(low, high);
    std::size_t essential = 0;
    while (rest_[essential] > cut_) ++essential;
    return essential;
  }

  void search_window(std::int64_t low, std::int64_t high, std::size_t essential, const Question& question) {
    std::size_t added = 0, found = 0;
    const bool is_long = postings_met(essential) > 2 * static_cast<std::size_t>(high - low);
    if (is_long) {
      essential = walk_while_it_pays(low, high, essential, question, added);
      found = window_sums_.collect(sums_of(low, high), to_pass(essential), found_.data());
    }
    for (std::size_t i = 0; i < essential && !is_long; ++i)
      added += add_and_collect(cursors_[i], low, high, to_pass(essential), found);
    std::size_t walked = essential;
    found = keep_allowed(found, low, question.allowed);
    for (std::size_t i = essential; i < cursors_.size() && found > 0; ++i) {
      if (walked == i && found * lookup_cost > cursors_[i].postings_met()) {
        added += add(cursors_[i], low, high);
        ++walked;
      } else {
        look_up(i, low, found, walked == i && !is_long);
      }
      found = keep_passing(found, to_pass(i + 1));
    }
    note_also(low, high, walked, question.also);
    for (std::size_t i = 0; i < found; ++i) push(found_[i], low);
    raise_threshold();
    clear(low, high, walked, added);
  }

  // The scores that are wanted besides are complete in a window where all lists were walked that have anything in it;
  // else the other lists' bounds tell what they are at most.
  void note_also(std::int64_t low, std::int64_t high, std::size_t walked, const ScoreRequests& also) {
    if (also.items.empty()) return;
    also_here_.resize(also.items.size() + compress_slack);
    const WithinRange window_here{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high - low)};
    const std::size_t count = compress_indices(also.items, window_here, also_here_.data());
    const auto places = std::span<const std::uint32_t>(also_here_).first(count);
    const auto sum_of = [sums = sums_.data(), items = also.items.data(),
                         first = static_cast<std::int32_t>(low)](std::uint32_t at) { return sums[items[at] - first]; };
    if (rest_[walked] <= 0) {
      for (const std::uint32_t at : places) also.scores[at] = sum_of(at) + base_;
    } else {
      const double rest = rest_[walked], factor = 2 - rounding_, base = base_;
      for (const std::uint32_t at : places)
        also.bounds[at] = static_cast<float>((double{sum_of(at)} + rest) * factor + base);
    }
  }

  std::size_t postings_met(std::size_t essential) const {
    std::size_t postings = 0;
    for (std::size_t i = 0; i < essential; ++i) postings += cursors_[i].postings_met();
    return postings;
  }

  std::span<const float> sums_of(std::int64_t low, std::int64_t high) const {
    return std::span(sums_).first(static_cast<std::size_t>(high - low));
  }

  // Long queries read a window many times over. Their lists are added without a look at single items; now and then the
  // sums as a whole say what the k-th best has already, and whether so few can still pass it that it is cheaper to look
  // up the rest for them alone. Returns how many lists were added.
  std::size_t walk_while_it_pays(std::int64_t low, std::int64_t high, std::size_t essential, const Question& question,
                                 std::size_t& added) {
    const auto width = static_cast<std::size_t>(high - low);
    std::size_t i = 0, seen = 0;
    while (i < cursors_.size()) {
      if (i + 2 < cursors_.size()) cursors_[i + 2].prefetch();
      added += add(cursors_[i++], low, high);
      if (i == cursors_.size() || (added - seen < width && i != essential)) continue;
      seen = added;
      const float kth =
          window_sums_.kth_above(sums_of(low, high), question.allowed, static_cast<std::size_t>(low), question.k);
      cut_ = std::max(cut_, cut_of((kth + base_) * norms_.smallest));
      if (rest_[i] > cut_) continue;
      if (count_above(sums_of(low, high), to_pass(i)) * lookup_cost <= cursors_[i].postings_met()) break;
    }
    return i;
  }

  // What an item must have more of, when only the lists from `done` on are still to come.
  float to_pass(std::size_t done) const {
    const double sum = cut_ - rest_[done];
    return sum <= 0 ? 0.0F : std::nextafter(static_cast<float>(sum), 0.0F);
  }

  // Adds a list to the window, and collects the items that pass. No branch on the sums: they are unpredictable.
  std::size_t add_and_collect(Cursor& cursor, std::int64_t low, std::int64_t high, float passing, std::size_t& found) {
    float* sums = sums_.data();
    std::uint32_t* collected = found_.data();
    std::size_t count = found;
    const std::size_t added = cursor.walk(low, high, [&](std::uint32_t at, float value) {
      const float before = sums[at], after = before + value;
      sums[at] = after;
      collected[count] = at;
      count += static_cast<std::size_t>(after > passing) & static_cast<std::size_t>(before <= passing);
    });
    found = count;
    read_ += added;
    return added;
  }

  std::size_t add(Cursor& cursor, std::int64_t low, std::int64_t high) {
    const std::size_t added = cursor.add_to(low, high, sums_.data());
    read_ += added;
    return added;
  }

  void look_up(std::size_t i, std::int64_t low, std::size_t found, bool unsorted) {
    if (unsorted) std::sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(found));
    look_up_.add(cursors_[i].list(), cursors_[i].weight(), low, std::span(found_).first(found), sums_.data());
    read_ += found;
  }

  // Bits, not bytes: they fit into the first cache, where a look at every item that was found costs little.
  std::size_t keep_allowed(std::size_t found, std::int64_t low, std::span<const std::uint8_t> allowed) {
    if (allowed.empty()) return found;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < found; ++i) {
      const std::uint32_t at = found_[i];
      found_[kept] = at;
      const std::size_t item = static_cast<std::size_t>(low) + at;
      kept += static_cast<std::size_t>(allowed[item / 8] >> item % 8) & 1U;
    }
    return kept;
  }

  std::size_t keep_passing(std::size_t found, float passing) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < found; ++i) {
      const std::uint32_t at = found_[i];
      found_[kept] = at;
      kept += static_cast<std::size_t>(sums_[at] > passing);
    }
    return kept;
  }

  void push(std::uint32_t at, std::int64_t low) {
    const auto item = static_cast<std::uint32_t>(low) + at;
    const float score = norms_.any() ? sums_[at] * norms_.of(item) : sums_[at] + base_;
    top_->push(ranking_key(score, first_ + item));
  }

  // Later windows hold higher item numbers, which lose a tie: they must exceed the threshold.
  void raise_threshold() {
    top_->settle();
    cut_ = cut_of(top_->threshold());
  }

  // No sum up to this gives a score above a threshold.
  double cut_of(float threshold) const {
    return std::max(0.0, (double{threshold} * rounding_ - double{base_}) / double{norms_.largest});
  }

  void clear(std::int64_t low, std::int64_t high, std::size_t walked, std::size_t added) {
    if (added * 8 > static_cast<std::size_t>(high - low)) {
      std::fill_n(sums_.begin(), high - low, 0.0F);
    } else {
      for (std::size_t i = 0; i < walked; ++i) cursors_[i].again(low, [&](std::uint32_t at) { sums_[at] = 0; });
    }
  }

  std::vector<Cursor> cursors_;
  std::vector<double> rest_, whole_rest_;  // [i]: the most that lists i, i + 1, ... can add, in the window and anywhere
  std::vector<float> sums_;
  std::vector<std::uint32_t> found_;
  std::vector<std::uint32_t> also_here_;  // which of those that are wanted besides lie in the window
  WindowSums window_sums_;
  ListProbe look_up_;
  LengthNorms norms_;
  TopK* top_ = nullptr;
  double rounding_ = 1, cut_ = 0;
  float base_ = 0;  // added to every score that is found
  std::uint32_t first_ = 0;
  std::size_t read_ = 0;
};

}  // namespace vizsla
