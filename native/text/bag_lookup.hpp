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
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> terms;
  std::vector<float> counts;
  std::vector<std::string> unknown;
  std::span<const std::int32_t> answers;  // the terms of the unknown forms, -1 for none, once they are known
  std::size_t answered = 0;
};

class BagLookup {
 public:
  // `term_of_form` gives every form's term, -1 for none; when it is empty the forms are the terms, and what the table
  // does not hold is of no interest.
  BagLookup(const TokenRule& rule, const StringTable& forms, std::span<const std::int32_t> term_of_form)
      : rule_(rule), forms_(forms), term_of_form_(term_of_form) {
    rule.check();
    if (!term_of_form.empty() && term_of_form.size() != forms.size()) {
      throw std::invalid_argument("every form must have one term number");
    }
    if (forms.size() > INT32_MAX) throw std::invalid_argument("a vocabulary holds fewer than 2^31 forms");
  }

  void add(std::string_view text, WordBuffer& buffer, LookedUp& rows) const {
    const std::size_t begin = rows.terms.size();
    for_each_token(text, rule_, buffer, [&](std::string_view token) { find(token, rows); });
    count(begin, rows);
    rows.offsets.push_back(static_cast<std::int64_t>(rows.terms.size()));
  }

 private:
  void find(std::string_view token, LookedUp& rows) const {
    const std::int64_t form = forms_.find(token);
    if (term_of_form_.empty()) {
      if (form >= 0) rows.terms.push_back(static_cast<std::int32_t>(form));
      return;
    }
    const std::int32_t term = form >= 0 ? term_of_form_[static_cast<std::size_t>(form)] : answer(token, rows);
    if (term >= 0) rows.terms.push_back(term);
  }

  static std::int32_t answer(std::string_view token, LookedUp& rows) {
    if (rows.answered < rows.answers.size()) return rows.answers[rows.answered++];
    rows.unknown.emplace_back(token);
    return -1;
  }

  // Sorts the last row's terms and counts equal ones.
  static void count(std::size_t begin, LookedUp& rows) {
    std::sort(rows.terms.begin() + static_cast<std::ptrdiff_t>(begin), rows.terms.end());
    std::size_t out = begin;
    for (std::size_t i = begin; i < rows.terms.size(); ++i) {
      if (out > begin && rows.terms[out - 1] == rows.terms[i]) {
        rows.counts[out - 1] += 1;
      } else {
        rows.terms[out++] = rows.terms[i];
        rows.counts.push_back(1);
      }
    }
    rows.terms.resize(out);
  }

  TokenRule rule_;
  StringTable forms_;
  std::span<const std::int32_t> term_of_form_;
};

}  // namespace vizsla
