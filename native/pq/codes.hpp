// Items as codes: a byte a sub-space, or half a byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vizsla {

struct PqCodes {
  static constexpr std::size_t lanes = 64;

  const std::uint8_t* data = nullptr;
  std::size_t items = 0, parts = 0;
  std::size_t side = lanes;  // items whose bytes lie side by side: 64, which kernels read, or each for itself
  bool halves = false;

  std::size_t row_bytes() const { return halves ? parts / 2 : parts; }
  std::size_t blocks() const { return (items + side - 1) / side; }
  const std::uint8_t* block(std::size_t number) const { return data + number * row_bytes() * side; }

  // The score of an item: what its codes point to, added in float32 in the order of the sub-spaces.
  float sum(const float* table, std::size_t item) const {
    const auto number = static_cast<std::uint32_t>(item);
    float total;
    sums<1>(table, &number, &total);
    return total;
  }

  // Those of a few items: no addition waits for another item's.
  template <std::size_t count>
  void sums(const float* table, const std::uint32_t* numbers, float* totals) const {
    halves ? add<count, 2>(table, numbers, totals) : add<count, 1>(table, numbers, totals);
  }

 private:
  template <std::size_t count, std::size_t codes_a_byte>
  void add(const float* table, const std::uint32_t* numbers, float* totals) const {
    const std::uint8_t* codes[count];
    float sums[count] = {};
    for (std::size_t i = 0; i < count; ++i) codes[i] = block(numbers[i] / side) + numbers[i] % side;
    for (std::size_t row = 0; row < row_bytes(); ++row, table += codes_a_byte == 2 ? 32 : 256) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t code = codes[i][row * side];
        if constexpr (codes_a_byte == 1) sums[i] += table[code];
        else sums[i] = (sums[i] + table[code & 15]) + table[16 + (code >> 4)];
      }
    }
    for (std::size_t i = 0; i < count; ++i) totals[i] = sums[i];
  }
};

}  // namespace vizsla
