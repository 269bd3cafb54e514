// How many live slots hold a term of a query: marks in bits, without a score.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
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
      found += marked(lists, i, question.allowed.empty() ? lists.parts()[i].live : question.allowed[i]);
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

  std::size_t marked(const LiveLists& lists, std::size_t number, std::span<const std::uint8_t> allowed) {
    const LivePart& part = lists.parts()[number];
    const std::size_t slots = part.segment->slots();
    marks_.assign((slots + 63) / 64, 0);
    for (const LiveQuery::Entry& entry : query_.entries()) {
      const std::int32_t id = entry.term->ids[number];
      if (id < 0) continue;
      const auto list = part.segment->list_slots(static_cast<std::size_t>(id));
      if (const std::uint64_t* const kept = kept_marks(lists, number, *entry.term, list)) {
        for (std::size_t i = 0; i < marks_.size(); ++i) marks_[i] |= kept[i];
      } else {
        mark(list, slots, marks_.data());
      }
    }
    std::size_t found = 0;
    for (std::size_t i = 0; i < marks_.size(); ++i)
      found += static_cast<std::size_t>(std::popcount(allowed.empty() ? marks_[i] : marks_[i] & word_of(allowed, i)));
    return found;
  }

  // The marks of a long list, made once while there is room; null for a short one, or where there is none.
  static const std::uint64_t* kept_marks(const LiveLists& lists, std::size_t number, const LiveTerm& term,
                                         std::span<const std::int32_t> list) {
    const std::size_t slots = lists.parts()[number].segment->slots(), words = (slots + 63) / 64;
    if (list.size() < words || !term.tables || term.lists != lists.number()) return nullptr;
    if (const std::uint64_t* const kept = term.tables->marks.of(number)) return kept;
    return term.tables->marks.make(number, words, [&](std::uint64_t* made) { mark(list, slots, made); });
  }

  static void mark(std::span<const std::int32_t> list, std::size_t slots, std::uint64_t* marks) {
    for (const std::int32_t one : list) {
      const auto slot = static_cast<std::size_t>(one);  // a negative one is too large
      require(slot < slots, "a list's slots must be below the number of slots");
      marks[slot / 64] |= std::uint64_t{1} << slot % 64;
    }
  }

  // Up to eight bytes, the lowest first.
  static std::uint64_t word_of(std::span<const std::uint8_t> bits, std::size_t number) {
    std::uint64_t word = 0;
    const auto bytes = bits.subspan(number * 8, std::min<std::size_t>(8, bits.size() - number * 8));
    for (std::size_t i = 0; i < bytes.size(); ++i) word |= std::uint64_t{bytes[i]} << 8 * i;
    return word;
  }

  LiveQuery query_;
  std::vector<std::uint64_t> marks_;
};

}  // namespace vizsla
