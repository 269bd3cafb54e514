// The segments of a live index at one moment, with what was removed from them, and the terms of queries over them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/checks.hpp"
#include "postings/live_segment.hpp"
#include "postings/window_search.hpp"

namespace vizsla {

// One segment as it is now.
struct LivePart {
  const LiveSegment* segment;
  std::size_t first = 0;                  // its first slot among all
  std::span<const std::int32_t> removed;  // how many postings of each term are gone, or empty
  std::span<const std::uint8_t> live;     // one bit a slot, or empty
  double stretch = 1;                     // how much more than the segment's bounds a posting may give now
  LengthNorms norms = {};                 // what an item's sum is multiplied by, if anything
  std::vector<double> counts, sums;       // of each pair: its count, and count + norm

  bool is_live(std::size_t slot) const { return live.empty() || (live[slot / 8] >> slot % 8 & 1) != 0; }
};

// How much may be kept for all terms of the lists at one moment. Searches of several threads may ask.
class KeptRoom {
 public:
  explicit KeptRoom(std::size_t most) : most_(most) {}

  bool take(std::size_t count) {
    if (taken_.fetch_add(count, std::memory_order_relaxed) + count <= most_) return true;
    give_back(count);
    return false;
  }

  void give_back(std::size_t count) { taken_.fetch_sub(count, std::memory_order_relaxed); }
  std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  std::size_t most_;
  std::atomic<std::size_t> taken_{0};
};

// Something that is computed for each segment when it is first asked for, and kept. Several threads may ask. It takes
// room while it is kept; a term may outlive the lists, and the room both.
template <class T>
class KeptArrays {
 public:
  KeptArrays(std::size_t segments, std::shared_ptr<KeptRoom> room) : arrays_(segments), room_(std::move(room)) {}
  KeptArrays(const KeptArrays&) = delete;
  KeptArrays& operator=(const KeptArrays&) = delete;
  ~KeptArrays() {
    for (auto& array : arrays_) delete[] array.load(std::memory_order_relaxed);
    room_->give_back(held_.load(std::memory_order_relaxed));
  }

  const T* of(std::size_t segment) const { return arrays_[segment].load(std::memory_order_acquire); }

  // Returns an array of zeros that was filled and is kept; null where there is no room. Of two threads that make the
  // same, one keeps its own, and both return that.
  template <class Fill>
  const T* make(std::size_t segment, std::size_t count, const Fill& fill) {
    if (!room_->take(count)) return nullptr;
    std::unique_ptr<T[]> array;
    try {
      array = std::make_unique<T[]>(count);
      fill(array.get());
    } catch (...) {
      room_->give_back(count);
      throw;
    }
    const T* none = nullptr;
    if (arrays_[segment].compare_exchange_strong(none, array.get(), std::memory_order_acq_rel)) {
      held_.fetch_add(count, std::memory_order_relaxed);
      return array.release();
    }
    room_->give_back(count);
    return none;
  }

 private:
  std::vector<std::atomic<const T*>> arrays_;
  std::shared_ptr<KeptRoom> room_;
  std::atomic<std::size_t> held_{0};
};

// What was computed of a term.
struct TermTables {
  TermTables(std::size_t segments, std::shared_ptr<KeptRoom> of_impacts, std::shared_ptr<KeptRoom> of_marks)
      : impacts(segments, std::move(of_impacts)), marks(segments, std::move(of_marks)) {}

  KeptArrays<float> impacts;        // what it gives for each pair
  KeptArrays<std::uint64_t> marks;  // a bit for each slot: whether it holds the term
};

// A term of a query, found in every segment.
struct LiveTerm {
  std::vector<std::int32_t> ids;            // its number in each segment, or -1
  double gain = 0;                          // what it gives at most
  double absent = 0;                        // what it gives every item
  std::uint64_t order = 0;                  // where the live items name it first: decides between equal priorities
  std::int32_t place = 0;                   // decides after that
  std::shared_ptr<TermTables> tables = {};  // of the lists that it was made for
  std::uint64_t lists = 0;                  // which these are

  // As a posting list has it.
  double priority(float weight) const { return double{weight} * double{static_cast<float>(gain)}; }
};

class LiveLists {
 public:
  static constexpr std::uint64_t nowhere = UINT64_MAX;
  static constexpr std::size_t max_impacts = 4 << 20;  // 16 MB
  static constexpr std::size_t max_marks = 1 << 20;    // in words: 8 MB

  // `norms` has one for each pair of the segment.
  void add(LivePart part, std::span<const double> norms, std::span<const double> frequencies = {}) {
    const LiveSegment& segment = *part.segment;
    require(norms.size() == segment.pairs(), "there must be a norm for each pair");
    require(frequencies.empty() || frequencies.size() == norms.size(), "there must be a frequency for each pair");
    require(part.removed.empty() || part.removed.size() == segment.terms(), "there must be a count for each term");
    require(part.live.empty() || part.live.size() == (segment.slots() + 7) / 8, "there must be a bit for each slot");
    require(part.stretch >= 1 && std::isfinite(part.stretch), "a stretch must be 1 or more");
    if (!part.norms.norms.empty()) check_norms(part);
    part.first = slots_;
    part.counts.reserve(norms.size());
    part.sums.reserve(norms.size());
    for (std::size_t pair = 0; pair < norms.size(); ++pair) {
      require(norms[pair] >= 0 && std::isfinite(norms[pair]), "norms must be finite and not negative");
      part.counts.push_back(segment.frequency(pair, frequencies));
      part.sums.push_back(part.counts.back() + norms[pair]);
    }
    slots_ += segment.slots();
    require(slots_ <= INT32_MAX, "an index holds fewer than 2^31 slots");
    parts_.push_back(std::move(part));
  }

  std::size_t slots() const { return slots_; }
  const std::vector<LivePart>& parts() const { return parts_; }
  std::uint64_t number() const { return number_; }

  // What a term of these lists keeps its tables in.
  std::shared_ptr<TermTables> tables() const {
    return std::make_shared<TermTables>(parts_.size(), impact_room_, mark_room_);
  }
  std::size_t kept_impacts() const { return impact_room_->taken(); }
  std::size_t kept_marks() const { return mark_room_->taken(); }

  // The number of a term in each segment, and how many live slots hold it.
  std::int64_t find(std::string_view term, std::int32_t* ids) const {
    std::int64_t holders = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::int64_t found = parts_[i].segment->find(term);
      ids[i] = static_cast<std::int32_t>(found);
      if (found < 0) continue;
      const auto number = static_cast<std::size_t>(found);
      const auto [begin, end] = parts_[i].segment->list(number);
      holders += static_cast<std::int64_t>(end - begin);
      if (!parts_[i].removed.empty()) holders -= parts_[i].removed[number];
    }
    return holders;
  }

  // Where the live items name a term first: the slot, and the place among the slot's terms. An index that is built of
  // the live texts alone numbers its terms in this order.
  std::uint64_t order(std::span<const std::int32_t> ids) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (ids[i] < 0) continue;
      const LivePart& part = parts_[i];
      for (const std::int32_t one : part.segment->list_slots(static_cast<std::size_t>(ids[i]))) {
        const auto slot = static_cast<std::size_t>(one);
        require(one >= 0 && slot < part.segment->slots(), "a list's slots must be below the number of slots");
        if (!part.is_live(slot)) continue;
        const auto row = part.segment->row(slot);
        const auto found = std::find(row.begin(), row.end(), ids[i]);
        return std::uint64_t{part.first + slot} << 32 | static_cast<std::uint64_t>(found - row.begin());
      }
    }
    return nowhere;
  }

 private:
  static void check_norms(LivePart& part) {
    LengthNorms& norms = part.norms;
    norms.lengths = part.segment->arrays().lengths;
    std::uint32_t shortest = UINT32_MAX, longest = 0;
    for (const std::uint32_t length : norms.lengths) {
      longest = std::max(longest, length);
      shortest = std::min(shortest, length > 0 ? length : UINT32_MAX);
    }
    require(longest / 2 < norms.norms.size(), "there must be a norm for each length");
    norms.smallest = norms.largest = norms.norms[longest / 2];
    for (std::size_t length = std::min(shortest, longest) / 2; length <= longest / 2; ++length) {
      require(norms.norms[length] > 0 && norms.norms[length] <= 1e6F, "norms must be above 0 and at most 1,000,000");
      norms.smallest = std::min(norms.smallest, norms.norms[length]);
      norms.largest = std::max(norms.largest, norms.norms[length]);
    }
  }

  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  std::vector<LivePart> parts_;
  std::size_t slots_ = 0;
  std::uint64_t number_ = next_number();
  std::shared_ptr<KeptRoom> impact_room_ = std::make_shared<KeptRoom>(max_impacts);
  std::shared_ptr<KeptRoom> mark_room_ = std::make_shared<KeptRoom>(max_marks);
};

// A query's terms in the one order in which every item's score is summed: that of an index of the live texts alone.
class LiveQuery {
 public:
  struct Entry {
    const LiveTerm* term;
    float weight;
    double priority;
  };

  void prepare(std::span<const LiveTerm* const> terms, std::span<const float> weights) {
    require(terms.size() == weights.size(), "there must be a weight for each term");
    entries_.clear();
    double total = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      require(weights[i] >= 0 && std::isfinite(weights[i]), "query weights must be finite and not negative");
      entries_.push_back({terms[i], weights[i], terms[i]->priority(weights[i])});
      total += double{weights[i]} * terms[i]->gain;
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return named_before(a, b); });
    double base = 0;
    for (const Entry& entry : entries_) base += double{entry.weight} * entry.term->absent;
    require(base < FLT_MAX / 2 && total < FLT_MAX / 2, "query weights are too large: scores would overflow");
    base_ = static_cast<float>(base);
    std::erase_if(entries_, [](const Entry& entry) { return entry.weight == 0 || entry.term->gain == 0; });
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.priority > b.priority; });
  }

  std::span<const Entry> entries() const { return entries_; }
  float base() const { return base_; }

 private:
  static bool named_before(const Entry& a, const Entry& b) {
    return a.term->order != b.term->order ? a.term->order < b.term->order : a.term->place < b.term->place;
  }

  std::vector<Entry> entries_;
  float base_ = 0;
};

}  // namespace vizsla
