// What sums over tables of bytes have in common on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vizsla {

// A block's sums, and a bit for each that counts.
struct RoundedSums {
  std::uint64_t bits;
  std::uint16_t sums[64];
};

struct RoundedBlocks {
  static constexpr std::size_t together =
      6;  // blocks that share the loads of a table: more would not fit the registers

  // Adds up the bytes that six blocks' codes point to, item by item, and says, a bit an item, whose sum reaches
  // `floor`. A block's sums are used only if one of them does. Tables are such that four in a row add up within a
  // byte.
  using Kernel = void (*)(const std::uint8_t* const* codes, const std::uint8_t* tables, std::size_t row_bytes,
                          std::uint16_t floor, RoundedSums* sums);
};

// How far ahead a kernel asks for codes: in the order of its own reading, so from the ends of its blocks on to the next
// six, which are behind them if no filter leaves them out.
class CodesAhead {
 public:
  explicit CodesAhead(std::size_t row_bytes)
      : last_(row_bytes > rows ? row_bytes - rows : 0), behind_((RoundedBlocks::together * row_bytes - last_) * 64) {}

  // In bytes.
  std::size_t operator()(std::size_t row) const { return row < last_ ? rows * 64 : behind_; }

 private:
  static constexpr std::size_t rows = 32;  // as many as pass while a line comes from the last cache

  std::size_t last_, behind_;
};

}  // namespace vizsla
