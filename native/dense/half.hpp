// Numbers of 16 bits, as IEEE 754 has them.
#pragma once

#include <bit>
#include <cstdint>

namespace vizsla {

struct Half {
  std::uint16_t bits;
};

// Exact. Small numbers are made by a subtraction of ordinary ones, so that a CPU that flushes them to 0 does no harm.
inline float widened(Half half) {
  const std::uint32_t size = half.bits & 0x7FFFU;
  const std::uint32_t sign = (half.bits & 0x8000U) << 16;
  const std::uint32_t ordinary = (size << 13) + (size < 0x7C00U ? 112U << 23 : 224U << 23);
  const auto small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(0x3F000000U | size) - 0.5F);
  return std::bit_cast<float>((size < 0x0400U ? small : ordinary) | sign);
}

inline float widened(float number) { return number; }
inline float widened(std::uint8_t number) { return static_cast<float>(number); }

}  // namespace vizsla
