// Turns texts into rows over a finished vocabulary: the native half of every query.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/string_table.hpp"
#include "text/tokens.hpp"

namespace vizsla {

// What one call found. `unknown` are the forms that the table does not hold, in their order.
struct LookedUp {
  struct Cell {
    std::int32_t term;
    float count;
  };

  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> terms;
  std::vector<float> counts;
  std::vector<std::string> unknown;
  std::span<const std::int32_t> answers;  // the terms of the unknown forms, a row each, once they are known
  std::size_t answered = 0;
  std::vector<Cell> cells;  // the last row's, before they are counted
};

class BagLookup {
 public:
  // `terms` has a row of `columns` for every form: the terms that it may stand for, -1 for none; when it is empty the
  // forms are the terms, and what the table does not hold is of no interest. If `rooted`, the last column holds roots:
  // a form counts as such by half.
  BagLookup(const TokenRule& rule, const StringTable& forms, std::span<const std::int32_t> terms, std::size_t columns,
            bool rooted)
      : rule_(rule), forms_(forms), terms_(terms), columns_(columns), rooted_(rooted) {
    rule.check();
    if (columns < (rooted ? 2 : 1)) throw std::invalid_argument("there must be a column");
    if (!terms.empty() && terms.size() != forms.size() * columns) {
      throw std::invalid_argument("every form must have one row of term numbers");
    }
    if (forms.size() > INT32_MAX) throw std::invalid_argument("a vocabulary holds fewer than 2^31 forms");
  }

  void add(std::string_view text, WordBuffer& buffer, LookedUp& rows) const {
    rows.cells.clear();
    for_each_token(text, rule_, buffer, [&](std::string_view token) { find(token, rows); });
    count(rows);
    rows.offsets.push_back(static_cast<std::int64_t>(rows.terms.size()));
  }

 private:
  void find(std::string_view token, LookedUp& rows) const {
    const std::int64_t form = forms_.find(token);
    if (terms_.empty()) {
      if (form >= 0) rows.cells.push_back({static_cast<std::int32_t>(form), 1});
      return;
    }
    push(form >= 0 ? terms_.subspan(static_cast<std::size_t>(form) * columns_, columns_) : answer(token, rows), rows);
  }

  // Every term once that a word may stand for.
  void push(std::span<const std::int32_t> terms, LookedUp& rows) const {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const bool known = std::find(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(i), terms[i]) !=
                         terms.begin() + static_cast<std::ptrdiff_t>(i);
      if (terms[i] >= 0 && !known) rows.cells.push_back({terms[i], rooted_ && i + 1 == columns_ ? 0.5F : 1});
    }
  }

  std::span<const std::int32_t> answer(std::string_view token, LookedUp& rows) const {
    if (rows.answered + columns_ <= rows.answers.size()) {
      rows.answered += columns_;
      return rows.answers.subspan(rows.answered - columns_, columns_);
    }
    rows.unknown.emplace_back(token);
    return {};
  }

  // Sorts the last row's terms and adds up equal ones.
  static void count(LookedUp& rows) {
    std::sort(rows.cells.begin(), rows.cells.end(), [](const auto& a, const auto& b) { return a.term < b.term; });
    for (std::size_t i = 0; i < rows.cells.size(); ++i) {
      if (i > 0 && rows.cells[i].term == rows.cells[i - 1].term) {
        rows.counts.back() += rows.cells[i].count;
      } else {
        rows.terms.push_back(rows.cells[i].term);
        rows.counts.push_back(rows.cells[i].count);
      }
    }
  }

  TokenRule rule_;
  StringTable forms_;
  std::span<const std::int32_t> terms_;
  std::size_t columns_;
  bool rooted_;
};

}  // namespace vizsla
