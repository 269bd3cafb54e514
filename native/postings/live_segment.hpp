// A segment of a live index. Postings hold whole numbers only: the slot, and which pair of (count, length of the item)
// it has. What a posting weighs depends on the items that are there now, and is computed when a query needs it.
// A view over arrays that may be memory-mapped: opening one reads nothing, so every list and row is checked when it is
// first read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "common/checks.hpp"
#include "postings/postings.hpp"
#include "text/string_table.hpp"

namespace vizsla {

// Counts and lengths are in halves: an English word counts by half as its root.
struct LiveArrays {
  std::span<const std::uint8_t> term_bytes;
  std::span<const std::int64_t> term_offsets;
  std::span<const std::uint32_t> term_table;  // the hash table of a StringTable
  std::span<const std::int64_t> list_offsets;
  std::span<const std::int32_t> slots;   // of the postings, ascending in a list
  std::span<const std::uint16_t> codes;  // which pair a posting has, or `wide_codes` where there are many pairs
  std::span<const std::uint32_t> wide_codes;
  std::span<const std::uint32_t> pair_counts, pair_lengths;
  std::span<const std::uint8_t> pair_languages;
  std::span<const std::uint32_t> lengths;   // of each slot
  std::span<const std::uint8_t> languages;  // of each slot
  std::span<const std::int64_t> row_offsets;
  std::span<const std::int32_t> row_terms;  // of each slot, in the order in which its text names them first
};

// The impact of a posting, by its pair.
template <class Code>
struct CodedImpacts {
  const Code* codes;
  const float* table;

  float operator[](std::size_t i) const { return table[codes[i]]; }
};

template <class Code>
VIZSLA_PREFETCHES inline void prefetch_impact(const CodedImpacts<Code>& impacts, std::size_t at) {
  __builtin_prefetch(impacts.codes + at);
}

class LiveSegment {
 public:
  static constexpr std::size_t block_size = PostingList<const float*>::block_size;

  // What pruning may assume about a list.
  struct Bounds {
    std::vector<Block> blocks;
    float bound = 0;
  };

  // `norms` has one for each pair: bounds are computed with them. See LiveLists for other norms. `frequencies`, one for
  // each pair, take the place of counts where words are weighed by field.
  LiveSegment(const LiveArrays& arrays, std::span<const double> norms, std::span<const double> frequencies = {})
      : arrays_(arrays) {
    const LiveArrays& a = arrays;
    require(!a.term_offsets.empty() && a.term_offsets.size() == a.list_offsets.size(),
            "there must be a list for each term");
    require(terms() <= INT32_MAX && a.term_table.size() == StringTable::slot_count(terms()),
            "the terms must have a hash table");
    require(
        a.slots.size() == std::max(a.codes.size(), a.wide_codes.size()) && (a.codes.empty() || a.wide_codes.empty()),
        "there must be a pair for each posting");
    require(a.pair_counts.size() == a.pair_lengths.size() && a.pair_counts.size() == a.pair_languages.size() &&
                a.pair_counts.size() <= (a.wide_codes.empty() ? std::size_t{1} << 16 : std::size_t{UINT32_MAX}),
            "every pair must have a count, a length and a language");
    require(a.lengths.size() <= INT32_MAX && a.languages.size() == a.lengths.size() &&
                a.row_offsets.size() == a.lengths.size() + 1,
            "every slot must have a length, a language and a row");
    require(norms.size() == a.pair_counts.size(), "there must be a norm for each pair");
    require(frequencies.empty() || frequencies.size() == norms.size(), "there must be a frequency for each pair");
    saturations_.reserve(norms.size());
    for (std::size_t pair = 0; pair < norms.size(); ++pair) {
      require(norms[pair] >= 0 && std::isfinite(norms[pair]), "norms must be finite and not negative");
      const double count = frequency(pair, frequencies);
      const double value = count > 0 ? count / (count + norms[pair]) : 0;
      saturations_.push_back(std::nextafter(static_cast<float>(value), 2.0F));
    }
    bounds_ = std::make_unique<std::atomic<const Bounds*>[]>(terms());
  }

  LiveSegment(const LiveSegment&) = delete;
  LiveSegment& operator=(const LiveSegment&) = delete;
  ~LiveSegment() {
    for (std::size_t term = 0; term < terms(); ++term) delete bounds_[term].load(std::memory_order_relaxed);
  }

  const LiveArrays& arrays() const { return arrays_; }
  std::size_t terms() const { return arrays_.term_offsets.size() - 1; }
  std::size_t slots() const { return arrays_.lengths.size(); }
  std::size_t pairs() const { return arrays_.pair_counts.size(); }
  bool wide() const { return !arrays_.wide_codes.empty(); }

  // How often the word of a posting counts, by its pair.
  double frequency(std::size_t pair, std::span<const double> frequencies) const {
    if (frequencies.empty()) return 0.5 * static_cast<double>(arrays_.pair_counts[pair]);
    require(frequencies[pair] >= 0 && std::isfinite(frequencies[pair]), "frequencies must be finite and not negative");
    return frequencies[pair];
  }

  // The number of a term, or -1.
  std::int64_t find(std::string_view wanted) const {
    const std::size_t mask = arrays_.term_table.size() - 1;
    for (std::size_t at = StringTable::hash(wanted) & mask, probes = 0; probes <= mask;
         at = (at + 1) & mask, ++probes) {
      const std::uint32_t entry = arrays_.term_table[at];
      if (entry == 0) return -1;
      if (term(entry - 1) == wanted) return entry - 1;
    }
    return -1;
  }

  std::string_view term(std::size_t number) const {
    require(number < terms(), "a slot of the terms' table points past its end");
    const auto [begin, end] = span_of(arrays_.term_offsets, number, arrays_.term_bytes.size());
    return {reinterpret_cast<const char*>(arrays_.term_bytes.data()) + begin, end - begin};
  }

  // Where a term's postings lie.
  std::pair<std::size_t, std::size_t> list(std::size_t term) const {
    return span_of(arrays_.list_offsets, term, arrays_.slots.size());
  }

  std::span<const std::int32_t> list_slots(std::size_t term) const {
    const auto [begin, end] = list(term);
    return arrays_.slots.subspan(begin, end - begin);
  }

  // The terms of a slot, as its text names them.
  std::span<const std::int32_t> row(std::size_t slot) const {
    const auto [begin, end] = span_of(arrays_.row_offsets, slot, arrays_.row_terms.size());
    const auto found = arrays_.row_terms.subspan(begin, end - begin);
    for (const std::int32_t one : found)
      require(one >= 0 && static_cast<std::size_t>(one) < terms(), "a row names a term that there is not");
    return found;
  }

  template <class Code>
  const Code* codes() const {
    if constexpr (sizeof(Code) == 2) {
      return arrays_.codes.data();
    } else {
      return arrays_.wide_codes.data();
    }
  }

  // The bounds of a list of more than one block, which is checked the first time.
  template <class Code>
  const Bounds& bounds(std::size_t term) const {
    if (const Bounds* known = bounds_[term].load(std::memory_order_acquire)) return *known;
    const auto [begin, end] = list(term);
    auto made = std::make_unique<Bounds>();
    made->blocks.reserve((end - begin + block_size - 1) / block_size);
    std::int64_t before = -1;
    for (std::size_t at = begin; at < end; at += block_size) {
      made->blocks.push_back(block<Code>(at, std::min(at + block_size, end), before));
      before = made->blocks.back().last;
      made->bound = std::max(made->bound, made->blocks.back().bound);
    }
    const Bounds* expected = nullptr;
    if (bounds_[term].compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return *made.release();
    return *expected;
  }

  // Checks some postings of a list, of which the one before has slot `before`, and returns their bound.
  template <class Code>
  Block block(std::size_t begin, std::size_t end, std::int64_t before) const {
    const Code* const codes_here = codes<Code>();
    const std::size_t pair_count = pairs();
    bool ascending = true, known = true;
    float bound = 0;
    for (std::size_t i = begin; i < end; ++i) {
      ascending &= arrays_.slots[i] > before;
      before = arrays_.slots[i];
      const std::size_t code = codes_here[i];
      known &= code < pair_count;
      bound = std::max(bound, saturations_[std::min(code, pair_count - 1)]);
    }
    require(ascending && before < static_cast<std::int64_t>(slots()), "a list's slots must ascend");
    require(known, "a posting has a pair that there is not");
    return {static_cast<std::int32_t>(before), bound};
  }

  // Checks all that is read one by one otherwise.
  void check() const {
    for (std::size_t number = 0; number < terms(); ++number) {
      require(find(term(number)) == static_cast<std::int64_t>(number), "a term is not found, or repeated");
      wide() ? check_list<std::uint32_t>(number) : check_list<std::uint16_t>(number);
    }
    for (std::size_t slot = 0; slot < slots(); ++slot) row(slot);
  }

  template <class Code>
  void check_list(std::size_t term) const {
    const auto [begin, end] = list(term);
    require(begin == end || pairs() > 0, "a posting has a pair that there is not");
    std::int64_t before = -1;
    for (std::size_t at = begin; at < end; at += block_size)
      before = block<Code>(at, std::min(at + block_size, end), before).last;
  }

 private:
  static std::pair<std::size_t, std::size_t> span_of(std::span<const std::int64_t> offsets, std::size_t number,
                                                     std::size_t most) {
    const std::int64_t begin = offsets[number], end = offsets[number + 1];
    require(begin >= 0 && begin <= end && static_cast<std::uint64_t>(end) <= most, "offsets must rise within bounds");
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
  }

  LiveArrays arrays_;
  std::vector<float> saturations_;  // of each pair, rounded up
  mutable std::unique_ptr<std::atomic<const Bounds*>[]> bounds_;
};

}  // namespace vizsla
