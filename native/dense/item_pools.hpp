// The columns of each query's own items out of a matrix that holds an item's numbers side by side.
//
// An item is one short stream of its own, so that what is read does not grow with the catalog. A few items are read
// together and turned: what is written of a dimension is then a line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/clones.hpp"
#include "common/prefetch.hpp"
#include "common/threads.hpp"
#include "dense/half.hpp"
#include "dense/kernels.hpp"
#include "dense/pool_gather.hpp"
#include "dense/stored_columns.hpp"

namespace vizsla {

namespace detail {

constexpr std::size_t turned_together = 16;

// Rows of `dim` numbers become columns: number d of row r goes to out[d * width + r], times its step.
VIZSLA_CLONES static void turn(const float* const* rows, std::size_t count, std::size_t dim, const float* steps,
                               float* out, std::size_t width) {
  if (count == turned_together) {
    for (std::size_t d = 0; d < dim; ++d)
      for (std::size_t row = 0; row < turned_together; ++row) out[d * width + row] = rows[row][d] * steps[d];
    return;
  }
  for (std::size_t d = 0; d < dim; ++d)
    for (std::size_t row = 0; row < count; ++row) out[d * width + row] = rows[row][d] * steps[d];
}

// `stored.count` rows of `stored.dim` numbers each: here an item's numbers lie side by side.
template <class Number>
class ItemPools {
 public:
  ItemPools(const Number* numbers, const StoredColumns& stored, std::span<const std::int64_t> items,
            std::span<const std::int64_t> offsets, const float* steps, float* out)
      : numbers_(numbers),
        dim_(stored.dim),
        items_(items),
        offsets_(offsets),
        steps_(steps),
        out_(out),
        wide_(std::is_same_v<Number, float> ? 0 : turned_together * stored.dim) {}

  void query(std::size_t number) {
    const auto start = static_cast<std::size_t>(offsets_[number]), end = static_cast<std::size_t>(offsets_[number + 1]);
    for (std::size_t at = start; at < end; at += turned_together) {
      const std::size_t count = std::min(turned_together, end - at);
      ask_for(at + turned_together, std::min(end, at + 2 * turned_together));
      const float* rows[turned_together];
      for (std::size_t row = 0; row < count; ++row) rows[row] = widened_row(items_[at + row], row);
      turn(rows, count, dim_, steps_, out_ + dim_ * start + (at - start), end - start);
    }
  }

 private:
  const Number* row(std::int64_t item) const { return numbers_ + static_cast<std::size_t>(item) * dim_; }

  void ask_for(std::size_t from, std::size_t to) const {
    constexpr std::size_t line = 64;
    for (std::size_t at = from; at < to; ++at) {
      const auto* bytes = reinterpret_cast<const char*>(row(items_[at]));
      for (std::size_t byte = 0; byte < dim_ * sizeof(Number); byte += line) __builtin_prefetch(bytes + byte);
    }
  }

  const float* widened_row(std::int64_t item, std::size_t place) {
    if constexpr (std::is_same_v<Number, float>) {
      return row(item);
    } else {
      float* const room = wide_.data() + place * dim_;
      if constexpr (std::is_same_v<Number, Half>) Kernels::best().widen(row(item), dim_, room);
      else widen_bytes(row(item), dim_, room);
      return room;
    }
  }

  const Number* numbers_;
  std::size_t dim_;
  std::span<const std::int64_t> items_, offsets_;
  const float* steps_;
  float* out_;
  std::vector<float> wide_;  // of the items that are turned together
};

}  // namespace detail

// As `gather_pools`, from items × dimensions: `stored.count` items, `stored.dim` numbers of each.
inline void gather_item_pools(const StoredColumns& stored, std::span<const std::int64_t> items,
                              std::span<const std::int64_t> offsets, const float* steps, float* out,
                              std::size_t threads, const Poll& poll) {
  std::visit(
      [&](const auto* numbers) {
        const auto make_worker = [&] {
          return [work = detail::ItemPools(numbers, stored, items, offsets, steps, out)](std::size_t query) mutable {
            work.query(query);
          };
        };
        share_work(offsets.size() - 1, threads, make_worker, poll);
      },
      stored.numbers);
}

}  // namespace vizsla
