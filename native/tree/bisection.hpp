// Balanced spherical 2-means: cuts a set of items in two halves of given sizes, each close to its own mean direction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "common/random.hpp"
#include "common/threads.hpp"
#include "tree/item_rows.hpp"

namespace vizsla {

struct ClusterOptions {
  int iterations = 10;
  std::size_t sample = 32768;  // the mean directions of a larger set are found on this many of its items
  std::uint64_t seed = 0;
};

template <class Rows>
class Bisector {
 public:
  Bisector(const Rows& rows, const ClusterOptions& options, std::size_t threads)
      : rows_(rows), options_(options), threads_(threads), sums_(rows.sums()) {}

  // Reorders `items` so that the first `left` are one half.
  void split(std::span<std::uint32_t> items, std::size_t left, std::uint64_t stream) {
    if (left == 0 || left == items.size()) return;
    Random random(options_.seed, stream);
    fit(items, left, random);
    std::vector<std::uint32_t> pool = fitted_;
    if (fitted_.size() < items.size()) {
      pool.assign(items.begin(), items.end());
      score(pool);
      select(pool, left);
    }
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = pool[order_[i]];
    rows_.clear(fitted_, sums_);
  }

 private:
  void fit(std::span<const std::uint32_t> items, std::size_t left, Random& random) {
    fitted_.assign(items.begin(), items.end());
    const std::size_t count = std::min(items.size(), std::max<std::size_t>(options_.sample, 2));
    for (std::size_t i = 0; i < (count < items.size() ? count : 2); ++i)
      std::swap(fitted_[i], fitted_[i + random.below(fitted_.size() - i)]);
    fitted_.resize(count);
    const double share = static_cast<double>(left) / static_cast<double>(items.size());
    const std::size_t part = std::clamp<std::size_t>(
        static_cast<std::size_t>(std::lround(share * static_cast<double>(count))), 1, count - 1);
    start();
    for (int turn = 0; turn < options_.iterations; ++turn) {
      score(fitted_);
      select(fitted_, part);
      if (!regroup(part)) break;
    }
  }

  // The first two items, drawn at random, stand for the halves.
  void start() {
    sides_.assign(fitted_.size(), 2);
    lengths_[0] = lengths_[1] = 1.0;
    rows_.add(fitted_[0], 0, 1.0f, sums_);
    rows_.add(fitted_[1], 1, 1.0f, sums_);
  }

  void score(std::span<const std::uint32_t> items) {
    dots_.resize(items.size());
    constexpr std::size_t block = 2048;
    share_work((items.size() + block - 1) / block, threads_, [&] {
      return [&](std::size_t piece) {
        for (std::size_t i = piece * block; i < std::min(items.size(), (piece + 1) * block); ++i)
          dots_[i] = rows_.dots(items[i], sums_);
      };
    });
    if (items.size() == sides_.size() && sides_[0] != 2) measure();
    scores_.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i)
      scores_[i] = static_cast<float>(dots_[i].side[1] * inverse(1) - dots_[i].side[0] * inverse(0));
  }

  double inverse(int side) const { return lengths_[side] > 0 ? 1.0 / lengths_[side] : 0.0; }

  // A half's squared length is the sum of its members' products with it.
  void measure() {
    double squares[2] = {0, 0};
    for (std::size_t i = 0; i < sides_.size(); ++i) squares[sides_[i]] += dots_[i].side[sides_[i]];
    for (int side = 0; side < 2; ++side) lengths_[side] = std::sqrt(std::max(0.0, squares[side]));
  }

  // Puts the places of the `left` lowest scores first; equal scores go by item number.
  void select(std::span<const std::uint32_t> items, std::size_t left) {
    order_.resize(items.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(left), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) {
                       return scores_[a] != scores_[b] ? scores_[a] < scores_[b] : items[a] < items[b];
                     });
  }

  // Moves items to their new half; returns whether any moved.
  bool regroup(std::size_t left) {
    const bool first = sides_[0] == 2;
    if (first) rows_.clear(std::span(fitted_).first(2), sums_);
    bool moved = first;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::uint32_t place = order_[i];
      const std::uint8_t side = i < left ? 0 : 1;
      if (sides_[place] == side) continue;
      moved = true;
      if (!first) rows_.add(fitted_[place], 1 - side, -1.0f, sums_);
      rows_.add(fitted_[place], side, 1.0f, sums_);
      sides_[place] = side;
    }
    return moved;
  }

  const Rows& rows_;
  ClusterOptions options_;
  std::size_t threads_;
  typename Rows::Sums sums_;
  std::vector<std::uint32_t> fitted_, order_;
  std::vector<std::uint8_t> sides_;  // 2: not in a half yet
  std::vector<Dots> dots_;
  std::vector<float> scores_;
  double lengths_[2] = {1.0, 1.0};
};

}  // namespace vizsla
