// Estimates of all items for some queries: weights times the items' columns, and times what only the query knows of
// them. What is made of a block of columns is used, query by query, while it is in the cache.
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
#include "dense/stored_columns.hpp"

namespace vizsla {

// The queries' weights, and features of the items that are theirs alone: queries × features × items.
struct ColumnWeights {
  const float* weights = nullptr;  // queries × dimensions
  const float* own = nullptr;
  const float* own_weights = nullptr;  // queries × features
  const float* bias = nullptr;         // one a query
  std::size_t queries = 0, features = 0;
};

namespace detail {

VIZSLA_CLONES static void add_scaled(float scale, const float* from, std::size_t count, float* sums) {
  for (std::size_t at = 0; at < count; ++at) sums[at] += scale * from[at];
}

constexpr std::size_t looked_at = 128;

// What is no number reaches all.
VIZSLA_CLONES static bool any_reaches(const float* sums, std::size_t count, float least) {
  std::uint32_t reaching = 0;
  for (std::size_t at = 0; at < count; ++at) reaching += !(sums[at] < least);
  return reaching > 0;
}

}  // namespace detail

// Eight queries' weights beside each other for each dimension; the last eight are filled up with zeros.
class TurnedWeights {
 public:
  TurnedWeights(const ColumnWeights& given, std::size_t dim)
      : dim_(dim), numbers_(groups_of(given.queries) * dim * wide) {
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
//
// A few rows at a time are added to the sums of many columns: each row is read as one stream, straight from where it is
// stored, and the strip that eight queries have used is in the cache for the next eight.
class ColumnSums {
 public:
  static constexpr std::size_t items_a_piece = 6144;

  ColumnSums(const StoredColumns& stored, const ColumnWeights& given, const TurnedWeights& turned,
             const ColumnSumKernels& kernels)
      : stored_(stored),
        given_(given),
        turned_(turned),
        kernels_(kernels),
        groups_(TurnedWeights::groups_of(given.queries)),
        width_(width_for(groups_)),
        sums_(groups_ * wide * width_) {}

  template <class Use>
  void piece(std::size_t number, const Use& use) {
    const std::size_t end = std::min(stored_.count, (number + 1) * items_a_piece);
    for (std::size_t first = number * items_a_piece; first < end; first += width_) {
      const std::size_t count = std::min(width_, end - first);
      std::visit([&](const auto* numbers) { sum(numbers, first, count); }, stored_.numbers);
      for (std::size_t query = 0; query < given_.queries; ++query) {
        float* sums = sums_.data() + query * width_;
        add_own(query, first, count, sums);
        use(query, first, std::span<const float>(sums, count));
      }
    }
  }

 private:
  static constexpr std::size_t wide = ColumnSumKernels::queries, columns = ColumnSumKernels::columns;
  static constexpr std::size_t rows_at_once = 128;  // a strip of them stays in the first cache
  static constexpr std::size_t ahead_of = 2 * columns;
  static constexpr std::size_t most_width = 1536;
  static constexpr std::size_t sums_at_once = 65536;  // they stay in the second cache

  static std::size_t width_for(std::size_t groups) {
    const std::size_t strips = sums_at_once / (std::max<std::size_t>(1, groups) * wide * columns);
    return columns * std::clamp<std::size_t>(strips, 1, most_width / columns);
  }

  template <class Number>
  void sum(const Number* numbers, std::size_t first, std::size_t count) {
    for (std::size_t query = 0; query < groups_ * wide; ++query)
      std::fill_n(sums_.data() + query * width_, width_, query < given_.queries ? given_.bias[query] : 0.0F);
    for (std::size_t at = 0; at < stored_.dim; at += rows_at_once)
      add_rows(numbers + at * stored_.count + first, at, std::min(rows_at_once, stored_.dim - at), count);
  }

  template <class Number>
  void add_rows(const Number* rows, std::size_t at, std::size_t dim, std::size_t count) {
    const std::size_t whole = count / columns * columns;
    for (std::size_t column = 0; column < whole; column += columns) {
      const std::size_t ahead = column + ahead_of < whole ? ahead_of : 0;
      add_strip<Number>({rows + column, dim, stored_.count, ahead}, at, column);
    }
    if (whole == count) return;
    Number filled[rows_at_once * columns] = {};
    for (std::size_t row = 0; row < dim; ++row)
      std::copy_n(rows + row * stored_.count + whole, count - whole, filled + row * columns);
    add_strip<Number>({filled, dim, columns, 0}, at, whole);
  }

  template <class Number>
  void add_strip(ColumnStrip<Number> strip, std::size_t at, std::size_t column) {
    for (std::size_t group = 0; group < groups_; ++group) {
      kernels_.add(turned_.group(group) + at * wide, strip, sums_.data() + group * wide * width_ + column, width_);
      strip.ahead = 0;  // it has been asked for
    }
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
  const ColumnSumKernels& kernels_;
  const std::size_t groups_, width_;
  std::vector<float> sums_;
};

inline std::size_t pieces_of(const StoredColumns& stored) {
  return (stored.count + ColumnSums::items_a_piece - 1) / ColumnSums::items_a_piece;
}

// All sums, queries × items.
inline void column_sums(const StoredColumns& stored, const ColumnWeights& given, const ColumnSumKernels& kernels,
                        float* out, std::size_t threads, const Poll& poll) {
  const TurnedWeights turned(given, stored.dim);
  const auto make_worker = [&] {
    return [&, work = ColumnSums(stored, given, turned, kernels)](std::size_t piece) mutable {
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
    for (std::size_t start = 0; start < sums.size(); start += detail::looked_at) {
      const auto some = sums.subspan(start, std::min(detail::looked_at, sums.size() - start));
      if (!detail::any_reaches(some.data(), some.size(), least)) continue;
      for (std::size_t at = start; at < start + some.size(); ++at) {
        if (sums[at] < least || !free[at]) continue;
        top.push(key_of(sums[at], static_cast<std::uint32_t>(first + at)));
        least = signed_score_of(top.floor());
      }
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

// Each query's keys of its best `k` items among the free ones (queries × items), the best first; of equals, the lower
// item.
inline std::vector<std::vector<std::uint64_t>> best_columns(const StoredColumns& stored, const ColumnWeights& given,
                                                            const std::uint8_t* free, std::size_t k,
                                                            const ColumnSumKernels& kernels, std::size_t threads,
                                                            const Poll& poll) {
  const TurnedWeights turned(given, stored.dim);
  threads = std::max<std::size_t>(1, std::min({threads, pieces_of(stored), most_threads()}));
  std::vector<BestColumns> kept(threads, BestColumns(given.queries, k));
  std::atomic<std::size_t> next{0};
  const auto make_worker = [&] {
    return [&, &best = kept[next++], work = ColumnSums(stored, given, turned, kernels)](std::size_t piece) mutable {
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
