// Item vectors as they are stored: float32, float16, or one byte a number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "common/clones.hpp"
#include "common/prefetch.hpp"
#include "dense/half.hpp"
#include "dense/kernels.hpp"

namespace vizsla {

// A byte c of dimension j stands for (c + 0.5) * step[j] + low[j], each operation rounded to float32.
VIZSLA_CLONES inline void decode_bytes(const std::uint8_t* codes, const float* low, const float* step, std::size_t dim,
                                       float* numbers) {
  for (std::size_t at = 0; at < dim; ++at) numbers[at] = (static_cast<float>(codes[at]) + 0.5F) * step[at] + low[at];
}

struct StoredRows {
  std::variant<const float*, const Half*, const std::uint8_t*> rows;
  std::size_t count = 0, dim = 0;
  std::span<const float> low, step;  // of bytes only

  bool bytes() const { return rows.index() == 2; }

  // Asks memory for a row that is needed soon: rows in a line come by themselves, scattered ones do not.
  VIZSLA_PREFETCHES void prefetch(std::size_t number) const {
    constexpr std::size_t most = 2048;
    const char* first = nullptr;
    std::size_t bytes = dim;
    if (const auto* floats = std::get_if<0>(&rows))
      first = reinterpret_cast<const char*>(*floats), bytes *= sizeof(float);
    else if (const auto* halves = std::get_if<1>(&rows))
      first = reinterpret_cast<const char*>(*halves), bytes *= sizeof(Half);
    else if (const auto* codes = std::get_if<2>(&rows)) first = reinterpret_cast<const char*>(*codes);
    prefetch_lines(first + number * bytes, std::min(bytes, most));
  }

  // A row as float32: where it lies, or decoded into `room`.
  const float* decoded(std::size_t number, const Kernels& kernels, float* room) const {
    if (const auto* floats = std::get_if<0>(&rows)) return *floats + number * dim;
    if (const auto* halves = std::get_if<1>(&rows)) {
      kernels.widen(*halves + number * dim, dim, room);
    } else {
      decode_bytes(std::get<2>(rows) + number * dim, low.data(), step.data(), dim, room);
    }
    return room;
  }
};

}  // namespace vizsla
