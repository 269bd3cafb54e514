// How a margin becomes the logarithm of an activation.
#pragma once

#include <cmath>

namespace vizsla {

enum class Transform { hinge1, hinge2, hinge3, hinge4, hinge5, log_sigmoid, none };

// The logarithm of the activation.
template <Transform transform>
inline float log_activation(float margin) {
  if constexpr (transform == Transform::none) {
    return margin;
  } else if constexpr (transform == Transform::log_sigmoid) {
    return margin >= 0 ? -std::log1p(std::exp(-margin)) : margin - std::log1p(std::exp(margin));
  } else {
    const float gap = margin < 1.0F ? 1.0F - margin : 0.0F;
    float power = gap;
    for (int i = 0; i < static_cast<int>(transform); ++i) power *= gap;  // hinge1 … hinge5 are numbered 0 … 4
    return -power;
  }
}

// What no margin up to this one exceeds. Powers of a gap never rise with the margin, not even by rounding; a library's
// exp and log may, by a little.
template <Transform transform>
inline float most_activation(float margin) {
  const float found = log_activation<transform>(margin);
  return transform == Transform::log_sigmoid ? found * (1 - 0x1p-20F) : found;
}

}  // namespace vizsla
