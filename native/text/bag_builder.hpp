// Reads texts one after another and counts the tokens of each: the rows of a bag-of-words matrix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/growing_array.hpp"
#include "common/radix_sort.hpp"
#include "text/evidence.hpp"
#include "text/tokens.hpp"
#include "text/vocabulary.hpp"

namespace vizsla {

// Rows of (term, count in halves) as the texts name them first, with the terms of languages that a text is not in:
// their count is 0.
struct OrderedRows {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> terms;
  std::vector<std::uint32_t> counts;
};

struct BagRows {
  GrowingArray<std::int64_t> offsets;
  GrowingArray<std::int32_t> terms;
  GrowingArray<float> counts;
};

class BagBuilder {
 public:
  // Tokens among `skipped` are not counted. They take the first numbers, so that one comparison finds them.
  BagBuilder(const TokenRule& rule, std::span<const std::string> skipped) : rule_(rule) {
    rule.check();
    for (const std::string& word : skipped) {
      const std::string padded = word + std::string(WordBuffer::padding, ' ');
      if (!word.empty()) vocabulary_.at(std::string_view(padded).substr(0, word.size()));
    }
    skipped_ = static_cast<std::uint32_t>(vocabulary_.size());
    rows_.offsets.push_back(0);
  }

  std::size_t rows() const { return rows_.offsets.size() - 1; }

  void add(std::string_view text) {
    if (text.size() > INT32_MAX) throw std::length_error("a text must be shorter than 2^31 bytes");
    if (rows() >= INT32_MAX) throw std::length_error("there must be fewer than 2^31 texts");
    const auto row = static_cast<std::uint32_t>(rows());
    const std::size_t begin = rows_.terms.size();
    for_each_token(text, rule_, buffer_, [&](std::string_view token) { count(vocabulary_.at(token), row, begin); });
    rows_.offsets.push_back(static_cast<std::int64_t>(rows_.terms.size()));
  }

  // The forms counted so far, by their first occurrence; those that are skipped have none.
  std::pair<std::vector<std::uint8_t>, std::vector<std::int64_t>> forms() const {
    const auto& bytes = vocabulary_.bytes();
    const auto& offsets = vocabulary_.offsets();
    const std::int64_t begin = offsets[skipped_];
    std::vector<std::int64_t> starts(offsets.data() + skipped_, offsets.data() + offsets.size());
    for (std::int64_t& start : starts) start -= begin;
    return {std::vector<std::uint8_t>(bytes.data() + begin, bytes.data() + bytes.size()), std::move(starts)};
  }

  // What every row, or `most` of them at even distances, says for each of `columns`; see Evidence.
  std::vector<std::int32_t> evidence(std::span<const std::int32_t> row_of_form, std::span<const std::int32_t> weights,
                                     std::size_t columns, std::size_t most) const {
    check_table(row_of_form, 1);
    Evidence evidence(row_of_form, weights, columns);
    const std::size_t asked = std::min(rows(), most);
    std::vector<std::int32_t> sums(asked * columns);
    for (std::size_t i = 0; i < asked; ++i) {
      const std::size_t row = i * rows() / asked;
      const auto begin = static_cast<std::size_t>(rows_.offsets[row]),
                 end = static_cast<std::size_t>(rows_.offsets[row + 1]);
      evidence.sum({rows_.terms.data() + begin, end - begin}, rows_.counts.data() + begin,
                   std::span(sums).subspan(i * columns, columns));
    }
    return sums;
  }

  // How many rows of each column hold each of some forms: `row_of_form` numbers them, -1 for others.
  std::vector<std::int64_t> holders(std::span<const std::int32_t> row_of_form, std::size_t forms, std::size_t columns,
                                    std::span<const std::int32_t> column_of_row) const {
    check_table(row_of_form, 1);
    for (const std::int32_t row : row_of_form) {
      if (row >= 0 && static_cast<std::size_t>(row) >= forms)
        throw std::invalid_argument("row_of_form holds a larger number");
    }
    if (column_of_row.size() != rows()) throw std::invalid_argument("every row must have a column");
    check_columns(column_of_row, columns);
    std::vector<std::int64_t> counts(forms * columns, 0);
    for (std::size_t row = 0; row < rows(); ++row) {
      const auto column = static_cast<std::size_t>(column_of_row[row]);
      for (auto i = static_cast<std::size_t>(rows_.offsets[row]); i < static_cast<std::size_t>(rows_.offsets[row + 1]);
           ++i) {
        const std::int32_t found = row_of_form[static_cast<std::size_t>(rows_.terms[i])];
        if (found >= 0) ++counts[static_cast<std::size_t>(found) * columns + column];
      }
    }
    return counts;
  }

  // Hands the rows over, terms ascending. `terms` has a row of `columns` for each form: the term in each column, -1
  // drops it; forms of one term are added up. Every row is read in its own column, the first where none is given. Where
  // a column is `rooted`, the table's last column holds roots: a form counts as its root, too, by half, in rows of that
  // column. The rows are rewritten where they lie, which is possible because stop words leave more room than roots
  // need.
  BagRows take_rows(std::span<const std::int32_t> terms, std::size_t columns,
                    std::span<const std::int32_t> column_of_row, std::optional<std::size_t> rooted) {
    if (!terms.empty() || rooted) check_table(terms, columns);
    if (!column_of_row.empty() && column_of_row.size() != rows())
      throw std::invalid_argument("every row must have a column");
    if (rooted && *rooted + 1 >= columns) throw std::invalid_argument("roots need a column of their own");
    check_columns(column_of_row, rooted ? columns - 1 : columns);
    const auto bound = static_cast<std::uint32_t>(
        terms.empty() ? vocabulary_.size() - skipped_
                      : static_cast<std::size_t>(*std::max_element(terms.begin(), terms.end()) + 1));
    std::vector<Cell> cells, spare;
    std::size_t out = 0, moved = 0;
    for (std::size_t row = 0, begin = 0; row < rows(); ++row) {
      const std::size_t end = static_cast<std::size_t>(rows_.offsets[row + 1]) + moved;
      const std::size_t column = column_of_row.empty() ? 0 : static_cast<std::size_t>(column_of_row[row]);
      if (rooted && column == *rooted) {
        gather<true>(begin, end, terms, columns, column, cells);
      } else {
        gather<false>(begin, end, terms, columns, column, cells);
      }
      radix_sort(cells, spare, bound, [](const Cell& cell) { return static_cast<std::uint32_t>(cell.term); });
      begin = end;
      if (out + cells.size() > end) begin += make_room(end, cells.size());
      moved += begin - end;
      out = write(cells, out);
      rows_.offsets[row + 1] = static_cast<std::int64_t>(out);
    }
    rows_.terms.shrink(out);
    rows_.counts.shrink(out);
    BagRows taken = std::move(rows_);
    rows_.offsets.push_back(0);
    return taken;
  }

  // The rows as `take_rows` gives them, but each in the order in which its text names its terms first, a form's terms
  // in the order of the columns. Where there are several languages, terms that a form has in another language than its
  // row's come along, with the count 0.
  OrderedRows ordered_rows(std::span<const std::int32_t> terms, std::size_t columns,
                           std::span<const std::int32_t> column_of_row, std::optional<std::size_t> rooted) const {
    if (!terms.empty() || rooted) check_table(terms, columns);
    if (!column_of_row.empty() && column_of_row.size() != rows())
      throw std::invalid_argument("every row must have a column");
    if (rooted && *rooted + 1 >= columns) throw std::invalid_argument("roots need a column of their own");
    check_columns(column_of_row, rooted ? columns - 1 : columns);
    OrderedRows found;
    const std::size_t bound = terms.empty()
                                  ? vocabulary_.size() - skipped_
                                  : static_cast<std::size_t>(*std::max_element(terms.begin(), terms.end()) + 1);
    std::vector<std::int64_t> places(bound, -1);  // where each term lies, if not before the row
    for (std::size_t row = 0; row < rows(); ++row) {
      const auto begin = static_cast<std::int64_t>(found.terms.size());
      const std::size_t own = column_of_row.empty() ? 0 : static_cast<std::size_t>(column_of_row[row]);
      const auto add = [&](std::int32_t term, std::uint32_t count) {
        if (term < 0) return;
        std::int64_t& place = places[static_cast<std::size_t>(term)];
        if (place < begin) {
          place = static_cast<std::int64_t>(found.terms.size());
          found.terms.push_back(term);
          found.counts.push_back(0);
        }
        found.counts[static_cast<std::size_t>(place)] += count;
      };
      const auto end = static_cast<std::size_t>(rows_.offsets[row + 1]);
      for (auto i = static_cast<std::size_t>(rows_.offsets[row]); i < end; ++i) {
        const auto count = static_cast<std::uint32_t>(rows_.counts[i]);
        if (terms.empty()) {
          add(rows_.terms[i], 2 * count);
          continue;
        }
        const auto ways = terms.subspan(static_cast<std::size_t>(rows_.terms[i]) * columns, columns);
        for (std::size_t column = 0; column < columns; ++column) {
          const bool root = rooted && column + 1 == columns;
          add(ways[column], root ? (own == *rooted ? count : 0) : (own == column ? 2 * count : 0));
        }
      }
      found.offsets.push_back(static_cast<std::int64_t>(found.terms.size()));
    }
    return found;
  }

 private:
  static constexpr float half = 0.5F;  // what a form counts as its root

  struct Cell {
    std::int32_t term;
    float count;
  };

  void count(Vocabulary::Entry& entry, std::uint32_t row, std::size_t begin) {
    if (entry.number() < skipped_) return;
    if (entry.row == row) {
      rows_.counts[begin + entry.place] += 1;
      return;
    }
    entry.row = row;
    entry.place = static_cast<std::uint32_t>(rows_.terms.size() - begin);
    rows_.terms.push_back(static_cast<std::int32_t>(entry.number() - skipped_));
    rows_.counts.push_back(1);
  }

  void check_table(std::span<const std::int32_t> table, std::size_t columns) const {
    if (table.size() != (vocabulary_.size() - skipped_) * columns) {
      throw std::invalid_argument("the table must have one row for every form");
    }
  }

  static void check_columns(std::span<const std::int32_t> column_of_row, std::size_t columns) {
    for (const std::int32_t column : column_of_row) {
      if (column < 0 || static_cast<std::size_t>(column) >= columns)
        throw std::invalid_argument("there are fewer columns");
    }
  }

  // Without branches: which forms are dropped or have a root cannot be predicted.
  template <bool rooted>
  void gather(std::size_t begin, std::size_t end, std::span<const std::int32_t> terms, std::size_t columns,
              std::size_t column, std::vector<Cell>& cells) const {
    cells.resize((end - begin) * (rooted ? 2 : 1));
    std::size_t found = 0;
    const auto put = [&](std::int32_t term, float count) {
      cells[found] = {term, count};
      found += term >= 0 ? 1 : 0;
    };
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = static_cast<std::size_t>(rows_.terms[i]) * columns;
      put(terms.empty() ? rows_.terms[i] : terms[row + column], rows_.counts[i]);
      if constexpr (rooted) put(terms[row + columns - 1], half * rows_.counts[i]);
    }
    cells.resize(found);
  }

  // Where there is no room after all: moves the cells from `from` on so far that `wanted` more fit, and some to spare.
  std::size_t make_room(std::size_t from, std::size_t wanted) {
    const std::size_t rest = rows_.terms.size() - from, more = wanted + rest / 8;
    const auto move = [&](auto& values) {
      values.room(more);
      std::memmove(values.data() + from + more, values.data() + from, rest * sizeof(values[0]));
      values.take(more);
    };
    move(rows_.terms);
    move(rows_.counts);
    return more;
  }

  std::size_t write(const std::vector<Cell>& cells, std::size_t out) {
    const std::size_t begin = out;
    for (const Cell& cell : cells) {
      if (out > begin && rows_.terms[out - 1] == cell.term) {
        rows_.counts[out - 1] += cell.count;
      } else {
        rows_.terms[out] = cell.term;
        rows_.counts[out++] = cell.count;
      }
    }
    return out;
  }

  TokenRule rule_;
  Vocabulary vocabulary_;
  std::uint32_t skipped_ = 0;
  WordBuffer buffer_;
  BagRows rows_;
};

}  // namespace vizsla
