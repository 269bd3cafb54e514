// Late interaction: for each token of a query the best inner product with a token of the item, added up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "common/checks.hpp"
#include "common/threads.hpp"
#include "dense/max_sim_kernels.hpp"
#include "dense/stored_rows.hpp"

namespace vizsla {

// A query's tokens, sixteen to a block, turned so that a dimension's numbers stand beside each other; the last block is
// filled up with zeros.
struct TurnedQuery {
  TurnedQuery(const float* tokens, std::size_t count_, std::size_t dim_)
      : count(count_), dim(dim_), numbers(blocks() * dim * MaxSimKernels::lanes) {
    constexpr std::size_t lanes = MaxSimKernels::lanes;
    for (std::size_t token = 0; token < count; ++token) {
      float* block = numbers.data() + token / lanes * dim * lanes + token % lanes;
      for (std::size_t at = 0; at < dim; ++at) block[at * lanes] = tokens[token * dim + at];
    }
  }

  std::size_t blocks() const { return (count + MaxSimKernels::lanes - 1) / MaxSimKernels::lanes; }
  const float* block(std::size_t number) const { return numbers.data() + number * dim * MaxSimKernels::lanes; }

  std::size_t count, dim;
  std::vector<float> numbers;
};

// Tokens of all items, one item's after another's; `offsets` say where each begins and are checked as they are used.
struct TokenStore {
  StoredRows tokens;
  std::span<const std::int64_t> offsets;

  std::pair<std::size_t, std::size_t> span(std::size_t item) const {
    const std::int64_t begin = offsets[item], end = offsets[item + 1];
    require(begin >= 0 && begin <= end && static_cast<std::size_t>(end) <= tokens.count,
            "offsets must rise, and end with the tokens");
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
  }
};

// One thread's scoring: an item's tokens are decoded once for all of the query's blocks.
class MaxSim {
 public:
  MaxSim(const TokenStore& store, MaxSimKernels::Keep keep) : store_(store), keep_(keep) {}

  float score(const TurnedQuery& query, std::size_t item) {
    const auto [begin, end] = store_.span(item);
    if (begin == end) return 0;
    const float* rows = decoded(begin, end);
    double sum = 0;
    for (std::size_t block = 0; block < query.blocks(); ++block) {
      constexpr std::size_t lanes = MaxSimKernels::lanes;
      float best[lanes];
      std::fill_n(best, lanes, -std::numeric_limits<float>::infinity());
      keep_(query.block(block), rows, end - begin, query.dim, best);
      for (std::size_t lane = 0; lane < std::min(lanes, query.count - block * lanes); ++lane) sum += double{best[lane]};
    }
    const auto total = static_cast<float>(sum);
    require(std::isfinite(total), "tokens must be finite numbers");
    return total;
  }

 private:
  const float* decoded(std::size_t begin, std::size_t end) {
    const std::size_t dim = store_.tokens.dim;
    if (const auto* floats = std::get_if<0>(&store_.tokens.rows)) return *floats + begin * dim;
    if (room_.size() < (end - begin) * dim) room_.resize((end - begin) * dim);
    for (std::size_t row = begin; row < end; ++row)
      store_.tokens.decoded(row, Kernels::best(), room_.data() + (row - begin) * dim);
    return room_.data();
  }

  const TokenStore& store_;
  const MaxSimKernels::Keep keep_;
  std::vector<float> room_;
};

// Scores each pair of a query number and an item number, all of them checked before.
inline void max_sims(std::span<const TurnedQuery> queries, const TokenStore& store, std::span<const std::int64_t> rows,
                     std::span<const std::int32_t> items, float* scores, MaxSimKernels::Keep keep, std::size_t threads,
                     const Poll& poll) {
  constexpr std::size_t pairs_a_piece = 64;
  const std::size_t pieces = (items.size() + pairs_a_piece - 1) / pairs_a_piece;
  const auto make_worker = [&] {
    return [&, scorer = MaxSim(store, keep)](std::size_t piece) mutable {
      const std::size_t end = std::min(items.size(), (piece + 1) * pairs_a_piece);
      for (std::size_t pair = piece * pairs_a_piece; pair < end; ++pair)
        scores[pair] =
            scorer.score(queries[static_cast<std::size_t>(rows[pair])], static_cast<std::size_t>(items[pair]));
    };
  };
  share_work(pieces, threads, make_worker, poll);
}

}  // namespace vizsla
