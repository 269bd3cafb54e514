// One step of dual coordinate ascent for each loss of Eq. 6, written as C * sum(loss) + |w|^2 / 2 with C = 1 / lambda
// (squared hinge and hinge: Hsieh et al., ICML 2008; logistic: the dual of Yu, Huang and Lin, 2011).
//
// A loss turns the cost of an (instance, item) pair into a code that is stored in its place, and answers the pair's
// margin y * w.x with the best new dual value given all others. `gradient` is the projected gradient: how far the
// margin would move; it is zero where the pair is settled.
#pragma once

#include <algorithm>
#include <cmath>

#include "tree/lanes.hpp"

namespace vizsla {

struct SquaredHinge {
  static float encode(float cost) { return 0.5f / cost; }

  VIZSLA_INLINE static void step(const Lane8& margin, const Lane8& code, float norm, const Lane8& alpha, Lane8& next,
                                 Lane8& gradient) {
    const Lane8 zero{};
    const Lane8 slope = margin - 1.0f + alpha * code;
    gradient = (alpha == zero) & (slope > zero) ? zero : slope;
    next = alpha - slope / (code + norm);
    larger(next, zero);
  }
};

struct Hinge {
  static float encode(float cost) { return cost; }

  VIZSLA_INLINE static void step(const Lane8& margin, const Lane8& code, float norm, const Lane8& alpha, Lane8& next,
                                 Lane8& gradient) {
    const Lane8 zero{};
    const Lane8 slope = margin - 1.0f;
    const Mask8 settled = ((alpha == zero) & (slope > zero)) | ((alpha >= code) & (slope < zero));
    gradient = settled ? zero : slope;
    next = alpha - slope / std::max(norm, 1e-12f);  // an empty row without bias has no length, only a bound
    larger(next, zero);
    smaller(next, code);
  }
};

struct Logistic {
  static float encode(float cost) { return cost; }

  VIZSLA_INLINE static void step(const Lane8& margin, const Lane8& code, float norm, const Lane8& alpha, Lane8& next,
                                 Lane8& gradient) {
    for (int lane = 0; lane < 8; ++lane) {
      const double settled = settle(margin[lane], code[lane], norm, alpha[lane]);
      next[lane] = static_cast<float>(code[lane] / (1.0 + std::exp(settled)));
      gradient[lane] = static_cast<float>(margin[lane] - settled);
    }
  }

  // The margin t after the step satisfies t = margin + norm * (cost * sigmoid(-t) - alpha): one root of a falling
  // function whose slope is at least 1, found by Newton's method inside a bracket.
  static double settle(double margin, double cost, double norm, double alpha) {
    double low = margin - norm * alpha, high = margin + norm * (cost - alpha), t = margin;
    for (int turn = 0; turn < 40; ++turn) {
      const double share = 1.0 / (1.0 + std::exp(t));
      const double excess = margin + norm * (cost * share - alpha) - t;
      if (!(std::abs(excess) > 1e-7 * (1.0 + std::abs(t)))) break;
      (excess > 0 ? low : high) = t;
      t += excess / (1.0 + norm * cost * share * (1.0 - share));
      if (!(t > low && t < high)) t = 0.5 * (low + high);
    }
    return t;
  }
};

}  // namespace vizsla
