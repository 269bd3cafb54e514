// Estimates of all items for some queries: weights times the items' columns, and times what only the query knows of them.
// A block of columns is widened once for all queries, and what is made of it is used while it is in the cache.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "common/clones.hpp"
#include "common/threads.hpp"
#include "common/topk.hpp"
#include "dense/column_sum_kernels.hpp"
#include "dense/half.hpp"
#include "dense/kernels.hpp"

namespace vizsla {

// Dimensions × items: all of a dimension's numbers lie side by side.
struct StoredColumns {
  std::variant<const float*, const Half*, const std::int8_t*> numbers;
  std::size_t dim = 0, count = 0;
};

// The queries' weights, and features of the items that are theirs alone: queries × features × items.
struct ColumnWeights {
  const float* weights = nullptr;      // queries × dimensions
  const float* own = nullptr;
  const float* own_weights = nullptr;  // queries × features
  const float* bias = nullptr;         // one a query
  std::size_t queries = 0, features = 0;
};

namespace detail {

VIZSLA_CLONES static void widen_bytes(const std::int8_t* from, std::size_t count, float* to) {
  for (std::size_t at = 0; at < count; ++at) to[at] = static_cast<float>(from[at]);
}

VIZSLA_CLONES static void add_scaled(float scale, const float* from, std::size_t count, float* sums) {
  for (std::size_t at = 0; at < count; ++at) sums[at] += scale * from[at];
}

}  // namespace detail

// Eight queries' weights beside each other for each dimension; the last eight are filled up with zeros.
class TurnedWeights {
 public:
  TurnedWeights(const ColumnWeights& given, std::size_t dim) : dim_(dim), numbers_(groups_of(given.queries) * dim * wide) {
    for (std::size_t query = 0; query < given.queries; ++query) {
      float* group = numbers_.data() + query / wide * dim * wide + query % wide;
      for (std::size_t at = 0; at < dim; ++at) group[at * wide] = given.weights[query * dim + at];
    }
  }

  static std::size_t groups_of(std::size_t queries) { return (queries + wide - 1) / wide; }
  const float* group(std::size_t number) const { return numbers_.data() + number * dim_ * wide; }

 private:
  static constexpr std::size_t wide = ColumnSumKernels::queries;
  std::size_t dim_;
  std::vector<float> numbers_;
};

// One thread's work: hands the sums of a block of items, query by query, to `use(query, first item, sums, count)`.
class ColumnSums {
 public:
  static constexpr std::size_t items_a_piece = 6144;

  ColumnSums(const StoredColumns& stored, const ColumnWeights& given, const TurnedWeights& turned, ColumnSumKernels::Add add)
      : stored_(stored), given_(given), turned_(turned), add_(add), width_(stored.dim > 1024 ? 48 : 192),
        block_(stored.dim * width_), sums_(ColumnSumKernels::queries * width_) {}

  template <class Use>
  void piece(std::size_t number, const Use& use) {
    const std::size_t end = std::min(stored_.count, (number + 1) * items_a_piece);
    for (std::size_t first = number * items_a_piece; first < end; first += width_) {
      const std::size_t count = std::min(width_, end - first);
      widen(first, count);
      for (std::size_t group = 0; group < TurnedWeights::groups_of(given_.queries); ++group) {
        sum(group, count);
        const std::size_t start = group * ColumnSumKernels::queries;
        for (std::size_t query = start; query < std::min(given_.queries, start + ColumnSumKernels::queries); ++query) {
          float* sums = sums_.data() + (query - start) * width_;
          add_own(query, first, count, sums);
          use(query, first, std::span<const float>(sums, count));
        }
      }
    }
  }

 private:
  void widen(std::size_t first, std::size_t count) {
    for (std::size_t at = 0; at < stored_.dim; ++at) {
      float* row = block_.data() + at * width_;
      const std::size_t from = at * stored_.count + first;
      if (const auto* floats = std::get_if<0>(&stored_.numbers)) {
        std::copy_n(*floats + from, count, row);
      } else if (const auto* halves = std::get_if<1>(&stored_.numbers)) {
        kernels_.widen(*halves + from, count, row);
      } else {
        detail::widen_bytes(std::get<2>(stored_.numbers) + from, count, row);
      }
    }
  }

  void sum(std::size_t group, std::size_t count) {
    for (std::size_t query = 0; query < ColumnSumKernels::queries; ++query) {
      const std::size_t number = group * ColumnSumKernels::queries + query;
      std::fill_n(sums_.data() + query * width_, width_, number < given_.queries ? given_.bias[number] : 0.0F);
    }
    for (std::size_t column = 0; column < count; column += ColumnSumKernels::columns)
      add_(turned_.group(group), block_.data() + column, stored_.dim, width_, sums_.data() + column);
  }

  void add_own(std::size_t query, std::size_t first, std::size_t count, float* sums) const {
    for (std::size_t feature = 0; feature < given_.features; ++feature) {
      const std::size_t row = query * given_.features + feature;
      detail::add_scaled(given_.own_weights[row], given_.own + row * stored_.count + first, count, sums);
    }
  }

  const StoredColumns& stored_;
  const ColumnWeights& given_;
  const TurnedWeights& turned_;
  const ColumnSumKernels::Add add_;
  const std::size_t width_;
  const Kernels& kernels_ = Kernels::best();
  std::vector<float> block_, sums_;
};

inline std::size_t pieces_of(const StoredColumns& stored) {
  return (stored.count + ColumnSums::items_a_piece - 1) / ColumnSums::items_a_piece;
}

// All sums, queries × items.
inline void column_sums(const StoredColumns& stored, const ColumnWeights& given, ColumnSumKernels::Add add, float* out,
                        std::size_t threads, const Poll& poll) {
  const TurnedWeights turned(given, stored.dim);
  const auto make_worker = [&] {
    return [&, work = ColumnSums(stored, given, turned, add)](std::size_t piece) mutable {
      work.piece(piece, [&](std::size_t query, std::size_t first, std::span<const float> sums) {
        std::copy(sums.begin(), sums.end(), out + query * stored.count + first);
      });
    };
  };
  share_work(pieces_of(stored), threads, make_worker, poll);
}

// The best of one thread's items, for every query.
class BestColumns {
 public:
  BestColumns(std::size_t queries, std::size_t k) : best_(queries) {
    for (TopK& top : best_) top.start(k);
  }

  void offer(std::size_t query, std::size_t first, std::span<const float> sums, const std::uint8_t* free) {
    TopK& top = best_[query];
    float least = signed_score_of(top.floor());  // no number while there is room
    for (std::size_t at = 0; at < sums.size(); ++at) {
      if (sums[at] < least || !free[at]) continue;
      top.push(key_of(sums[at], static_cast<std::uint32_t>(first + at)));
      least = signed_score_of(top.floor());
    }
  }

  std::span<const std::uint64_t> finish(std::size_t query) { return best_[query].finish(); }

 private:
  // -0 and 0 are equal; what is no number comes last.
  static std::uint64_t key_of(float sum, std::uint32_t item) {
    return std::isnan(sum) ? UINT32_MAX - item : signed_ranking_key(sum + 0.0F, item);
  }

  std::vector<TopK> best_;
};

// Each query's keys of its best `k` items among the free ones (queries × items), the best first; of equals, the lower item.
inline std::vector<std::vector<std::uint64_t>> best_columns(const StoredColumns& stored, const ColumnWeights& given,
                                                            const std::uint8_t* free, std::size_t k, ColumnSumKernels::Add add,
                                                            std::size_t threads, const Poll& poll) {
  const TurnedWeights turned(given, stored.dim);
  threads = std::max<std::size_t>(1, std::min({threads, pieces_of(stored), most_threads()}));
  std::vector<BestColumns> kept(threads, BestColumns(given.queries, k));
  std::atomic<std::size_t> next{0};
  const auto make_worker = [&] {
    return [&, &best = kept[next++], work = ColumnSums(stored, given, turned, add)](std::size_t piece) mutable {
      work.piece(piece, [&](std::size_t query, std::size_t first, std::span<const float> sums) {
        best.offer(query, first, sums, free + query * stored.count + first);
      });
    };
  };
  share_work(pieces_of(stored), threads, make_worker, poll);
  std::vector<std::vector<std::uint64_t>> joined(given.queries);
  for (BestColumns& best : kept) {
    for (std::size_t query = 0; query < given.queries; ++query) {
      const auto keys = best.finish(query);
      joined[query].insert(joined[query].end(), keys.begin(), keys.end());
    }
  }
  for (auto& keys : joined) {
    std::sort(keys.begin(), keys.end(), std::greater<>());
    keys.resize(std::min(keys.size(), k));
  }
  return joined;
}

}  // namespace vizsla
