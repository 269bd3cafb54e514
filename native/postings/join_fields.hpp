// Rows of the fields of items become rows of items: each term once, with its count in every field.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/checks.hpp"
#include "common/threads.hpp"
#include "postings/invert.hpp"

namespace vizsla {

// Counts are in halves: an English word counts by half as its root.
struct JoinedFields {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> terms;
  std::vector<std::uint32_t> counts;  // one for each field, term by term
};

// `rows` has `fields` rows for each item, one after another, whose terms ascend.
inline JoinedFields join_fields(const Rows& rows, std::size_t fields, const Poll& poll = {}) {
  require(fields > 0 && rows.size() % fields == 0, "every item must have a row for each field");
  JoinedFields joined;
  joined.terms.reserve(rows.terms.size());
  joined.counts.reserve(rows.terms.size() * fields);
  std::vector<std::size_t> at(fields), end(fields);
  for (std::size_t first = 0; first < rows.size(); first += fields) {
    if (poll && first % (fields * 4096) == 0) poll();
    for (std::size_t field = 0; field < fields; ++field) {
      at[field] = static_cast<std::size_t>(rows.offsets[first + field]);
      end[field] = static_cast<std::size_t>(rows.offsets[first + field + 1]);
    }
    std::int32_t before = -1;
    for (;;) {
      std::int32_t next = INT32_MAX;
      for (std::size_t field = 0; field < fields; ++field)
        if (at[field] < end[field]) next = std::min(next, rows.terms[at[field]]);
      if (next == INT32_MAX) break;
      require(next > before, "the terms of a row must ascend");
      before = next;
      joined.terms.push_back(next);
      for (std::size_t field = 0; field < fields; ++field) {
        std::uint32_t count = 0;
        if (at[field] < end[field] && rows.terms[at[field]] == next) {
          const double halves = 2 * double{rows.weights[at[field]++]};
          require(halves < double{UINT32_MAX}, "a term must occur fewer than 2^31 times");
          count = static_cast<std::uint32_t>(std::lround(halves));
        }
        joined.counts.push_back(count);
      }
    }
    joined.offsets.push_back(static_cast<std::int64_t>(joined.terms.size()));
  }
  return joined;
}

}  // namespace vizsla
