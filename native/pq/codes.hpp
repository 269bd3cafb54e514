// Items as codes, 64 side by side: a byte a sub-space, or half a byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vizsla {

struct PqCodes {
  static constexpr std::size_t lanes = 64;

  const std::uint8_t* data = nullptr;
  std::size_t items = 0, parts = 0;
  bool halves = false;

  std::size_t row_bytes() const { return halves ? parts / 2 : parts; }
  std::size_t blocks() const { return (items + lanes - 1) / lanes; }
  const std::uint8_t* block(std::size_t number) const { return data + number * row_bytes() * lanes; }

  // The score of an item: what its codes point to, added in float32 in the order of the sub-spaces.
  float sum(const float* table, std::size_t item) const { return halves ? sum_of_halves(table, item) : sum_of_bytes(table, item); }

 private:
  float sum_of_bytes(const float* table, std::size_t item) const {
    const std::uint8_t* codes = block(item / lanes) + item % lanes;
    float total = 0;
    for (std::size_t part = 0; part < parts; ++part, codes += lanes) total += table[part * 256 + *codes];
    return total;
  }

  float sum_of_halves(const float* table, std::size_t item) const {
    const std::uint8_t* codes = block(item / lanes) + item % lanes;
    float total = 0;
    for (std::size_t part = 0; part < parts; part += 2, codes += lanes) {
      total += table[part * 16 + (*codes & 15)];
      total += table[part * 16 + 16 + (*codes >> 4)];
    }
    return total;
  }
};

}  // namespace vizsla
