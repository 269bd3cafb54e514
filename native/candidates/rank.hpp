// Rows of (item, score) put best first, equal scores by lower item number, and cut to the best k.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/checks.hpp"
#include "common/clones.hpp"
#include "common/select_k.hpp"
#include "common/topk.hpp"

namespace vizsla {

namespace detail {

// As place_by_rank, but keys may be equal: of equals the first comes first.
VIZSLA_CLONES static void place_stably(const std::uint64_t* keys, std::size_t count, std::uint64_t* sorted) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t before = 0;
    for (std::size_t j = 0; j < count; ++j) before += keys[j] > keys[i];
    for (std::size_t j = 0; j < i; ++j) before += keys[j] == keys[i];
    sorted[before] = keys[i];
  }
}

}  // namespace detail

// Ranks one row at a time; its memory is kept for the next.
class RowRanker {
 public:
  void clear() { keys_.clear(); }

  void push(std::int32_t item, float score) {
    require(!std::isnan(score), "scores must be numbers; got NaN");
    keys_.push_back(signed_ranking_key(score + 0.0F, static_cast<std::uint32_t>(item)));  // -0 and 0 are equal
  }

  std::size_t size() const { return keys_.size(); }

  // The best k, as keys for `signed_score_of` and `item_of`.
  std::span<const std::uint64_t> best(std::size_t k) {
    k = std::min(k, keys_.size());
    // A row that a part found comes in order already, and rescaling seldom changes that.
    if (k == 0 || std::is_sorted(keys_.begin(), keys_.end(), std::greater<>())) return std::span(keys_).first(k);
    sorted_.resize(keys_.size());
    if (2 * k < keys_.size()) {
      select_k(keys_, k, sorted_.data());
      keys_.resize(k);
    }
    if (keys_.size() <= few) {
      detail::place_stably(keys_.data(), keys_.size(), sorted_.data());
      return std::span(sorted_).first(k);
    }
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    return std::span(keys_).first(k);
  }

 private:
  static constexpr std::size_t few = 128;

  std::vector<std::uint64_t> keys_, sorted_;
};

}  // namespace vizsla
