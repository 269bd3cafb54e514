// Entries (query, item, value) as flat arrays of numbers, read from blocks of whole lines.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/growing_array.hpp"
#include "io/entry_line.hpp"
#include "io/name_table.hpp"

namespace vizsla {

class EntryTable {
 public:
  // Entries whose query or item is not known.
  struct Unknown {
    std::int64_t count = 0;
    std::string example;

    void add(std::string_view name) {
      if (count++ == 0) example = name;
    }
  };

  // Where reading stopped: at the end of the block, or at a line that only Python can judge.
  struct Stop {
    std::size_t position;
    std::int64_t line;
    std::int64_t blank;
  };

  EntryTable(NameTable queries, NameTable items, bool stop_at_unknown)
      : queries_(std::move(queries)), items_(std::move(items)), stop_at_unknown_(stop_at_unknown) {}

  // Whether query and item are known; if not, the entry is counted and left out.
  bool add(const Entry& entry, std::int64_t line) {
    ++seen_;
    const std::int64_t row = queries_.number(entry.query);
    const std::int64_t column = items_.number(entry.item);
    if (row >= 0 && column >= 0) {
      push(row, column, entry, line);
      return true;
    }
    row < 0 ? unknown_queries_.add(entry.query) : unknown_items_.add(entry.item);
    return false;
  }

  // Reads lines from `position` on, of which the first has the number `line`.
  Stop read(std::string_view block, std::size_t position, std::int64_t line, const EntryFormat& format) {
    EntryLine parser(format);
    Stop at{position, line, 0};
    for (; at.position < block.size(); ++at.line) {
      const std::size_t end = block.find('\n', at.position);
      const std::size_t next = end == std::string_view::npos ? block.size() : end + 1;
      Entry entry{};
      const LineKind kind = parser.read(without_end(block.substr(at.position, next - at.position)), entry);
      if (kind == LineKind::odd) break;
      // Python will meet this entry again, and raise: what is counted no longer matters.
      if (kind == LineKind::entry && !add(entry, at.line) && stop_at_unknown_) break;
      at.blank += kind == LineKind::blank;
      at.position = next;
    }
    return at;
  }

  std::int64_t seen() const { return seen_; }
  const Unknown& unknown_queries() const { return unknown_queries_; }
  const Unknown& unknown_items() const { return unknown_items_; }

  const NameTable& queries() const { return queries_; }
  const NameTable& items() const { return items_; }
  GrowingArray<std::int32_t>& rows() { return rows_; }
  GrowingArray<std::int32_t>& columns() { return columns_; }
  GrowingArray<double>& values() { return values_; }
  GrowingArray<double>& times() { return times_; }
  GrowingArray<std::int64_t>& lines() { return lines_; }

 private:
  static std::string_view without_end(std::string_view line) {
    line.remove_suffix(line.ends_with('\n'));
    line.remove_suffix(line.ends_with('\r'));
    return line;
  }

  void push(std::int64_t row, std::int64_t column, const Entry& entry, std::int64_t line) {
    rows_.push_back(static_cast<std::int32_t>(row));
    columns_.push_back(static_cast<std::int32_t>(column));
    values_.push_back(entry.value);
    if (!std::isnan(entry.time)) times_.push_back(entry.time);  // a file has times, or none
    lines_.push_back(line);
  }

  NameTable queries_;
  NameTable items_;
  bool stop_at_unknown_;
  std::int64_t seen_ = 0;
  Unknown unknown_queries_;
  Unknown unknown_items_;
  GrowingArray<std::int32_t> rows_;
  GrowingArray<std::int32_t> columns_;
  GrowingArray<double> values_;
  GrowingArray<double> times_;
  GrowingArray<std::int64_t> lines_;
};

}  // namespace vizsla
