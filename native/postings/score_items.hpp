// Scores given items: the same float sums, in the same order, as a search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "postings/cursor.hpp"

namespace vizsla {

class ItemScorer {
 public:
  // Items may come in any order; `scores` is as long as `items`.
  void score(const Postings& postings, std::span<const std::int32_t> terms, std::span<const float> weights,
             std::span<const std::int32_t> items, std::span<float> scores) {
    query_.prepare(postings, terms, weights);
    sort_places(items);
    std::fill(scores.begin(), scores.end(), 0.0F);
    for (const QueryTerm& entry : query_.terms()) {
      Cursor cursor(postings.list(static_cast<std::size_t>(entry.term)), entry.weight, double{entry.weight});
      for (std::uint64_t place : places_)
        scores[place & UINT32_MAX] += cursor.value(static_cast<std::int64_t>(place >> 32));
    }
    for (float& score : scores) score += query_.base();
    read_ = query_.terms().size() * items.size();
  }

  std::size_t read() const { return read_; }

 private:
  // A list is read forward only: (item, place) pairs, by item.
  void sort_places(std::span<const std::int32_t> items) {
    places_.clear();
    for (std::size_t i = 0; i < items.size(); ++i) places_.push_back((static_cast<std::uint64_t>(items[i]) << 32) | i);
    if (!std::is_sorted(places_.begin(), places_.end())) std::sort(places_.begin(), places_.end());
  }

  Query query_;
  std::vector<std::uint64_t> places_;
  std::size_t read_ = 0;
};

}  // namespace vizsla
