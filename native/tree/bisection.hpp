// Balanced spherical 2-means: cuts a set of items in two halves of given sizes, each close to its own mean direction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "common/threads.hpp"
#include "tree/item_rows.hpp"

namespace vizsla {

struct ClusterOptions {
  int iterations = 8;
  int starts = 4;              // random starts of a cut; the one whose halves are tightest goes on
  std::size_t sample = 32768;  // the mean directions of a larger set are found on this many of its items
  std::uint64_t seed = 0;
};

template <class Rows>
class Bisector {
 public:
  Bisector(const Rows& rows, const ClusterOptions& options, std::size_t threads, const Poll& poll)
      : rows_(rows), options_(options), threads_(threads), poll_(poll), sums_(rows.sums()) {}

  // Reorders `items` so that the first `left` are one half.
  void split(std::span<std::uint32_t> items, std::size_t left, std::uint64_t stream) {
    if (left == 0 || left == items.size()) return;
    Random random(options_.seed, stream);
    draw(items, random);
    fit(left, items.size(), random);
    if (fitted_.size() < items.size()) {
      assign_all(items, left);
    } else {
      for (std::size_t i = 0; i < items.size(); ++i) items[i] = fitted_[order_[i]];
    }
    rows_.clear(fitted_, sums_);
  }

 private:
  static constexpr int growing_rounds = 4;
  static constexpr std::uint8_t undecided = 2;

  // The items that the halves are fitted on.
  void draw(std::span<const std::uint32_t> items, Random& random) {
    fitted_.assign(items.begin(), items.end());
    const std::size_t count = std::min(items.size(), std::max<std::size_t>(options_.sample, 2));
    if (count == items.size()) return;
    for (std::size_t i = 0; i < count; ++i) std::swap(fitted_[i], fitted_[i + random.below(fitted_.size() - i)]);
    fitted_.resize(count);
  }

  void fit(std::size_t left, std::size_t all, Random& random) {
    const double share = static_cast<double>(left) / static_cast<double>(all);
    const double part = std::round(share * static_cast<double>(fitted_.size()));
    left = std::clamp<std::size_t>(static_cast<std::size_t>(part), 1, fitted_.size() - 1);
    std::vector<std::uint8_t> best;
    double best_length = -1;
    for (int start = 0; start < options_.starts; ++start) {
      grow(left, random);
      score(fitted_);
      if (lengths_[0] + lengths_[1] > best_length) best = sides_;
      best_length = std::max(best_length, lengths_[0] + lengths_[1]);
    }
    rows_.clear(fitted_, sums_);
    sides_.assign(fitted_.size(), undecided);
    for (std::uint32_t place = 0; place < best.size(); ++place) move(place, best[place]);
    for (int round = 0; round < options_.iterations; ++round) {
      score(fitted_);
      select(fitted_, left);
      if (!regroup(left, 1.0)) break;
    }
  }

  // Two random items tell little about the rest, so the halves grow from their most certain members: 1/16 of their
  // size, then 1/8, and so on to the whole. This raised recall more than many rounds with everybody from the start.
  void grow(std::size_t left, Random& random) {
    rows_.clear(fitted_, sums_);
    sides_.assign(fitted_.size(), undecided);
    const std::size_t first = random.below(fitted_.size()), second = random.below(fitted_.size() - 1);
    move(static_cast<std::uint32_t>(first), 0);
    move(static_cast<std::uint32_t>(second + (second >= first)), 1);
    for (int round = -growing_rounds; round <= 0; ++round) {
      score(fitted_);
      select(fitted_, left);
      regroup(left, std::ldexp(1.0, round));
    }
  }

  void assign_all(std::span<std::uint32_t> items, std::size_t left) {
    const std::vector<std::uint32_t> pool(items.begin(), items.end());
    score(pool);
    select(pool, left);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = pool[order_[i]];
  }

  void score(std::span<const std::uint32_t> items) {
    dots_.resize(items.size());
    constexpr std::size_t block = 2048;
    share_work((items.size() + block - 1) / block, threads_,
               [&] {
                 return [&](std::size_t piece) {
                   for (std::size_t i = piece * block; i < std::min(items.size(), (piece + 1) * block); ++i)
                     dots_[i] = rows_.dots(items[i], sums_);
                 };
               },
               poll_);
    if (items.data() == fitted_.data()) measure();
    scores_.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i)
      scores_[i] = static_cast<float>(dots_[i].side[1] * inverses_[1] - dots_[i].side[0] * inverses_[0]);
  }

  // A half's squared length is the sum of its members' products with it.
  void measure() {
    double squares[3] = {0, 0, 0};
    for (std::size_t i = 0; i < sides_.size(); ++i)
      if (sides_[i] != undecided) squares[sides_[i]] += dots_[i].side[sides_[i]];
    for (int side = 0; side < 2; ++side) {
      lengths_[side] = std::sqrt(std::max(squares[side], 0.0));
      inverses_[side] = lengths_[side] > 0 ? 1.0 / lengths_[side] : 0.0;
    }
  }

  // Puts the places of the `left` lowest scores first; equal scores go by item number.
  void select(std::span<const std::uint32_t> items, std::size_t left) {
    order_.resize(items.size());
    std::iota(order_.begin(), order_.end(), 0u);
    by_score_ = items;
    partition(0, left, items.size());
  }

  void partition(std::size_t first, std::size_t middle, std::size_t last) {
    const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    if (middle == first || middle == last) return;
    std::nth_element(at(first), at(middle), at(last), [&](std::uint32_t a, std::uint32_t b) {
      return scores_[a] != scores_[b] ? scores_[a] < scores_[b] : by_score_[a] < by_score_[b];
    });
  }

  // Moves the most certain share `core` of each half into its sum, the others out of both; returns whether any moved.
  bool regroup(std::size_t left, double core) {
    const auto portion = [&](std::size_t size) {
      return std::max<std::size_t>(1, static_cast<std::size_t>(core * static_cast<double>(size)));
    };
    const std::size_t low = portion(left), high = order_.size() - portion(order_.size() - left);
    partition(0, low, left);
    partition(left, high, order_.size());
    bool moved = false;
    for (std::size_t i = 0; i < order_.size(); ++i)
      moved = move(order_[i], i < low ? 0 : i >= high ? 1 : undecided) || moved;
    return moved;
  }

  bool move(std::uint32_t place, std::uint8_t side) {
    const std::uint8_t before = std::exchange(sides_[place], side);
    if (before == side) return false;
    if (before != undecided) rows_.add(fitted_[place], before, -1.0f, sums_);
    if (side != undecided) rows_.add(fitted_[place], side, 1.0f, sums_);
    return true;
  }

  const Rows& rows_;
  ClusterOptions options_;
  std::size_t threads_;
  const Poll& poll_;
  typename Rows::Sums sums_;
  std::vector<std::uint32_t> fitted_, order_;
  std::span<const std::uint32_t> by_score_;
  std::vector<std::uint8_t> sides_;
  std::vector<Dots> dots_;
  std::vector<float> scores_;
  double lengths_[2] = {1.0, 1.0}, inverses_[2] = {1.0, 1.0};
};

}  // namespace vizsla
