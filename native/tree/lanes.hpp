// Sixteen items' numbers side by side: one pass over an instance serves all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace vizsla {

using Lane8 = float __attribute__((vector_size(32)));
using Mask8 = std::int32_t __attribute__((vector_size(32)));

inline constexpr std::size_t lane_count = 16;

struct alignas(64) Lanes {
  Lane8 half[2];

  float* data() { return reinterpret_cast<float*>(half); }
  const float* data() const { return reinterpret_cast<const float*>(half); }
};

static_assert(sizeof(Lanes) == lane_count * sizeof(float));

#define VIZSLA_INLINE [[gnu::always_inline]] inline

VIZSLA_INLINE void larger(Lane8& into, const Lane8& value) { into = value > into ? value : into; }
VIZSLA_INLINE void smaller(Lane8& into, const Lane8& value) { into = value < into ? value : into; }

VIZSLA_INLINE bool any_nonzero(const Lanes& lanes) {
  const Mask8 set = (lanes.half[0] != 0.0f) | (lanes.half[1] != 0.0f);
  std::uint64_t parts[4];
  std::memcpy(parts, &set, sizeof(parts));
  return (parts[0] | parts[1] | parts[2] | parts[3]) != 0;
}

}  // namespace vizsla
