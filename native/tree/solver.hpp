// Dual coordinate ascent for up to sixteen items of one chunk at once. Every item's arithmetic is separate: neither its
// group nor the number of threads changes its weights.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "common/clones.hpp"
#include "common/random.hpp"
#include "common/threads.hpp"
#include "tree/losses.hpp"
#include "tree/solver_group.hpp"
#include "tree/warm_start.hpp"

namespace vizsla {

enum class LossKind { squared_hinge, hinge, logistic };

struct SolverOptions {
  LossKind loss = LossKind::squared_hinge;
  float cost = 1.0f;       // C of the losses' sum
  float bias = 1.0f;       // value of the feature that every instance has
  float tolerance = 0.1f;  // an item is done when an epoch's projected gradients, and 0, lie within this of each other
  int epochs = 100;
  std::uint64_t seed = 0;
};

namespace detail {

VIZSLA_INLINE Lanes margins(const Chunk& chunk, const SolverGroup& group, std::size_t row, float bias) {
  const ChunkEntry* entry = chunk.entries.data() + chunk.offsets[row];
  const ChunkEntry* const end = chunk.entries.data() + chunk.offsets[row + 1];
  const Lanes* const weights = group.weights.data();
  Lane8 a = group.bias_weight.half[0] * bias, b = group.bias_weight.half[1] * bias;
  Lane8 c{}, d{};
  for (; entry + 1 < end; entry += 2) {  // two chains of additions hide each other's latency
    const Lanes& first = weights[entry[0].feature];
    const Lanes& second = weights[entry[1].feature];
    a += first.half[0] * entry[0].value;
    b += first.half[1] * entry[0].value;
    c += second.half[0] * entry[1].value;
    d += second.half[1] * entry[1].value;
  }
  if (entry < end) {
    a += weights[entry->feature].half[0] * entry->value;
    b += weights[entry->feature].half[1] * entry->value;
  }
  return {{a + c, b + d}};
}

VIZSLA_INLINE void add_row(const Chunk& chunk, SolverGroup& group, std::size_t row, float bias, const Lanes& change) {
  const Lane8 a = change.half[0], b = change.half[1];
  Lanes* const weights = group.weights.data();
  for (std::size_t at = chunk.offsets[row]; at < chunk.offsets[row + 1]; ++at) {
    const ChunkEntry entry = chunk.entries[at];
    weights[entry.feature].half[0] += a * entry.value;
    weights[entry.feature].half[1] += b * entry.value;
  }
  group.bias_weight.half[0] += a * bias;
  group.bias_weight.half[1] += b * bias;
}

template <class Loss>
VIZSLA_INLINE void visit(const Chunk& chunk, SolverGroup& group, std::size_t row, float bias) {
  const Lanes score = margins(chunk, group, row, bias);
  Lanes change;
  for (int h = 0; h < 2; ++h) {
    const Lane8 code = group.codes[row].half[h], zero{};
    const Lane8 sign = code > zero ? zero + 1.0f : zero - 1.0f;
    Lane8& alpha = group.alpha[row].half[h];
    Lane8 next, gradient;
    Loss::step(score.half[h] * sign, code * sign, chunk.norms[row], alpha, next, gradient);
    larger(group.highest.half[h], gradient);
    smaller(group.lowest.half[h], gradient);
    next = group.active.half[h] != zero ? next : alpha;
    change.half[h] = (next - alpha) * sign;
    alpha = next;
  }
  if (any_nonzero(change)) add_row(chunk, group, row, bias, change);
}

template <class Loss>
VIZSLA_INLINE void sweep(const Chunk& chunk, SolverGroup& group, std::span<const std::uint32_t> order, float bias) {
  for (const std::uint32_t row : order) visit<Loss>(chunk, group, row, bias);
}

using Order = std::span<const std::uint32_t>;

VIZSLA_CLONES static void sweep_squared_hinge(const Chunk& chunk, SolverGroup& group, Order order, float bias) {
  sweep<SquaredHinge>(chunk, group, order, bias);
}

VIZSLA_CLONES static void sweep_hinge(const Chunk& chunk, SolverGroup& group, Order order, float bias) {
  sweep<Hinge>(chunk, group, order, bias);
}

static void sweep_logistic(const Chunk& chunk, SolverGroup& group, Order order, float bias) {
  sweep<Logistic>(chunk, group, order, bias);
}

inline float encode(LossKind loss, float cost) {
  switch (loss) {
    case LossKind::squared_hinge:
      return SquaredHinge::encode(cost);
    case LossKind::hinge:
      return Hinge::encode(cost);
    default:
      return Logistic::encode(cost);
  }
}

inline void sweep_any(LossKind loss, const Chunk& chunk, SolverGroup& group, Order order, float bias) {
  switch (loss) {
    case LossKind::squared_hinge:
      return sweep_squared_hinge(chunk, group, order, bias);
    case LossKind::hinge:
      return sweep_hinge(chunk, group, order, bias);
    default:
      return sweep_logistic(chunk, group, order, bias);
  }
}

inline Lanes filled(float value) {
  Lanes lanes;
  std::fill_n(lanes.data(), lane_count, value);
  return lanes;
}

inline void reset(const Chunk& chunk, SolverGroup& group, std::span<const std::span<const Positive>> items,
                  const SolverOptions& options) {
  group.weights.assign(chunk.features.size(), Lanes{});
  group.alpha.assign(chunk.rows(), Lanes{});
  group.codes.assign(chunk.rows(), filled(-encode(options.loss, options.cost)));
  group.bias_weight = group.active = Lanes{};
  for (std::size_t lane = 0; lane < items.size(); ++lane) {
    group.active.data()[lane] = 1.0f;
    for (const Positive& positive : items[lane])
      group.codes[positive.row].data()[lane] = encode(options.loss, options.cost * positive.weight);
  }
  if (options.loss == LossKind::squared_hinge) warm_start(chunk, group, items, options.cost, options.bias);
}

// Settles the items that are done; returns whether any is left.
inline bool settle(SolverGroup& group, float tolerance, int epoch, std::span<std::int32_t> epochs) {
  bool any = false;
  for (std::size_t lane = 0; lane < epochs.size(); ++lane) {
    float& active = group.active.data()[lane];
    if (active == 0.0f) continue;
    epochs[lane] = epoch;
    if (group.highest.data()[lane] - group.lowest.data()[lane] <= tolerance) active = 0.0f;
    any = any || active != 0.0f;
  }
  return any;
}

}  // namespace detail

// Solves for the items whose positives are given (at most sixteen); leaves the weights in `group`, and in `epochs` how
// many passes each item took.
inline void solve_group(const Chunk& chunk, SolverGroup& group, std::span<const std::span<const Positive>> items,
                        const SolverOptions& options, std::uint64_t stream, std::span<std::int32_t> epochs,
                        const Poll& poll = {}) {
  detail::reset(chunk, group, items, options);
  std::vector<std::uint32_t> order(chunk.rows());
  std::iota(order.begin(), order.end(), 0u);
  Random random(options.seed, stream);
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    random.shuffle(std::span(order));
    group.highest = group.lowest = Lanes{};  // from 0: gradients all alike, but not 0, must not pass for settled
    detail::sweep_any(options.loss, chunk, group, order, options.bias);
    if (!detail::settle(group, options.tolerance, epoch, epochs)) break;
    if (poll) poll();
  }
}

}  // namespace vizsla
