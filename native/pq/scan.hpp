// Scans codes for a few queries and collects the items that may be among their top-k.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/threads.hpp"
#include "dense/rescoring_band.hpp"
#include "pq/byte_sums.hpp"
#include "pq/codes.hpp"
#include "pq/masked_blocks.hpp"
#include "pq/rounded_kernels.hpp"
#include "pq/rounded_tables.hpp"

namespace vizsla {

// What a scan knows of a query.
struct PqQuery {
  std::vector<float> table;
  RoundedTables bytes;
  bool rounded = false;  // whether bytes may stand for the table
};

class PqScan {
 public:
  PqScan(const PqCodes& codes, const ItemSelection& chosen, RoundedKernels kernels)
      : codes_(codes), chosen_(chosen), kernel_(codes.halves ? kernels.halves : kernels.bytes) {}

  // Offers the places from `begin` to `end` to each query's `near`, as item numbers.
  void run(std::span<const PqQuery> queries, std::span<RescoringBand> near, std::size_t k, std::size_t begin,
           std::size_t end, const Poll& poll) {
    for (std::size_t query = 0; query < queries.size(); ++query) {
      near[query].start(k, queries[query].rounded ? queries[query].bytes.slack() : 0);
    }
    const std::size_t block_bytes = codes_.row_bytes() * PqCodes::lanes;
    const std::size_t most = std::max<std::size_t>(1, tile_bytes / block_bytes / together) * together;
    for (std::size_t place = begin; place < end;) {
      place = take_blocks(chosen_, place, end, most, blocks_);
      for (std::size_t query = 0; query < queries.size(); ++query) tile(queries[query], near[query]);
      look(blocks_.size() * block_bytes, poll);
    }
  }

 private:
  static constexpr std::size_t together = RoundedBlocks::together;
  static constexpr std::size_t tile_bytes = 80 << 10;   // codes that stay near while all queries meet them
  static constexpr std::size_t bytes_a_look = 4 << 20;  // read between looks for Ctrl-C

  void tile(const PqQuery& query, RescoringBand& near) {
    if (query.rounded) return rounded(query, near);
    codes_.halves || codes_.side != PqCodes::lanes ? exact_items(query, near) : exact_bytes(query, near);
  }

  void rounded(const PqQuery& query, RescoringBand& near) {
    for (std::size_t first = 0; first < blocks_.size(); first += together) {
      const std::size_t count = std::min(together, blocks_.size() - first);
      const std::uint8_t* codes[together];
      for (std::size_t i = 0; i < together; ++i)
        codes[i] = codes_.block(blocks_[first + std::min(i, count - 1)].number);
      RoundedSums found[together];
      kernel_(codes, query.bytes.bytes(), codes_.row_bytes(), floor(near), found);
      for (std::size_t i = 0; i < count; ++i) offer(near, blocks_[first + i], found[i]);
    }
  }

  static std::uint16_t floor(const RescoringBand& near) {
    return static_cast<std::uint16_t>(std::clamp(std::ceil(near.floor()), 0.0F, 65535.0F));
  }

  static void offer(RescoringBand& near, const MaskedBlock& block, const RoundedSums& found) {
    for (std::uint64_t bits = block.bits & found.bits; bits != 0; bits &= bits - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(bits));
      near.offer(static_cast<float>(found.sums[lane]),
                 static_cast<std::uint32_t>(block.number * PqCodes::lanes + lane));
    }
  }

  void exact_items(const PqQuery& query, RescoringBand& near) {
    constexpr std::size_t few = 8;
    std::uint32_t items[few];
    float sums[few];
    for (const MaskedBlock& block : blocks_) {
      for (std::uint64_t bits = block.bits; bits != 0;) {
        std::size_t count = 0;
        for (; count < few && bits != 0; ++count, bits &= bits - 1) {
          items[count] = static_cast<std::uint32_t>(block.number * PqCodes::lanes) +
                         static_cast<std::uint32_t>(std::countr_zero(bits));
        }
        std::fill(items + count, items + few, items[0]);
        codes_.sums<few>(query.table.data(), items, sums);
        for (std::size_t i = 0; i < count; ++i) near.offer(sums[i], items[i]);
      }
    }
  }

  void exact_bytes(const PqQuery& query, RescoringBand& near) {
    bytes_.fill(codes_, query.table.data(), blocks_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (!near.any_counts(bytes_.of(i))) continue;
      for (std::uint64_t bits = blocks_[i].bits; bits != 0; bits &= bits - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(bits));
        near.offer(bytes_.of(i)[lane], static_cast<std::uint32_t>(blocks_[i].number * PqCodes::lanes + lane));
      }
    }
  }

  void look(std::size_t read, const Poll& poll) {
    read_ += read;
    if (read_ < bytes_a_look || !poll) return;
    read_ = 0;
    poll();
  }

  const PqCodes& codes_;
  const ItemSelection& chosen_;
  RoundedBlocks::Kernel kernel_;
  ByteSums bytes_;
  std::vector<MaskedBlock> blocks_;
  std::size_t read_ = 0;
};

}  // namespace vizsla
