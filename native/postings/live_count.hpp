// How many live slots hold a term of a query: marks in bits, without a score.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "postings/live_lists.hpp"

namespace vizsla {

class LiveCounter {
 public:
  struct Question {
    std::span<const LiveTerm* const> terms;
    std::span<const float> weights;
    std::span<const std::span<const std::uint8_t>> allowed;  // bits for each segment, or empty
    std::size_t up_to;                                       // a larger count may be a lower bound
  };

  struct Count {
    std::size_t slots;
    bool exact;
  };

  Count count(const LiveLists& lists, const Question& question) {
    query_.prepare(question.terms, question.weights);
    if (question.allowed.empty()) {
      const std::size_t most = largest_list(lists);
      if (most > question.up_to) return {most, query_.entries().size() == 1};
    }
    std::size_t found = 0;
    for (std::size_t i = 0; i < lists.parts().size(); ++i) {
      const LivePart& part = lists.parts()[i];
      found += marked(part, i, question.allowed.empty() ? part.live : question.allowed[i]);
      if (found > question.up_to && i + 1 < lists.parts().size()) return {found, false};
    }
    return {found, true};
  }

 private:
  // At least so many live slots hold one of the terms.
  std::size_t largest_list(const LiveLists& lists) const {
    std::size_t largest = 0;
    for (const LiveQuery::Entry& entry : query_.entries()) {
      std::int64_t held = 0;
      for (std::size_t i = 0; i < lists.parts().size(); ++i) {
        const LivePart& part = lists.parts()[i];
        const std::int32_t id = entry.term->ids[i];
        if (id < 0) continue;
        held += static_cast<std::int64_t>(part.segment->list_slots(static_cast<std::size_t>(id)).size());
        if (!part.removed.empty()) held -= part.removed[static_cast<std::size_t>(id)];
      }
      largest = std::max(largest, static_cast<std::size_t>(std::max<std::int64_t>(held, 0)));
    }
    return largest;
  }

  std::size_t marked(const LivePart& part, std::size_t number, std::span<const std::uint8_t> allowed) {
    const std::size_t slots = part.segment->slots();
    marks_.assign((slots + 7) / 8, 0);
    for (const LiveQuery::Entry& entry : query_.entries()) {
      const std::int32_t id = entry.term->ids[number];
      if (id < 0) continue;
      for (const std::int32_t one : part.segment->list_slots(static_cast<std::size_t>(id))) {
        const auto slot = static_cast<std::size_t>(one);  // a negative one is too large
        require(slot < slots, "a list's slots must be below the number of slots");
        marks_[slot / 8] = static_cast<std::uint8_t>(marks_[slot / 8] | 1U << slot % 8);
      }
    }
    std::size_t found = 0;
    for (std::size_t byte = 0; byte < marks_.size(); ++byte)
      found += static_cast<std::size_t>(
          std::popcount(static_cast<std::uint8_t>(allowed.empty() ? marks_[byte] : marks_[byte] & allowed[byte])));
    return found;
  }

  LiveQuery query_;
  std::vector<std::uint8_t> marks_;
};

}  // namespace vizsla
