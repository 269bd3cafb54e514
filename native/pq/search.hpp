// Exact search over codes: a scan finds candidates with rounded sums, then float tables rank them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "common/instructions.hpp"
#include "common/threads.hpp"
#include "common/topk.hpp"
#include "dense/best_hits.hpp"
#include "dense/rescoring_band.hpp"
#include "pq/book.hpp"
#include "pq/scan.hpp"

namespace vizsla {

class PqSearch {
 public:
  PqSearch(const PqBook& book, const PqCodes& codes, const ItemSelection& chosen, std::size_t k,
           Instructions instructions)
      : book_(book),
        codes_(codes),
        chosen_(chosen),
        k_(k),
        instructions_(instructions),
        kernels_(RoundedKernels::of(instructions)) {}

  std::vector<std::vector<Hit>> run(const float* queries, std::size_t count, std::size_t threads, const Poll& poll) {
    static const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    threads = std::min(threads, cores);
    answers_.assign(count, {});
    const std::size_t rows = chosen_.size() * codes_.row_bytes();
    const std::size_t parts = std::min(threads / std::max<std::size_t>(1, count), rows / bytes_a_part + 1);
    parts > 1 ? by_rows(queries, count, parts, poll) : by_queries(queries, count, threads, poll);
    return std::move(answers_);
  }

  // How often all chosen codes were read.
  std::size_t reads() const { return reads_; }

 private:
  static constexpr std::size_t most_group = 8;          // queries whose bytes stay near; tables of floats do not
  static constexpr std::size_t bytes_a_part = 1 << 19;  // less is not worth a thread

  void by_queries(const float* queries, std::size_t count, std::size_t threads, const Poll& poll) {
    const std::size_t even = (count + threads - 1) / threads;
    const std::size_t size = rounds() ? std::clamp<std::size_t>(even, 1, most_group) : 1;
    const std::size_t groups = (count + size - 1) / size;
    reads_ = groups;
    share_work(
        groups, threads,
        [&] {
          return
              [&, scan = PqScan(codes_, chosen_, kernels_), tables = PqTables(book_, instructions_),
               asked = std::vector<PqQuery>(size), near = std::vector<RescoringBand>(size)](std::size_t group) mutable {
                const std::size_t first = group * size, here = std::min(size, count - first);
                for (std::size_t i = 0; i < here; ++i) prepare(tables, queries + (first + i) * book_.dim, asked[i]);
                scan.run(std::span(asked).first(here), std::span(near).first(here), k_, 0, chosen_.size(), poll);
                for (std::size_t i = 0; i < here; ++i) answers_[first + i] = ranked(asked[i], near[i]);
              };
        },
        poll);
  }

  // Fewer queries than threads: each looks at a part of the items.
  void by_rows(const float* queries, std::size_t count, std::size_t parts, const Poll& poll) {
    PqTables tables(book_, instructions_);
    std::vector<PqQuery> asked(count);
    std::vector<RescoringBand> near(count * parts);
    reads_ = 1;
    for (std::size_t i = 0; i < count; ++i) prepare(tables, queries + i * book_.dim, asked[i]);
    share_work(parts, parts, [&] {
      return [&, scan = PqScan(codes_, chosen_, kernels_)](std::size_t part) mutable {
        const std::size_t rows = chosen_.size();
        scan.run(asked, std::span(near).subspan(part * count, count), k_, rows * part / parts,
                 rows * (part + 1) / parts, poll);
      };
    });
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t part = 1; part < parts; ++part) near[i].absorb(near[part * count + i]);
      answers_[i] = ranked(asked[i], near[i]);
    }
  }

  // Whether tables of bytes are of use here.
  bool rounds() const { return codes_.side == PqCodes::lanes && (codes_.halves || kernels_.bytes != nullptr); }

  void prepare(PqTables& tables, const float* query, PqQuery& asked) const {
    asked.table.resize(book_.table_size());
    tables.fill(query, asked.table.data());
    asked.rounded = rounds() && asked.bytes.fill(asked.table.data(), book_.parts, book_.count);
  }

  std::vector<Hit> ranked(const PqQuery& asked, RescoringBand& near) const {
    return asked.rounded ? ranked_from_top(asked, near) : ranked_all(asked, near);
  }

  // The most promising first: stop once k scores are above what the next candidate could reach.
  std::vector<Hit> ranked_from_top(const PqQuery& asked, RescoringBand& near) const {
    constexpr std::size_t few = 8;
    std::vector<Hit> hits;
    TopK top;
    top.start(k_, k_ + std::max<std::size_t>(k_ / 8, few));  // cut often: the floor is nearly the k-th best so far
    const std::span<const std::uint64_t> keys = near.finish_ranked();
    for (std::size_t first = 0; first < keys.size(); first += few) {
      if (top.floor() != 0 && asked.bytes.most(signed_score_of(keys[first])) < double{signed_score_of(top.floor())})
        break;
      const std::size_t count = std::min(few, keys.size() - first);
      std::uint32_t items[few];
      float scores[few];
      for (std::size_t i = 0; i < few; ++i) items[i] = item_of(keys[first + std::min(i, count - 1)]);
      codes_.sums<few>(asked.table.data(), items, scores);
      for (std::size_t i = 0; i < count; ++i) {
        hits.push_back(hit_of(scores[i], items[i]));
        top.push(hits.back().key);
      }
    }
    keep_best(hits, k_);
    return hits;
  }

  std::vector<Hit> ranked_all(const PqQuery& asked, RescoringBand& near) const {
    const std::span<const std::uint32_t> items = near.finish();
    std::vector<Hit> hits(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) hits[i] = hit_of(codes_.sum(asked.table.data(), items[i]), items[i]);
    keep_best(hits, k_);
    return hits;
  }

  const PqBook& book_;
  const PqCodes& codes_;
  const ItemSelection& chosen_;
  std::size_t k_, reads_ = 0;
  Instructions instructions_;
  RoundedKernels kernels_;
  std::vector<std::vector<Hit>> answers_;
};

}  // namespace vizsla
