// A pass over stored rows that collects the candidates for the best k of some queries.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "dense/kernels.hpp"
#include "dense/rescoring_band.hpp"
#include "dense/stored_rows.hpp"

namespace vizsla {

// Which rows: all of them, those with the given numbers, which ascend, or those with a flag. By number only the chosen
// are read; by flag all are read as one stream, which is faster where most are chosen, and the others are dropped
// unranked.
struct RowSelection {
  const StoredRows& stored;
  std::span<const std::int32_t> numbers;
  std::span<const std::uint8_t> flags;  // one a row; none: all
  bool all = true;                      // are read

  std::size_t size() const { return all ? stored.count : numbers.size(); }
  std::size_t number(std::size_t place) const { return all ? place : static_cast<std::size_t>(numbers[place]); }
  bool allows(std::size_t place) const { return flags.empty() || flags[place] != 0; }
};

class Scan {
 public:
  // `longest` is at least the length of every row.
  Scan(const RowSelection& chosen, double longest, const Kernels& kernels)
      : chosen_(chosen), longest_(longest), kernels_(kernels) {}

  // Offers the places from `begin` to `end` to each query's `near`. `go_on()` is asked now and then.
  template <class GoOn>
  void run(const float* queries, std::span<RescoringBand> near, std::size_t k, std::size_t begin, std::size_t end,
           const GoOn& go_on) {
    if (near.size() == 1) {
      std::visit([&](auto rows) { one(rows, queries, near[0], k, begin, end, go_on); }, chosen_.stored.rows);
    } else {
      many(queries, near, k, begin, end, go_on);
    }
  }

 private:
  static constexpr std::size_t rows_a_look = 512;
  static constexpr std::size_t block_bytes = 36 << 10;  // of float32 rows: they stay near while all queries meet them

  // However sums are added, they differ from the exact ones by at most γ · Σ|q||v| (Higham, Accuracy and Stability,
  // 3.1), and from each other by twice that; the last term is for products too small for float32.
  double slack(double sizes) const {
    const std::size_t dim = chosen_.stored.dim;
    const double units = static_cast<double>(Kernels::roundings(dim)) * 0x1p-24;
    if (units > 0.5) return std::numeric_limits<double>::infinity();
    return 2 * (units / (1 - units) * sizes * 1.01 + 1e-37 * static_cast<double>(dim));
  }

  double slack_of(const float* query) const {
    double squares = 0;
    for (std::size_t at = 0; at < chosen_.stored.dim; ++at) squares += static_cast<double>(query[at]) * query[at];
    return slack(std::sqrt(squares) * longest_);
  }

  template <class Number, class GoOn>
  void one(const Number* rows, const float* query, RescoringBand& near, std::size_t k, std::size_t begin,
           std::size_t end, const GoOn& go_on) {
    const std::size_t dim = chosen_.stored.dim;
    float base = 0;
    if (chosen_.stored.bytes()) {
      near.start(k, fold(query, base));
      query = folded_.data();
    } else {
      near.start(k, slack_of(query));
    }
    for (std::size_t place = begin; place < end; ++place) {
      if ((place - begin) % rows_a_look == 0 && !go_on()) return;
      if (!chosen_.all && place + ahead < end) chosen_.stored.prefetch(chosen_.number(place + ahead));
      const float sum = kernels_.dot(query, rows + chosen_.number(place) * dim, dim) + base;
      // Few sums count, so that hardly any flag is looked at.
      if (near.counts(sum) && chosen_.allows(place)) near.add(sum, static_cast<std::uint32_t>(place));
    }
  }

  // Scales the query instead of every byte: Σ q (low + (c + ½) step) = Σ (q step) c + Σ q (low + ½ step). Returns the
  // slack, which also covers how far the decoded numbers are rounded.
  double fold(const float* query, float& base) {
    const StoredRows& stored = chosen_.stored;
    folded_.resize(stored.dim);
    double constant = 0, sizes = 0;
    for (std::size_t at = 0; at < stored.dim; ++at) {
      const double number = query[at], low = stored.low[at], step = stored.step[at];
      folded_[at] = query[at] * stored.step[at];
      constant += number * (low + 0.5 * step);
      sizes += std::abs(number) * (256 * std::abs(step) + std::abs(low));
    }
    base = static_cast<float>(constant);
    return slack(sizes);
  }

  template <class GoOn>
  void many(const float* queries, std::span<RescoringBand> near, std::size_t k, std::size_t begin, std::size_t end,
            const GoOn& go_on) {
    const std::size_t dim = chosen_.stored.dim;
    for (std::size_t query = 0; query < near.size(); ++query) near[query].start(k, slack_of(queries + query * dim));
    const std::size_t height = std::max(block_bytes / (dim * sizeof(float)), Kernels::tile_rows);
    room_.resize(height * dim);
    lines_.resize(height + Kernels::tile_rows);
    sums_.resize(lines_.size() * Kernels::tile_queries);
    for (std::size_t first = begin; first < end; first += height) {
      if (!go_on()) return;
      const std::size_t count = std::min(height, end - first);
      for (std::size_t i = 0; i < count; ++i) {
        lines_[i] = chosen_.stored.decoded(chosen_.number(first + i), kernels_, room_.data() + i * dim);
      }
      // What a last tile lacks is its last row, or query, again.
      std::fill(lines_.begin() + static_cast<std::ptrdiff_t>(count), lines_.end(), lines_[count - 1]);
      block(queries, near, first, count);
    }
  }

  void block(const float* queries, std::span<RescoringBand> near, std::size_t first, std::size_t count) {
    constexpr std::size_t width = Kernels::tile_queries, height = Kernels::tile_rows;
    const std::size_t stride = lines_.size();
    std::array<const float*, width> group;
    for (std::size_t query = 0; query < near.size(); query += width) {
      for (std::size_t i = 0; i < width; ++i) {
        group[i] = queries + std::min(query + i, near.size() - 1) * chosen_.stored.dim;
      }
      for (std::size_t row = 0; row < count; row += height) {
        kernels_.tile(group.data(), lines_.data() + row, chosen_.stored.dim, sums_.data() + row, stride);
      }
      for (std::size_t i = 0; i < std::min(width, near.size() - query); ++i) {
        offer(near[query + i], std::span(sums_).subspan(i * stride, count), first);
      }
    }
  }

  // Many at once, at places in a row. Most are far below the floor: one look sees that.
  void offer(RescoringBand& near, std::span<const float> sums, std::size_t first) const {
    if (!near.any_counts(sums)) return;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (near.counts(sums[i]) && chosen_.allows(first + i)) near.add(sums[i], static_cast<std::uint32_t>(first + i));
    }
  }

  static constexpr std::size_t ahead = 2;

  const RowSelection& chosen_;
  double longest_;
  const Kernels& kernels_;
  std::vector<float> folded_, room_, sums_;
  std::vector<const float*> lines_;
};

}  // namespace vizsla
