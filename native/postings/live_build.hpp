// Writes segments of a live index: from the rows of new items, or from what is left of other segments.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "common/checks.hpp"
#include "common/hash.hpp"
#include "common/threads.hpp"
#include "postings/live_segment.hpp"

namespace vizsla {

// The arrays of LiveArrays, without the terms' strings where these are known elsewhere.
struct BuiltSegment {
  std::vector<std::uint8_t> term_bytes;
  std::vector<std::int64_t> term_offsets{0};
  std::vector<std::uint32_t> term_table;
  std::vector<std::int64_t> list_offsets;
  std::vector<std::int32_t> slots;
  std::vector<std::uint32_t> codes;
  std::vector<std::uint32_t> pair_counts, pair_lengths;
  std::vector<std::uint8_t> pair_languages;
  std::vector<std::uint32_t> lengths;
  std::vector<std::uint8_t> languages;
  std::vector<std::int64_t> row_offsets{0};
  std::vector<std::int32_t> row_terms;

  // The codes in 16 bits where all of them fit, else none.
  std::vector<std::uint16_t> narrow_codes() const {
    if (pair_counts.size() > std::size_t{1} << 16) return {};
    return {codes.begin(), codes.end()};
  }
};

// Numbers pairs of (count, length) of a language as they come.
class PairCodes {
 public:
  explicit PairCodes(BuiltSegment& built) : built_(built), table_(1024, 0) {}

  std::uint32_t operator()(std::uint32_t count, std::uint32_t length, std::uint8_t language) {
    for (std::size_t at = hash(count, length, language) & (table_.size() - 1);; at = (at + 1) & (table_.size() - 1)) {
      if (table_[at] == 0) return insert(at, count, length, language);
      const std::uint32_t code = table_[at] - 1;
      if (built_.pair_counts[code] == count && built_.pair_lengths[code] == length &&
          built_.pair_languages[code] == language)
        return code;
    }
  }

 private:
  static std::size_t hash(std::uint32_t count, std::uint32_t length, std::uint8_t language) {
    std::uint64_t key = (std::uint64_t{count} << 32 | length) + std::uint64_t{language} * 0x9E3779B97F4A7C15ULL;
    key = (key ^ key >> 32) * 0x9FB21C651E98DF25ULL;
    return static_cast<std::size_t>(key ^ key >> 29);
  }

  std::uint32_t insert(std::size_t at, std::uint32_t count, std::uint32_t length, std::uint8_t language) {
    const auto code = static_cast<std::uint32_t>(built_.pair_counts.size());
    built_.pair_counts.push_back(count);
    built_.pair_lengths.push_back(length);
    built_.pair_languages.push_back(language);
    table_[at] = code + 1;
    if (2 * built_.pair_counts.size() > table_.size()) grow();
    return code;
  }

  void grow() {
    table_.assign(2 * table_.size(), 0);
    for (std::uint32_t code = 0; code < built_.pair_counts.size(); ++code) {
      std::size_t at =
          hash(built_.pair_counts[code], built_.pair_lengths[code], built_.pair_languages[code]) & (table_.size() - 1);
      while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = code + 1;
    }
  }

  BuiltSegment& built_;
  std::vector<std::uint32_t> table_;
};

// Rows of (term, count), each term once in a row, in the order in which the text names them.
struct LiveRows {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> terms;
  std::span<const std::uint32_t> counts;
  std::span<const std::uint8_t> languages;
};

// The lists of rows over `term_count` terms; the terms' strings are the caller's.
inline BuiltSegment build_segment(const LiveRows& rows, std::size_t term_count) {
  require(!rows.offsets.empty() && rows.offsets.front() == 0, "row offsets must begin with 0");
  const std::size_t count = rows.offsets.size() - 1;
  require(count <= INT32_MAX && rows.languages.size() == count, "there must be a language for each row");
  require(
      rows.terms.size() == rows.counts.size() && static_cast<std::uint64_t>(rows.offsets.back()) == rows.terms.size(),
      "the last row offset must equal the number of entries");
  BuiltSegment built;
  built.list_offsets.assign(term_count + 1, 0);
  for (std::size_t i = 1; i <= count; ++i)
    require(rows.offsets[i - 1] <= rows.offsets[i], "row offsets must not decrease");
  for (const std::int32_t term : rows.terms) {
    require(term >= 0 && static_cast<std::size_t>(term) < term_count, "terms must be below the number of terms");
    ++built.list_offsets[static_cast<std::size_t>(term) + 1];
  }
  for (std::size_t term = 0; term < term_count; ++term) built.list_offsets[term + 1] += built.list_offsets[term];
  built.slots.resize(rows.terms.size());
  built.codes.resize(rows.terms.size());
  std::vector<std::int64_t> next(built.list_offsets.begin(), built.list_offsets.end());
  PairCodes codes(built);
  for (std::size_t row = 0; row < count; ++row) {
    const auto begin = static_cast<std::size_t>(rows.offsets[row]),
               end = static_cast<std::size_t>(rows.offsets[row + 1]);
    std::uint64_t length = 0;
    for (std::size_t i = begin; i < end; ++i) length += rows.counts[i];
    require(length <= UINT32_MAX, "an item must have fewer than 2^31 words");
    built.lengths.push_back(static_cast<std::uint32_t>(length));
    for (std::size_t i = begin; i < end; ++i) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(rows.terms[i])]++);
      built.slots[place] = static_cast<std::int32_t>(row);
      built.codes[place] = codes(rows.counts[i], static_cast<std::uint32_t>(length), rows.languages[row]);
    }
  }
  built.languages.assign(rows.languages.begin(), rows.languages.end());
  built.row_offsets.assign(rows.offsets.begin(), rows.offsets.end());
  built.row_terms.assign(rows.terms.begin(), rows.terms.end());
  return built;
}

// Joins what is left of segments, one after another; terms that no slot holds any more are left out.
class SegmentMerge {
 public:
  struct Part {
    const LiveSegment* segment;
    std::span<const std::int32_t> kept;  // its slots, ascending
  };

  BuiltSegment merge(std::span<const Part> parts, const Poll& poll) {
    std::size_t total = 0, most_terms = 0;
    for (const Part& part : parts) {
      check_kept(part);
      total += part.kept.size();
      most_terms += part.segment->terms();
    }
    require(total <= INT32_MAX, "a segment holds fewer than 2^31 items");
    numbers_.resize(parts.size());
    table_.assign(StringTable::slot_count(most_terms), 0);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      number_terms(parts[i], numbers_[i]);
      if (poll) poll();
    }
    offsets_of_lists();
    std::size_t first = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].segment->wide() ? fill_lists<std::uint32_t>(parts[i], numbers_[i], first)
                               : fill_lists<std::uint16_t>(parts[i], numbers_[i], first);
      fill_rows(parts[i], numbers_[i]);
      first += parts[i].kept.size();
      if (poll) poll();
    }
    for (std::size_t term = 0; term < sizes_.size(); ++term)
      require(next_[term] == built_.list_offsets[term + 1], "lists and rows must hold the same postings");
    fill_table();
    return std::move(built_);
  }

 private:
  static void check_kept(const Part& part) {
    std::int32_t before = -1;
    for (const std::int32_t slot : part.kept) {
      require(slot > before && static_cast<std::size_t>(slot) < part.segment->slots(), "kept slots must ascend");
      before = slot;
    }
  }

  // Numbers the terms of the rows that are kept, and counts their postings.
  void number_terms(const Part& part, std::vector<std::int32_t>& numbers) {
    const LiveSegment& segment = *part.segment;
    const bool whole = part.kept.size() == segment.slots();
    std::vector<std::int32_t> counts(whole ? 0 : segment.terms(), 0);
    if (!whole) {
      for (const std::int32_t slot : part.kept)
        for (const std::int32_t term : segment.row(static_cast<std::size_t>(slot)))
          ++counts[static_cast<std::size_t>(term)];
    }
    numbers.assign(segment.terms(), -1);
    for (std::size_t term = 0; term < segment.terms(); ++term) {
      const auto count = whole ? static_cast<std::int64_t>(segment.list_slots(term).size()) : counts[term];
      if (count == 0) continue;
      numbers[term] = number_of(segment.term(term));
      sizes_[static_cast<std::size_t>(numbers[term])] += count;
    }
  }

  std::int32_t number_of(std::string_view text) {
    const std::size_t mask = table_.size() - 1;
    const std::uint64_t hash = StringTable::hash(text);
    std::size_t at = hash & mask;
    for (; table_[at] != 0; at = (at + 1) & mask) {
      const std::size_t number = table_[at] - 1;
      if (hashes_[number] != hash) continue;
      const auto begin = static_cast<std::size_t>(built_.term_offsets[number]),
                 end = static_cast<std::size_t>(built_.term_offsets[number + 1]);
      if (end - begin == text.size() && std::memcmp(built_.term_bytes.data() + begin, text.data(), text.size()) == 0)
        return static_cast<std::int32_t>(number);
    }
    built_.term_bytes.insert(built_.term_bytes.end(), text.begin(), text.end());
    built_.term_offsets.push_back(static_cast<std::int64_t>(built_.term_bytes.size()));
    hashes_.push_back(hash);
    sizes_.push_back(0);
    require(sizes_.size() <= INT32_MAX, "a segment holds fewer than 2^31 terms");
    table_[at] = static_cast<std::uint32_t>(sizes_.size());
    return static_cast<std::int32_t>(sizes_.size() - 1);
  }

  // The hash table of a StringTable over the terms, which are all different.
  void fill_table() {
    built_.term_table.assign(StringTable::slot_count(sizes_.size()), 0);
    const std::size_t mask = built_.term_table.size() - 1;
    for (std::size_t number = 0; number < hashes_.size(); ++number) {
      std::size_t at = hashes_[number] & mask;
      while (built_.term_table[at] != 0) at = (at + 1) & mask;
      built_.term_table[at] = static_cast<std::uint32_t>(number) + 1;
    }
  }

  void offsets_of_lists() {
    built_.list_offsets.assign(1, 0);
    for (const std::int64_t size : sizes_) built_.list_offsets.push_back(built_.list_offsets.back() + size);
    built_.slots.resize(static_cast<std::size_t>(built_.list_offsets.back()));
    built_.codes.resize(built_.slots.size());
    next_.assign(built_.list_offsets.begin(), built_.list_offsets.end());
  }

  template <class Code>
  void fill_lists(const Part& part, const std::vector<std::int32_t>& numbers, std::size_t first) {
    const LiveSegment& segment = *part.segment;
    const LiveArrays& arrays = segment.arrays();
    std::vector<std::int32_t> new_slot(segment.slots(), -1);
    for (std::size_t i = 0; i < part.kept.size(); ++i)
      new_slot[static_cast<std::size_t>(part.kept[i])] = static_cast<std::int32_t>(first + i);
    std::vector<std::int64_t> new_code(segment.pairs(), -1);
    for (std::size_t term = 0; term < segment.terms(); ++term) {
      if (numbers[term] < 0) continue;
      const auto [begin, end] = segment.list(term);
      auto& place = next_[static_cast<std::size_t>(numbers[term])];
      const std::int64_t last = built_.list_offsets[static_cast<std::size_t>(numbers[term]) + 1];
      std::int32_t before = -1;
      for (std::size_t i = begin; i < end; ++i) {
        const std::int32_t old = arrays.slots[i];
        const std::size_t pair = segment.codes<Code>()[i];
        require(old > before && static_cast<std::size_t>(old) < new_slot.size() && pair < new_code.size(),
                "a list's slots must ascend, and its pairs be known");
        before = old;
        const std::int32_t slot = new_slot[static_cast<std::size_t>(old)];
        if (slot < 0) continue;
        require(place < last, "lists and rows must hold the same postings");
        std::int64_t& code = new_code[pair];
        if (code < 0) code = codes_(arrays.pair_counts[pair], arrays.pair_lengths[pair], arrays.pair_languages[pair]);
        built_.slots[static_cast<std::size_t>(place)] = slot;
        built_.codes[static_cast<std::size_t>(place++)] = static_cast<std::uint32_t>(code);
      }
    }
  }

  // A term of a row that no list holds is refused with the rest of the row.
  void fill_rows(const Part& part, const std::vector<std::int32_t>& numbers) {
    for (const std::int32_t one : part.kept) {
      const auto slot = static_cast<std::size_t>(one);
      built_.lengths.push_back(part.segment->arrays().lengths[slot]);
      built_.languages.push_back(part.segment->arrays().languages[slot]);
      for (const std::int32_t term : part.segment->row(slot)) {
        const std::int32_t number = numbers[static_cast<std::size_t>(term)];
        require(number >= 0, "lists and rows must hold the same postings");
        built_.row_terms.push_back(number);
      }
      built_.row_offsets.push_back(static_cast<std::int64_t>(built_.row_terms.size()));
    }
  }

  BuiltSegment built_;
  PairCodes codes_{built_};
  std::vector<std::uint32_t> table_;
  std::vector<std::vector<std::int32_t>> numbers_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::int64_t> sizes_, next_;
};

}  // namespace vizsla
