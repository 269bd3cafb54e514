// Exact search and scores over the segments of a live index: the bits of an index that is built of the live texts.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <span>
#include <vector>

#include "common/topk.hpp"
#include "postings/live_lists.hpp"
#include "postings/window_search.hpp"

namespace vizsla {

class LiveSearcher {
 public:
  struct Question {
    std::span<const LiveTerm* const> terms;
    std::span<const float> weights;
    std::size_t k;
    std::span<const std::span<const std::uint8_t>> allowed;  // bits for each segment, or empty
  };

  // The keys of the best k; they live until the next search.
  std::span<const std::uint64_t> search(const LiveLists& lists, const Question& question) {
    lists_ = &lists;
    query_.prepare(question.terms, question.weights);
    top_.start(std::min(question.k, std::max<std::size_t>(lists.slots(), 1)));
    read_ = 0;
    for (std::size_t i = 0; i < lists.parts().size(); ++i) {
      const LivePart& part = lists.parts()[i];
      const auto allowed = question.allowed.empty() ? part.live : question.allowed[i];
      if (part.segment->wide()) {
        search_part(part, i, question.k, allowed, wide_);
      } else {
        search_part(part, i, question.k, allowed, narrow_);
      }
    }
    return top_.finish();
  }

  // Slots may come in any order; `scores` is as long as `slots`.
  void score(const LiveLists& lists, std::span<const LiveTerm* const> terms, std::span<const float> weights,
             std::span<const std::int32_t> slots, std::span<float> scores) {
    lists_ = &lists;
    query_.prepare(terms, weights);
    sort_places(slots);
    std::fill(scores.begin(), scores.end(), 0.0F);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < lists.parts().size(); ++i) {
      const LivePart& part = lists.parts()[i];
      const std::uint64_t last = std::uint64_t{part.first + part.segment->slots()} << 32;
      std::size_t end = begin;
      while (end < places_.size() && places_[end] < last) ++end;
      const auto places = std::span(places_).subspan(begin, end - begin);
      if (!places.empty())
        part.segment->wide() ? score_part(part, i, places, scores, wide_)
                             : score_part(part, i, places, scores, narrow_);
      begin = end;
    }
    for (float& score : scores) score += query_.base();
    read_ = query_.entries().size() * slots.size();
  }

  // Postings that the last call read.
  std::size_t read() const { return read_; }

 private:
  template <class Code>
  struct Coded {
    using Impacts = CodedImpacts<Code>;
    using List = PostingList<Impacts>;
    WindowSearch<Impacts> windows;
  };

  template <class Code>
  void search_part(const LivePart& part, std::size_t number, std::size_t k, std::span<const std::uint8_t> allowed,
                   Coded<Code>& coded) {
    const double cut = double{top_.threshold()} * (1 - 1e-5) - double{query_.base()};
    prepare_part(part, number, coded, cut / double{part.norms.largest});
    if (coded.windows.cursors().empty()) return;
    coded.windows.search({k, part.segment->slots(), part.first, allowed, query_.base(), {}, part.norms}, bounds_, top_);
    read_ += coded.windows.read();
  }

  template <class Code>
  void score_part(const LivePart& part, std::size_t number, std::span<const std::uint64_t> places,
                  std::span<float> scores, Coded<Code>& coded) {
    prepare_part(part, number, coded, -1);
    for (auto& cursor : coded.windows.cursors()) {
      for (const std::uint64_t place : places)
        scores[place & UINT32_MAX] += cursor.value(static_cast<std::int64_t>((place >> 32) - part.first));
    }
    if (!part.norms.any()) return;
    for (const std::uint64_t place : places)
      scores[place & UINT32_MAX] *= part.norms.of(static_cast<std::size_t>((place >> 32) - part.first));
  }

  // The lists of the query in one segment; none where their bounds show that no item can have more than `cut`.
  template <class Code>
  void prepare_part(const LivePart& part, std::size_t number, Coded<Code>& coded, double cut) {
    auto& cursors = coded.windows.cursors();
    cursors.clear();
    bounds_.clear();
    const std::size_t count = query_.entries().size();
    if (tables_.size() < count) tables_.resize(count);
    small_.resize(count);
    double total = 0;
    found_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const LiveQuery::Entry& entry = query_.entries()[i];
      const std::int32_t id = entry.term->ids[number];
      if (id < 0) continue;
      const auto term = static_cast<std::size_t>(id);
      const auto [begin, end] = part.segment->list(term);
      if (begin == end) continue;
      found_.push_back(found_list<Code>(part, i, term, begin, end));
      bounds_.push_back(Query::largest_product(bound_weight(part, entry), found_.back().bound));
      total += bounds_.back();
    }
    if (total <= cut) return;
    for (const Found& found : found_) {
      const LiveQuery::Entry& entry = query_.entries()[found.entry];
      const Code* const codes = part.segment->template codes<Code>() + found.begin;
      const float* const impacts =
          table(part, number, *entry.term, std::span(codes, found.end - found.begin), tables_[found.entry]);
      const auto slots = part.segment->arrays().slots.subspan(found.begin, found.end - found.begin);
      cursors.emplace_back(typename Coded<Code>::List{slots, {codes, impacts}, found.blocks, found.bound, 0},
                           entry.weight, bound_weight(part, entry));
    }
  }

  struct Found {
    std::size_t entry, begin, end;
    std::span<const Block> blocks;
    float bound;
  };

  // A list of one block is checked every time: it is cheaper than to remember that it was.
  template <class Code>
  Found found_list(const LivePart& part, std::size_t entry, std::size_t term, std::size_t begin, std::size_t end) {
    require(part.segment->pairs() > 0, "a posting has a pair that there is not");
    if (end - begin > LiveSegment::block_size) {
      const LiveSegment::Bounds& known = part.segment->bounds<Code>(term);
      return {entry, begin, end, known.blocks, known.bound};
    }
    small_[entry] = part.segment->block<Code>(begin, end, -1);
    return {entry, begin, end, {&small_[entry], 1}, small_[entry].bound};
  }

  // The bounds are for a gain of 1 and the norms of another moment; a quotient may round up, or not, once more.
  static double bound_weight(const LivePart& part, const LiveQuery::Entry& entry) {
    return double{entry.weight} * entry.term->gain * part.stretch * (1 + 1e-6);
  }

  // The impact of each pair that occurs in the list, by the arithmetic of `Saturation`. A whole table is kept with the
  // term, while there is room: until something changes, the next query with the term finds it there.
  template <class Code>
  const float* table(const LivePart& part, std::size_t number, const LiveTerm& term, std::span<const Code> codes,
                     std::vector<float>& room) {
    const std::size_t pairs = part.counts.size();
    const double* const counts = part.counts.data();
    const double* const sums = part.sums.data();
    const auto impact = [=, gain = term.gain](std::size_t pair) {
      return std::max(static_cast<float>(gain * counts[pair] / sums[pair]), FLT_TRUE_MIN);
    };
    const bool whole = 4 * codes.size() >= pairs, lasting = whole && term.tables && term.lists == lists_->number();
    if (lasting) {
      if (const float* const kept = term.tables->impacts.of(number)) return kept;
      const auto fill = [&](float* made) {
        for (std::size_t pair = 0; pair < pairs; ++pair) made[pair] = impact(pair);
      };
      if (const float* const made = term.tables->impacts.make(number, pairs, fill)) return made;
    }
    if (room.size() < pairs) room.resize(pairs);
    if (whole) {
      for (std::size_t pair = 0; pair < pairs; ++pair) room[pair] = impact(pair);
    } else {
      for (const Code code : codes) room[code] = impact(code);
    }
    return room.data();
  }

  // A list is read forward only: (slot, place) pairs, by slot.
  void sort_places(std::span<const std::int32_t> slots) {
    places_.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) places_.push_back((static_cast<std::uint64_t>(slots[i]) << 32) | i);
    if (!std::is_sorted(places_.begin(), places_.end())) std::sort(places_.begin(), places_.end());
  }

  const LiveLists* lists_ = nullptr;  // of the search that runs
  LiveQuery query_;
  Coded<std::uint16_t> narrow_;
  Coded<std::uint32_t> wide_;
  std::vector<Found> found_;
  std::vector<std::vector<float>> tables_;  // for each term of the query
  std::vector<Block> small_;
  std::vector<double> bounds_;
  std::vector<std::uint64_t> places_;
  TopK top_;
  std::size_t read_ = 0;
};

}  // namespace vizsla
