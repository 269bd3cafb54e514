// The heaviest strings of a sorted table that begin with a prefix, or with one that is an edit away.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "common/checks.hpp"
#include "text/string_table.hpp"
#include "text/utf8.hpp"

namespace vizsla {

// Where the largest of a range of numbers is; the first of equal ones.
class RangeMaximum {
 public:
  explicit RangeMaximum(std::span<const float> values) : values_(values) {
    for (const float value : values) require(std::isfinite(value), "weights must be finite");
    for (std::size_t size = values.size(); size > fan; size = levels_.back().size()) {
      std::vector<std::uint32_t> level((size + fan - 1) / fan);
      for (std::size_t block = 0; block < level.size(); ++block) {
        const std::size_t end = std::min(size, (block + 1) * fan);
        std::uint32_t best = place(levels_.size(), block * fan);
        for (std::size_t i = block * fan + 1; i < end; ++i) best = better(best, place(levels_.size(), i));
        level[block] = best;
      }
      levels_.push_back(std::move(level));
    }
  }

  // begin must be below end, and end at most the number of values.
  std::uint32_t of(std::size_t begin, std::size_t end) const {
    auto best = static_cast<std::uint32_t>(begin);
    for (std::size_t level = 0; begin < end; ++level) {
      const bool top = level == levels_.size();
      while (begin < end && (top || begin % fan != 0)) best = better(best, place(level, begin++));
      while (begin < end && end % fan != 0) best = better(best, place(level, --end));
      begin /= fan;
      end /= fan;
    }
    return best;
  }

  float operator[](std::size_t at) const { return values_[at]; }

 private:
  static constexpr std::size_t fan = 32;

  std::uint32_t place(std::size_t level, std::size_t at) const {
    return level == 0 ? static_cast<std::uint32_t>(at) : levels_[level - 1][at];
  }
  std::uint32_t better(std::uint32_t a, std::uint32_t b) const {
    if (values_[a] != values_[b]) return values_[a] > values_[b] ? a : b;
    return std::min(a, b);
  }

  std::span<const float> values_;
  std::vector<std::vector<std::uint32_t>> levels_;
};

struct Completion {
  std::uint32_t entry;
  std::uint32_t edits;
};

class Completions {
 public:
  // Views: the strings and weights must outlive it. Strings that are not sorted give wrong answers, never bad reads.
  Completions(StringTable strings, std::span<const float> weights) : strings_(strings), maximum_(weights) {
    require(strings.size() == weights.size(), "there must be a weight for each string");
  }

  // At most k: those that begin with the prefix, the heaviest first; then, where there are fewer and typos are allowed,
  // those that begin with something one edit away from it.
  std::vector<Completion> find(std::string_view prefix, std::size_t k, bool typos) const {
    std::vector<Completion> found;
    std::unordered_set<std::uint32_t> taken;
    const std::vector<Span> exact = exact_spans(prefix);
    take({exact.back()}, 0, k, found, taken);
    if (typos && found.size() < k) take(edited_spans(prefix, exact), 1, k, found, taken);
    return found;
  }

 private:
  struct Span {
    std::size_t begin, end;
    bool empty() const { return begin >= end; }
  };

  // The part of a span, whose strings share their first `depth` bytes, in which `next` follows these.
  Span narrowed(Span span, std::size_t depth, std::string_view next) const {
    const auto tail = [&](std::size_t at) {
      const std::string_view text = strings_[at];
      return text.size() <= depth ? std::string_view() : text.substr(depth, next.size());
    };
    const auto first = [&](std::size_t begin, std::size_t end, const auto& holds) {
      while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        if (holds(tail(middle))) {
          end = middle;
        } else {
          begin = middle + 1;
        }
      }
      return begin;
    };
    const std::size_t begin = first(span.begin, span.end, [&](std::string_view text) { return text >= next; });
    return {begin, first(begin, span.end, [&](std::string_view text) { return text > next; })};
  }

  // The spans of the prefix's first 0, 1, ... characters.
  std::vector<Span> exact_spans(std::string_view prefix) const {
    std::vector<Span> spans{{0, strings_.size()}};
    for (std::size_t at = 0; at < prefix.size();) {
      const std::size_t bytes = character(prefix, at);
      spans.push_back(narrowed(spans.back(), at, prefix.substr(at, bytes)));
      at += bytes;
    }
    return spans;
  }

  std::vector<Span> edited_spans(std::string_view prefix, const std::vector<Span>& exact) const {
    std::vector<Span> spans;
    const auto add = [&](Span span) {
      if (!span.empty()) spans.push_back(span);
    };
    for (std::size_t at = 0, number = 0; at < prefix.size() && !exact[number].empty(); ++number) {
      const std::size_t bytes = character(prefix, at), next = at + bytes;
      const std::string_view rest = prefix.substr(at), after = prefix.substr(next);
      add(narrowed(exact[number], at, after));  // a character too many
      if (!after.empty()) {                     // two that are swapped
        const std::size_t second = character(prefix, next);
        std::string swapped(prefix.substr(next, second));
        swapped += prefix.substr(at, bytes);
        swapped += prefix.substr(next + second);
        add(narrowed(exact[number], at, swapped));
      }
      each_next(exact[number], at, [&](Span inside, std::size_t depth) {
        add(narrowed(inside, depth, after));  // another character
        add(narrowed(inside, depth, rest));   // one that is missing
      });
      at = next;
    }
    return spans;
  }

  // Calls visit with the strings of each character that follows the first `depth` bytes, and where it ends.
  template <class Visit>
  void each_next(Span span, std::size_t depth, const Visit& visit) const {
    while (!span.empty()) {
      const std::string_view text = strings_[span.begin];
      if (text.size() <= depth) {
        ++span.begin;
        continue;
      }
      const std::size_t bytes = character(text, depth);
      Span inside = narrowed(span, depth, text.substr(depth, bytes));
      inside = {span.begin, std::max(inside.end, span.begin + 1)};
      visit(inside, depth + bytes);
      span.begin = inside.end;
    }
  }

  static std::size_t character(std::string_view text, std::size_t at) {
    return utf8::decode(text.data() + at, text.data() + text.size()).bytes;
  }

  void take(const std::vector<Span>& spans, std::uint32_t edits, std::size_t k, std::vector<Completion>& found,
            std::unordered_set<std::uint32_t>& taken) const {
    struct Head {
      Span span;
      std::uint32_t best;
    };
    const auto worse = [this](const Head& a, const Head& b) {
      return maximum_[a.best] != maximum_[b.best] ? maximum_[a.best] < maximum_[b.best] : a.best > b.best;
    };
    std::priority_queue<Head, std::vector<Head>, decltype(worse)> heads(worse);
    const auto push = [&](Span span) {
      if (!span.empty()) heads.push({span, maximum_.of(span.begin, span.end)});
    };
    for (const Span span : spans) push(span);
    while (!heads.empty() && found.size() < k) {
      const Head head = heads.top();
      heads.pop();
      if (taken.insert(head.best).second) found.push_back({head.best, edits});
      push({head.span.begin, head.best});
      push({head.best + std::size_t{1}, head.span.end});
    }
  }

  StringTable strings_;
  RangeMaximum maximum_;
};

}  // namespace vizsla
