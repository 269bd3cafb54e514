// Exact search that scans an int8 copy of the rows. Error bounds decide which rows must be scored in full precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include "common/prefetch.hpp"
#include "common/threads.hpp"
#include "dense/best_hits.hpp"
#include "dense/int8_bounds.hpp"
#include "dense/int8_kernels.hpp"
#include "dense/scan.hpp"

namespace vizsla {

// Row x is within `errors[x]` of `scales[x]` times its bytes.
struct Int8Rows {
  const std::int8_t* codes = nullptr;
  std::size_t width = 0;  // bytes of a row: the dimensions, filled up with zeros
  std::span<const float> scales, errors;
};

// A query quantized to int16, so that sums of products fit 32 bits, and its quantization error.
class Int16Query {
 public:
  Int16Query(const float* query, std::size_t dim, std::size_t width) : numbers_(width, 0) {
    double squares = 0, largest = 0;
    for (std::size_t at = 0; at < dim; ++at) {
      squares += double{query[at]} * query[at];
      largest = std::max(largest, std::abs(double{query[at]}));
    }
    length_ = std::sqrt(squares) * (1 + 1e-9);
    const double most = std::min(32767.0, std::floor(2147483647.0 / (128.0 * static_cast<double>(width))));
    scale_ = largest > 0 ? largest / most : 1;
    double rest = 0;
    for (std::size_t at = 0; at < dim; ++at) {
      const double nearest = std::nearbyint(query[at] / scale_);
      numbers_[at] = static_cast<std::int16_t>(nearest);
      const double error = query[at] - nearest * scale_;
      rest += error * error;
    }
    rest_ = std::sqrt(rest) * (1 + 1e-9);
  }

  const std::int16_t* numbers() const { return numbers_.data(); }
  double scale() const { return scale_; }
  double length() const { return length_; }
  double rest() const { return rest_; }

 private:
  std::vector<std::int16_t> numbers_;
  double scale_ = 1, length_ = 0, rest_ = 0;
};

class Int8Search {
 public:
  Int8Search(const RowSelection& chosen, const Int8Rows& int8, double longest, std::size_t k, bool portable)
      : chosen_(chosen),
        int8_(int8),
        longest_(longest),
        k_(k),
        whole_(portable ? Int8Kernels::portable() : Int8Kernels::best()),
        kernels_(portable ? Kernels::portable() : Kernels::best()) {}

  std::vector<std::vector<Hit>> run(const float* queries, std::size_t count, std::size_t threads, const Poll& poll) {
    static const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    threads = std::min(threads, cores);
    std::vector<std::vector<Hit>> answers(count);
    const std::size_t bytes = chosen_.size() * int8_.width;
    const std::size_t parts = std::max<std::size_t>(1, std::min(threads, bytes / bytes_a_part + 1));
    best_.resize(parts);
    for (std::size_t number = 0; number < count; ++number) {
      const float* query = queries + number * chosen_.stored.dim;
      scan(Int16Query(query, chosen_.stored.dim, int8_.width), parts, poll);
      answers[number] = ranked(query);
    }
    return answers;
  }

  // Rows that were scored in full.
  std::size_t scored() const { return scored_; }

 private:
  static constexpr std::size_t together = Int8Kernels::together;
  static constexpr std::size_t rows_a_look = 4096, bytes_a_part = 1 << 20;
  static constexpr std::size_t ahead =
      64;  // rows, into the second cache: the first has too few places for lines on their way

  void scan(const Int16Query& query, std::size_t parts, const Poll& poll) {
    share_work(parts, parts, [&] {
      return [&](std::size_t part) {
        const std::size_t rows = chosen_.size();
        scan(query, best_[part], rows * part / parts, rows * (part + 1) / parts, poll);
      };
    });
    for (std::size_t part = 1; part < parts; ++part) best_[0].absorb(best_[part]);
  }

  // x = s c + r and q = t p + e, so q·x = s t (p·c) + s (e·c) + q·r. The last two are at most |e| (|x| + |r|) and |q|
  // |r| (Cauchy and Schwarz). What is rounded to float32, here and at the end of `pair_dot`, is covered by a few units
  // of |q| |x|; numbers so large that they might overflow are not trusted at all.
  void scan(const Int16Query& query, Int8Bounds& best, std::size_t begin, std::size_t end, const Poll& poll) {
    const bool sound = query.length() * longest_ < 1e36;
    const double wide = sound ? query.length() + query.rest() : std::numeric_limits<double>::infinity();
    const double fixed = (query.rest() + query.length() * 0x1p-21) * longest_ + 1e-37;
    best.start(k_);
    for (std::size_t place = begin; place < end; place += together) {
      if ((place - begin) % rows_a_look == 0 && poll) poll();
      const std::size_t count = std::min(together, end - place);
      std::int32_t products[together];
      multiply(query, place, end, products);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t item = chosen_.number(place + i);
        const double about = sound ? products[i] * (int8_.scales[item] * query.scale()) : 0;
        const double off = sound ? wide * int8_.errors[item] + fixed : wide;
        best.offer(static_cast<float>(about - off), static_cast<float>(about + off), static_cast<std::uint32_t>(item));
      }
    }
  }

  // The products of the rows from `place` on; where fewer are left, the last one's again.
  void multiply(const Int16Query& query, std::size_t place, std::size_t end, std::int32_t* products) const {
    const std::int8_t* rows[together];
    for (std::size_t i = 0; i < together; ++i) {
      rows[i] = int8_.codes + chosen_.number(std::min(place + i, end - 1)) * int8_.width;
      if (place + i + ahead < end) prefetch(chosen_.number(place + i + ahead));
    }
    whole_.dots(query.numbers(), rows, int8_.width, products);
  }

  VIZSLA_PREFETCHES void prefetch(std::size_t item) const {
    const auto* row = reinterpret_cast<const char*>(int8_.codes + item * int8_.width);
    for (std::size_t at = 0; at < int8_.width; at += 64) __builtin_prefetch(row + at, 0, 2);
  }

  // Scores by descending upper bound, and stops when the k-th best score exceeds the next bound.
  std::vector<Hit> ranked(const float* query) {
    room_.resize(chosen_.stored.dim);
    std::vector<Hit> hits;
    TopK top;
    top.start(k_, k_ + k_ / 8 + 1);  // cut often: the floor is nearly the k-th best so far
    for (const BoundedItem& one : best_[0].finish()) {
      if (top.floor() != 0 && one.most < signed_score_of(top.floor())) break;
      const float* row = chosen_.stored.decoded(one.item, kernels_, room_.data());
      hits.push_back(hit_of(kernels_.pair_dot(query, row, chosen_.stored.dim), one.item));
      top.push(hits.back().key);
    }
    scored_ += hits.size();
    keep_best(hits, k_);
    return hits;
  }

  const RowSelection& chosen_;
  const Int8Rows& int8_;
  double longest_;
  std::size_t k_, scored_ = 0;
  const Int8Kernels& whole_;
  const Kernels& kernels_;
  std::vector<Int8Bounds> best_;
  std::vector<float> room_;
};

}  // namespace vizsla
