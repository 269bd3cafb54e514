// A base's scores plus votes: what the votes name and the base did not find is to be scored by the base.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "candidates/id_map.hpp"
#include "candidates/part_rows.hpp"
#include "candidates/rank.hpp"
#include "common/checks.hpp"

namespace vizsla {

struct VoteRows {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> items;  // ascending within a row
  std::span<const double> values;

  std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(offsets[row]); }
  std::size_t end(std::size_t row) const { return static_cast<std::size_t>(offsets[row + 1]); }

  bool ascend() const {
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      for (std::size_t at = begin(row) + 1; at < end(row); ++at) {
        if (items[at - 1] >= items[at]) return false;
      }
    }
    return true;
  }

  // An item's votes; 0 without any.
  double of(std::size_t row, std::int32_t item) const {
    const auto first = items.begin() + offsets[row], last = items.begin() + offsets[row + 1];
    const auto place = std::lower_bound(first, last, item);
    return place != last && *place == item ? values[static_cast<std::size_t>(place - items.begin())] : 0.0;
  }
};

// How votes count: base + worth · (votes - threshold), the threshold for items with clicks only.
struct VoteWorth {
  double worth;
  double threshold;
  std::span<const bool> clicked;  // one flag an item

  float total(float base, double votes, std::int32_t item) const {
    const double least = clicked[static_cast<std::size_t>(item)] ? threshold : 0.0;
    return static_cast<float>(static_cast<double>(base) + worth * (votes - least));
  }
};

class VotedSum {
 public:
  VotedSum(const PartRows& found, const VoteRows& votes, std::size_t rows) {
    items_.assign(found.items.begin(), found.items.end());
    base_.assign(found.scores.begin(), found.scores.end());
    votes_.assign(items_.size(), 0.0);
    found_.assign(found.offsets.begin(), found.offsets.end());
    missing_.push_back(0);
    HashIdMap slots;
    for (std::size_t row = 0; row < rows; ++row) add_row(found, votes, row, slots);
  }

  std::size_t rows() const { return found_.size() - 1; }

  // Rows of what the base must score.
  const std::vector<std::int64_t>& missing_offsets() const { return missing_; }
  std::vector<std::int32_t> missing_items() const {
    return {items_.begin() + static_cast<std::ptrdiff_t>(found_count()), items_.end()};
  }

  void fill(std::span<const float> scores) {
    require(scores.size() == items_.size() - found_count(), "there must be a score for each item that was missing");
    for (const float score : scores) require(!std::isnan(score), "scores must be numbers; got NaN");
    base_.resize(found_count());
    base_.insert(base_.end(), scores.begin(), scores.end());
  }

  bool complete() const { return base_.size() == items_.size(); }

  std::span<const std::uint64_t> best(std::size_t row, const VoteWorth& how, std::size_t k, RowRanker& ranker) const {
    ranker.clear();
    push(static_cast<std::size_t>(found_[row]), static_cast<std::size_t>(found_[row + 1]), how, ranker);
    const std::size_t apart = found_count();
    push(apart + static_cast<std::size_t>(missing_[row]), apart + static_cast<std::size_t>(missing_[row + 1]), how,
         ranker);
    return ranker.best(k);
  }

 private:
  std::size_t found_count() const { return static_cast<std::size_t>(found_.back()); }

  void add_row(const PartRows& found, const VoteRows& votes, std::size_t row, HashIdMap& slots) {
    slots.start(found.count(row));
    for (std::size_t at = 0; at < found.count(row); ++at) {
      slots.place(found.items[found.begin(row) + at], static_cast<std::uint32_t>(at));
    }
    for (std::size_t at = votes.begin(row); at < votes.end(row); ++at) {
      const std::uint32_t place = slots.known(votes.items[at]);
      if (place == HashIdMap::none) {
        items_.push_back(votes.items[at]);
        votes_.push_back(votes.values[at]);
      } else {
        votes_[found.begin(row) + place] = votes.values[at];
      }
    }
    missing_.push_back(static_cast<std::int64_t>(items_.size() - found_count()));
  }

  void push(std::size_t first, std::size_t last, const VoteWorth& how, RowRanker& ranker) const {
    for (std::size_t at = first; at < last; ++at) ranker.push(items_[at], how.total(base_[at], votes_[at], items_[at]));
  }

  // All rows that the base found, then all rows that only the votes named.
  std::vector<std::int64_t> found_, missing_;
  std::vector<std::int32_t> items_;
  std::vector<float> base_;
  std::vector<double> votes_;
};

}  // namespace vizsla
