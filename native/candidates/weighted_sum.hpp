// The best k by a weighted sum of parts' scores, of which only those are asked for that can matter.
//
// A part that did not find an item must say what it gives it; that is the dearest step. No item outside of a part's list
// gets more than the part's ceiling, so an item has an upper bound before it is scored, and who cannot reach the k-th best
// is never asked for (Fagin, Lotem and Naor: Optimal aggregation algorithms for middleware). The answer is the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "candidates/join.hpp"
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
  // `ceilings`: for each part and row, a score that no item outside of the part's list exceeds.
  WeightedSum(std::span<const PartRows> parts, std::vector<double> weights, std::vector<std::vector<float>> ceilings,
              std::size_t rows, std::size_t k)
      : parts_(parts.size()), k_(k), weights_(std::move(weights)), ceilings_(std::move(ceilings)), joined_(parts, rows) {
    for (const PartRows& part : parts) floors_.push_back(floors_of(part, rows));
  }

  // What is to be scored next, for each part; nothing at all when the best k are certain. Two rounds at most.
  std::vector<Wanted> wanted() {
    std::vector<Wanted> asked(parts_);
    if (round_ == 2) return asked;
    bool all = true;
    for (std::size_t row = 0; row < joined_.rows(); ++row) {
      all = ask_row(row, asked) && all;
      for (Wanted& part : asked) part.offsets.push_back(static_cast<std::int64_t>(part.items.size()));
    }
    round_ = all ? 2 : round_ + 1;
    return asked;
  }

  void fill(const Wanted& asked, std::size_t part, std::span<const float> scores) {
    require(scores.size() == asked.places.size(), "there must be a score for each item that was wanted");
    for (std::size_t i = 0; i < scores.size(); ++i) {
      require(!std::isnan(scores[i]), "scores must be numbers; got NaN");
      joined_.scores(asked.places[i])[part] = scores[i];
    }
  }

  std::size_t rows() const { return joined_.rows(); }

  // The best k of a row; `certain` says that no item outside of all lists can be among them.
  std::span<const std::uint64_t> best(std::size_t row, RowRanker& ranker, bool& certain) {
    ranker.clear();
    double bound = 0;
    for (std::size_t part = 0; part < parts_; ++part) bound += weights_[part] * static_cast<double>(floors_[part][row]);
    std::size_t above = 0;
    for (std::size_t at = joined_.begin(row); at < joined_.end(row); ++at) {
      if (!joined_.complete(at)) continue;
      const float total = sum(at, row);
      above += total > static_cast<float>(bound);
      ranker.push(joined_.item(at), total);
    }
    certain = above >= k_;
    return ranker.best(k_);
  }

 private:
  static std::vector<float> floors_of(const PartRows& part, std::size_t rows) {
    std::vector<float> floors(rows);
    for (std::size_t row = 0; row < rows; ++row) floors[row] = part.floor(row);
    return floors;
  }

  // The sum, with the part's ceiling where its score is missing: an upper bound, since every step of it is monotone.
  float sum(std::size_t at, std::size_t row) {
    double total = 0;
    const float* scores = joined_.scores(at);
    for (std::size_t part = 0; part < parts_; ++part) {
      const float score = std::isnan(scores[part]) ? ceilings_[part][row] : scores[part];
      total += weights_[part] * static_cast<double>(score);
    }
    return std::isnan(total) ? std::numeric_limits<float>::infinity() : static_cast<float>(total);
  }

  // Asks for what may reach the k-th best; returns false when another round must follow.
  bool ask_row(std::size_t row, std::vector<Wanted>& asked) {
    known_.clear();
    open_.clear();
    for (std::size_t at = joined_.begin(row); at < joined_.end(row); ++at) {
      if (joined_.complete(at)) {
        known_.push_back(sum(at, row));
      } else {
        open_.push_back({sum(at, row), at});
      }
    }
    float least = -std::numeric_limits<float>::infinity();
    bool last = true;
    if (known_.size() >= k_) {
      const auto kth = known_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
      std::nth_element(known_.begin(), kth, known_.end(), std::greater<>());
      least = *kth;
    } else if (round_ == 0 && open_.size() > 3 * k_) {
      // Too few are known to rule anybody out: the most promising first.
      const auto end = open_.begin() + static_cast<std::ptrdiff_t>(2 * k_);
      std::nth_element(open_.begin(), end, open_.end(), [](const Open& a, const Open& b) { return a.bound > b.bound; });
      open_.resize(2 * k_);
      last = false;
    }
    for (const Open& open : open_) {
      if (open.bound >= least) ask(open.at, asked);
    }
    return last;
  }

  void ask(std::size_t at, std::vector<Wanted>& asked) {
    for (std::size_t part = 0; part < parts_; ++part) {
      if (!std::isnan(joined_.scores(at)[part])) continue;
      asked[part].items.push_back(joined_.item(at));
      asked[part].places.push_back(at);
    }
  }

  struct Open {
    float bound;
    std::size_t at;
  };

  std::size_t parts_, k_;
  int round_ = 0;
  std::vector<double> weights_;
  std::vector<std::vector<float>> ceilings_, floors_;
  JoinedRows joined_;
  std::vector<float> known_;
  std::vector<Open> open_;
};

}  // namespace vizsla
