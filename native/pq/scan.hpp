// A pass over codes for a few queries, which collects whoever may be among their best.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/threads.hpp"
#include "dense/near_best.hpp"
#include "pq/byte_scan.hpp"
#include "pq/chosen_blocks.hpp"
#include "pq/codes.hpp"
#include "pq/half_kernels.hpp"
#include "pq/half_tables.hpp"

namespace vizsla {

// What a scan knows of a query.
struct PqQuery {
  std::vector<float> table;
  HalfTables bytes;      // of 4-bit codes
  bool rounded = false;  // whether bytes may stand for the table
};

class PqScan {
 public:
  PqScan(const PqCodes& codes, const ChosenItems& chosen, const HalfKernels& kernels)
      : codes_(codes), chosen_(chosen), kernels_(kernels) {}

  // Offers the places from `begin` to `end` to each query's `near`, as item numbers.
  void run(std::span<const PqQuery> queries, std::span<NearBest> near, std::size_t k, std::size_t begin,
           std::size_t end, const Poll& poll) {
    for (std::size_t query = 0; query < queries.size(); ++query) {
      near[query].start(k, queries[query].rounded ? queries[query].bytes.slack() : 0);
    }
    codes_.halves ? halves(queries, near, begin, end, poll) : bytes(queries, near, begin, end, poll);
  }

 private:
  static constexpr std::size_t tile_bytes = 64 << 10;  // codes that stay near while all queries meet them
  static constexpr std::size_t bytes_a_look = 4 << 20;  // read between looks for Ctrl-C

  void bytes(std::span<const PqQuery> queries, std::span<NearBest> near, std::size_t begin, std::size_t end,
             const Poll& poll) {
    for (std::size_t place = begin; place < end; place += ByteScan::step) {
      const std::size_t count = std::min(ByteScan::step, end - place);
      for (std::size_t query = 0; query < queries.size(); ++query) {
        bytes_.sums(codes_, queries[query].table.data(), place, count, [&](std::size_t at) { return chosen_.number(at); });
        if (chosen_.all) {
          near[query].offer(bytes_.found(count), place);
        } else {
          for (std::size_t i = 0; i < count; ++i) near[query].offer(bytes_.found(count)[i], number(place + i));
        }
      }
      look(count * codes_.row_bytes(), poll);
    }
  }

  void halves(std::span<const PqQuery> queries, std::span<NearBest> near, std::size_t begin, std::size_t end,
              const Poll& poll) {
    const std::size_t block_bytes = codes_.row_bytes() * PqCodes::lanes;
    const std::size_t most = std::max<std::size_t>(1, tile_bytes / block_bytes);
    for (std::size_t place = begin; place < end;) {
      place = take_blocks(chosen_, place, end, most, blocks_);
      for (std::size_t query = 0; query < queries.size(); ++query) {
        for (const ChosenBlock& block : blocks_) {
          queries[query].rounded ? rounded(queries[query], near[query], block) : exact(queries[query], near[query], block);
        }
      }
      look(blocks_.size() * block_bytes, poll);
    }
  }

  void rounded(const PqQuery& query, NearBest& near, const ChosenBlock& block) {
    const auto floor = static_cast<std::uint16_t>(std::clamp(std::ceil(near.floor()), 0.0F, 65535.0F));
    std::uint16_t sums[PqCodes::lanes];
    std::uint64_t bits =
        block.bits & kernels_.block(codes_.block(block.number), query.bytes.bytes(), codes_.row_bytes(), floor, sums);
    for (; bits != 0; bits &= bits - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(bits));
      near.offer(static_cast<float>(sums[lane]), static_cast<std::uint32_t>(block.number * PqCodes::lanes + lane));
    }
  }

  void exact(const PqQuery& query, NearBest& near, const ChosenBlock& block) {
    for (std::uint64_t bits = block.bits; bits != 0; bits &= bits - 1) {
      const std::size_t item = block.number * PqCodes::lanes + static_cast<std::size_t>(std::countr_zero(bits));
      near.offer(codes_.sum(query.table.data(), item), static_cast<std::uint32_t>(item));
    }
  }

  std::uint32_t number(std::size_t place) const { return static_cast<std::uint32_t>(chosen_.number(place)); }

  void look(std::size_t read, const Poll& poll) {
    read_ += read;
    if (read_ < bytes_a_look || !poll) return;
    read_ = 0;
    poll();
  }

  const PqCodes& codes_;
  const ChosenItems& chosen_;
  const HalfKernels& kernels_;
  ByteScan bytes_;
  std::vector<ChosenBlock> blocks_;
  std::size_t read_ = 0;
};

}  // namespace vizsla
