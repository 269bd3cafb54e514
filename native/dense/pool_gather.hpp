// The columns of each query's own items out of rows that hold all items: rows again, as the sums of columns read them.
//
// Rows of a large catalog are longer than caches, and a query's items are scattered over them. A segment of a row is
// read as one stream, and while it is in the cache every query takes what it wants of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/clones.hpp"
#include "common/threads.hpp"
#include "dense/half.hpp"
#include "dense/kernels.hpp"
#include "dense/stored_columns.hpp"

namespace vizsla {

// Which items each query wants, segment by segment: places within a segment fit 16 bits.
class PoolPlaces {
 public:
  static constexpr std::size_t segment = 32768;

  // `items`: the queries' items one after the other, each below `count`; those of query q begin at offsets[q].
  PoolPlaces(std::span<const std::int64_t> items, std::span<const std::int64_t> offsets, std::size_t count)
      : queries_(offsets.size() - 1), segments_((count + segment - 1) / segment), starts_(segments_ * queries_ + 1) {
    for (std::size_t query = 0; query < queries_; ++query)
      for (std::size_t at = begin(offsets, query); at < begin(offsets, query + 1); ++at)
        ++starts_[slot(items[at], query) + 1];
    for (std::size_t at = 1; at < starts_.size(); ++at) starts_[at] += starts_[at - 1];
    wanted_.resize(items.size());
    std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t query = 0; query < queries_; ++query) {
      for (std::size_t at = begin(offsets, query); at < begin(offsets, query + 1); ++at)
        wanted_[next[slot(items[at], query)]++] = {static_cast<std::uint16_t>(items[at] % segment),
                                                   static_cast<std::uint32_t>(at - begin(offsets, query))};
    }
  }

  struct Wanted {
    std::uint16_t place;  // within the segment
    std::uint32_t where;  // among the query's items
  };

  std::size_t segments() const { return segments_; }
  std::span<const Wanted> of(std::size_t number, std::size_t query) const {
    const std::size_t at = number * queries_ + query;
    return std::span(wanted_).subspan(starts_[at], starts_[at + 1] - starts_[at]);
  }
  std::size_t count(std::size_t number) const { return starts_[(number + 1) * queries_] - starts_[number * queries_]; }

 private:
  static std::size_t begin(std::span<const std::int64_t> offsets, std::size_t query) {
    return static_cast<std::size_t>(offsets[query]);
  }
  std::size_t slot(std::int64_t item, std::size_t query) const {
    return static_cast<std::size_t>(item) / segment * queries_ + query;
  }

  std::size_t queries_, segments_;
  std::vector<std::size_t> starts_;
  std::vector<Wanted> wanted_;
};

namespace detail {

VIZSLA_CLONES static void widen_bytes(const std::int8_t* from, std::size_t count, float* to) {
  for (std::size_t at = 0; at < count; ++at) to[at] = static_cast<float>(from[at]);
}

VIZSLA_CLONES static void scale_by(float step, std::size_t count, float* numbers) {
  for (std::size_t at = 0; at < count; ++at) numbers[at] *= step;
}

// Rows of all queries' pools, which lie one after the other in `out`: query q's begin at dim * offsets[q].
template <class Number>
class PoolGather {
 public:
  PoolGather(const Number* numbers, const StoredColumns& stored, const PoolPlaces& places,
             std::span<const std::int64_t> offsets, const float* steps, float* out)
      : numbers_(numbers),
        stored_(stored),
        places_(places),
        offsets_(offsets),
        steps_(steps),
        out_(out),
        taken_(std::is_same_v<Number, float> ? 0 : static_cast<std::size_t>(offsets.back())) {}

  void row(std::size_t number) {
    for (std::size_t segment = 0; segment < places_.segments(); ++segment) {
      const std::size_t first = segment * PoolPlaces::segment,
                        count = std::min(PoolPlaces::segment, stored_.count - first);
      const Number* from = numbers_ + number * stored_.count + first;
      const bool whole = places_.count(segment) > count * sizeof(Number) / line / 2;  // most lines are wanted
      if (whole) read(from, count);
      for (std::size_t query = 0; query + 1 < offsets_.size(); ++query) {
        const auto wanted = places_.of(segment, query);
        whole ? take<false>(wanted, from, room(query, number)) : take<true>(wanted, from, room(query, number));
      }
    }
    for (std::size_t query = 0; query + 1 < offsets_.size(); ++query) finish(query, number);
  }

 private:
  static constexpr std::size_t line = 64, ahead = 16;

  // Brings a segment into the cache. The CPU sees a stream, and is quicker with it than with any number of requests.
  static void read(const Number* from, std::size_t count) {
    const auto* bytes = reinterpret_cast<const volatile unsigned char*>(from);
    for (std::size_t byte = 0; byte < count * sizeof(Number); byte += line) static_cast<void>(bytes[byte]);
  }

  template <bool Scattered>
  static void take(std::span<const PoolPlaces::Wanted> wanted, const Number* from, Number* to) {
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      if constexpr (Scattered) __builtin_prefetch(from + wanted[std::min(at + ahead, wanted.size() - 1)].place);
      to[wanted[at].where] = from[wanted[at].place];
    }
  }

  std::size_t start(std::size_t query) const { return static_cast<std::size_t>(offsets_[query]); }
  std::size_t width(std::size_t query) const { return start(query + 1) - start(query); }
  float* out(std::size_t query, std::size_t row) const {
    return out_ + stored_.dim * start(query) + row * width(query);
  }

  // Where a query's numbers go as they are stored: floats to where they stay.
  Number* room(std::size_t query, std::size_t row) {
    if constexpr (std::is_same_v<Number, float>) return out(query, row);
    else return taken_.data() + start(query);
  }

  void finish(std::size_t query, std::size_t row) {
    float* const to = out(query, row);
    if constexpr (std::is_same_v<Number, Half>) Kernels::best().widen(room(query, row), width(query), to);
    if constexpr (std::is_same_v<Number, std::int8_t>) widen_bytes(room(query, row), width(query), to);
    if (steps_[row] != 1.0F) scale_by(steps_[row], width(query), to);
  }

  const Number* numbers_;
  const StoredColumns& stored_;
  const PoolPlaces& places_;
  std::span<const std::int64_t> offsets_;
  const float* steps_;
  float* out_;
  std::vector<Number> taken_;  // of one row
};

}  // namespace detail

// Each query's dimensions × items, one query after the other. Items must be below `stored.count`, and offsets rise.
inline void gather_pools(const StoredColumns& stored, std::span<const std::int64_t> items,
                         std::span<const std::int64_t> offsets, const float* steps, float* out, std::size_t threads,
                         const Poll& poll) {
  const PoolPlaces places(items, offsets, stored.count);
  std::visit(
      [&](const auto* numbers) {
        const auto make_worker = [&] {
          return [work = detail::PoolGather(numbers, stored, places, offsets, steps, out)](std::size_t row) mutable {
            work.row(row);
          };
        };
        share_work(stored.dim, threads, make_worker, poll);
      },
      stored.numbers);
}

}  // namespace vizsla
