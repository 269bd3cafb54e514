// Exact search: a scan finds the items that could be among the best, `pair_dot` ranks them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "common/threads.hpp"
#include "common/topk.hpp"
#include "dense/scan.hpp"

namespace vizsla {

struct Hit {
  std::uint64_t key;  // orders by score, best first, then by item
  float score;

  std::int32_t item() const { return static_cast<std::int32_t>(item_of(key)); }
};

// Answers a batch in turns of a few hundred queries. A turn is cut into pieces, queries by rows, as the threads ask;
// how it is cut changes no exact score, and so no answer.
class FlatSearch {
 public:
  FlatSearch(const RowSelection& chosen, double longest, const Kernels& kernels, std::size_t k)
      : chosen_(chosen), longest_(longest), kernels_(kernels), k_(k) {}

  std::vector<std::vector<Hit>> run(const float* queries, std::size_t count, std::size_t threads, const Poll& poll) {
    std::vector<std::vector<Hit>> answers(count);
    static const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());  // asking takes microseconds
    threads = std::min(threads, cores);
    const std::size_t piece = queries_a_piece(count, threads), turn = piece * threads;
    for (std::size_t first = 0; first < count; first += turn) {
      const std::size_t here = std::min(turn, count - first);
      const float* asked = queries + first * chosen_.stored.dim;
      scan(asked, here, piece, threads, poll);
      share_work(
          here, std::min(threads, here * parts_ / 16 + 1),
          [&] {
            return [&, room = std::vector<float>(chosen_.stored.dim)](std::size_t query) mutable {
              answers[first + query] = ranked(asked + query * chosen_.stored.dim, query, here, room);
            };
          },
          poll);
    }
    return answers;
  }

  // How often all chosen rows were read: once for a piece of queries.
  std::size_t reads() const { return reads_; }

 private:
  static constexpr std::size_t ahead = 2;                 // rows asked for before they are scored
  static constexpr std::size_t most_queries = 128;        // a piece: they share the cache with a block of rows
  static constexpr std::size_t most_held = 1 << 21;       // candidates of a piece
  static constexpr std::size_t numbers_a_part = 1 << 18;  // less is not worth a thread

  std::size_t queries_a_piece(std::size_t count, std::size_t threads) const {
    constexpr std::size_t width = Kernels::tile_queries;
    const std::size_t most = std::clamp(most_held / k_, width, most_queries);
    const std::size_t even = (count + threads - 1) / threads;
    return std::max<std::size_t>(1, std::min(most, (even + width - 1) / width * width));
  }

  // Fills `near_`, part by part, and in each query by query.
  void scan(const float* queries, std::size_t count, std::size_t piece, std::size_t threads, const Poll& poll) {
    const std::size_t pieces = (count + piece - 1) / piece, rows = chosen_.size();
    const std::size_t worth = rows / (numbers_a_part / chosen_.stored.dim + 1) + 1;
    parts_ = std::max<std::size_t>(1, std::min(threads / std::max<std::size_t>(1, pieces), worth));
    near_.resize(std::max(near_.size(), parts_ * count));
    reads_ += pieces;
    std::atomic<bool> stopped{false};
    const auto go_on = [&] {
      if (stopped) return false;
      try {
        if (poll) poll();
      } catch (...) {
        stopped = true;
        throw;
      }
      return true;
    };
    share_work(pieces * parts_, threads, [&] {
      return [&, worker = Scan(chosen_, longest_, kernels_)](std::size_t number) mutable {
        const std::size_t part = number / pieces, first = number % pieces * piece;
        const std::span near = std::span(near_).subspan(part * count + first, std::min(piece, count - first));
        worker.run(queries + first * chosen_.stored.dim, near, k_, rows * part / parts_, rows * (part + 1) / parts_,
                   go_on);
      };
    });
  }

  std::vector<Hit> ranked(const float* query, std::size_t number, std::size_t count, std::vector<float>& room) {
    RescoringBand& near = near_[number];
    for (std::size_t part = 1; part < parts_; ++part) near.absorb(near_[part * count + number]);
    const std::span<const std::uint32_t> places = near.finish();
    std::vector<Hit> hits(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i + ahead < places.size()) chosen_.stored.prefetch(chosen_.number(places[i + ahead]));
      const std::size_t item = chosen_.number(places[i]);
      const float* row = chosen_.stored.decoded(item, kernels_, room.data());
      const float score = kernels_.pair_dot(query, row, chosen_.stored.dim);
      hits[i] = {key_of(score, static_cast<std::uint32_t>(item)), score};
    }
    const auto better = [](const Hit& left, const Hit& right) { return left.key > right.key; };
    const std::size_t wanted = std::min(k_, hits.size());
    if (wanted < hits.size()) {
      std::nth_element(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(wanted), hits.end(), better);
      hits.resize(wanted);
    }
    std::sort(hits.begin(), hits.end(), better);
    return hits;
  }

  // -0 and 0 are equal; what is no number comes last.
  static std::uint64_t key_of(float score, std::uint32_t item) {
    return std::isnan(score) ? UINT32_MAX - item : signed_ranking_key(score + 0.0F, item);
  }

  const RowSelection& chosen_;
  double longest_;
  const Kernels& kernels_;
  std::size_t k_, parts_ = 1, reads_ = 0;
  std::vector<RescoringBand> near_;
};

}  // namespace vizsla
