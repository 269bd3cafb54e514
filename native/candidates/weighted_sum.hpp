// The best k by a weighted sum of parts' scores, of which only those are asked for that can matter.
//
// A part that did not find an item must score it; that is the most expensive step. No item outside of a part's
// list gets more than the part's ceiling, so an item has an upper bound before it is scored, and one that cannot reach
// the k-th best is never scored (Fagin, Lotem and Naor: Optimal aggregation algorithms for middleware). The answer is
// the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "candidates/id_map.hpp"
#include "candidates/part_rows.hpp"
#include "candidates/rank.hpp"
#include "common/checks.hpp"

namespace vizsla {

// What a part is to score: rows of items.
struct Wanted {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> items;
  std::vector<std::size_t> places;  // where in the joined rows each score goes
};

class WeightedSum {
 public:
  // The first `taken` of each part's list are candidates; what lies deeper only tells scores.
  WeightedSum(std::vector<FusedPart> parts, std::size_t rows, std::size_t taken, std::size_t k)
      : parts_(std::move(parts)), rows_(rows), taken_(taken), k_(k) {
    offsets_.reserve(rows + 1);
    offsets_.push_back(0);
    HashIdMap slots;
    for (std::size_t row = 0; row < rows; ++row) join_row(row, taken, slots);
  }

  std::size_t rows() const { return rows_; }

  // What is to be scored next, for each part; nothing at all when the best k are certain. Two rounds at most.
  std::vector<Wanted> wanted() {
    std::vector<Wanted> asked(parts_.size());
    if (round_ == 2) return asked;
    bool all = true;
    for (std::size_t row = 0; row < rows_; ++row) {
      all = ask_row(row, asked) && all;
      for (Wanted& part : asked) part.offsets.push_back(static_cast<std::int64_t>(part.items.size()));
    }
    round_ = all ? 2 : round_ + 1;
    return asked;
  }

  void fill(const Wanted& asked, std::size_t part, std::span<const float> scores) {
    require(scores.size() == asked.places.size(), "there must be a score for each item that was wanted");
    std::size_t row = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      require(!std::isnan(scores[i]), "scores must be numbers; got NaN");
      while (i >= static_cast<std::size_t>(asked.offsets[row + 1])) ++row;
      scores_of(asked.places[i])[part] = parts_[part].scale(row).of(scores[i]);
    }
  }

  // The best k of a row; `certain` says that no item outside of all lists can be among them.
  std::span<const std::uint64_t> best(std::size_t row, RowRanker& ranker, bool& certain) {
    ranker.clear();
    double bound = 0;
    for (const FusedPart& part : parts_) bound += part.weight * static_cast<double>(part.lowest(row, taken_));
    std::size_t above = 0;
    for (std::size_t at = offsets_[row]; at < offsets_[row + 1]; ++at) {
      if (!complete(at)) continue;
      const float total = sum(at, row);
      above += total > static_cast<float>(bound);
      ranker.push(items_[at], total);
    }
    certain = above >= k_;
    return ranker.best(k_);
  }

 private:
  // Distinct items in the order in which they are met, part after part, with each part's score of each.
  void join_row(std::size_t row, std::size_t taken, HashIdMap& slots) {
    std::size_t most = 0;
    for (const FusedPart& part : parts_) most += std::min(taken, part.count(row));
    slots.start(most);
    const std::size_t first = items_.size();
    for (const FusedPart& part : parts_) {
      for (std::size_t place = 0; place < std::min(taken, part.count(row)); ++place) {
        const auto next = static_cast<std::uint32_t>(items_.size() - first);
        if (slots.place(part.item(row, place), next) == next) items_.push_back(part.item(row, place));
      }
    }
    scores_.resize(items_.size() * parts_.size(), missing_score);
    for (std::size_t p = 0; p < parts_.size(); ++p) score_row(row, p, first, slots);
    offsets_.push_back(items_.size());
  }

  void score_row(std::size_t row, std::size_t p, std::size_t first, HashIdMap& slots) {
    const FusedPart& part = parts_[p];
    if (part.by_rank) {  // an item outside of the list has no rank
      for (std::size_t at = first; at < items_.size(); ++at) scores_of(at)[p] = 0.0F;
    }
    for (std::size_t place = 0; place < part.count(row); ++place) {
      const std::uint32_t known = slots.known(part.item(row, place));
      if (known != HashIdMap::none) scores_of(first + known)[p] = part.score(row, place);
    }
  }

  float* scores_of(std::size_t at) { return scores_.data() + at * parts_.size(); }

  bool complete(std::size_t at) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (std::isnan(scores_of(at)[part])) return false;
    }
    return true;
  }

  // The sum, with the part's ceiling where its score is missing: an upper bound, since every step of it is monotone.
  float sum(std::size_t at, std::size_t row) {
    double total = 0;
    const float* scores = scores_of(at);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      total += parts_[p].weight * static_cast<double>(std::isnan(scores[p]) ? parts_[p].ceiling(row) : scores[p]);
    }
    return std::isnan(total) ? std::numeric_limits<float>::infinity() : static_cast<float>(total);
  }

  // Asks for what may reach the k-th best; returns false when another round must follow.
  bool ask_row(std::size_t row, std::vector<Wanted>& asked) {
    known_.clear();
    open_.clear();
    for (std::size_t at = offsets_[row]; at < offsets_[row + 1]; ++at) {
      if (complete(at)) {
        known_.push_back(sum(at, row));
      } else {
        open_.push_back({sum(at, row), at});
      }
    }
    float least = -std::numeric_limits<float>::infinity();
    if (known_.size() >= k_) {
      const auto kth = known_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
      std::nth_element(known_.begin(), kth, known_.end(), std::greater<>());
      least = *kth;
    }
    std::erase_if(open_, [least](const Open& open) { return open.bound < least; });
    // Where many are left, the most promising go first: what they get rules out most of the others.
    const bool last = round_ > 0 || open_.size() <= 3 * k_;
    if (!last) {
      const auto end = open_.begin() + static_cast<std::ptrdiff_t>(2 * k_);
      std::nth_element(open_.begin(), end, open_.end(), [](const Open& a, const Open& b) { return a.bound > b.bound; });
      open_.resize(2 * k_);
    }
    for (const Open& open : open_) ask(open.at, asked);
    return last;
  }

  void ask(std::size_t at, std::vector<Wanted>& asked) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (!std::isnan(scores_of(at)[part])) continue;
      asked[part].items.push_back(items_[at]);
      asked[part].places.push_back(at);
    }
  }

  struct Open {
    float bound;
    std::size_t at;
  };

  std::vector<FusedPart> parts_;
  std::size_t rows_, taken_, k_;
  int round_ = 0;
  std::vector<std::size_t> offsets_;
  std::vector<std::int32_t> items_;
  std::vector<float> scores_;  // a row an item, a column a part
  std::vector<float> known_;
  std::vector<Open> open_;
};

}  // namespace vizsla
