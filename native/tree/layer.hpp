// Trains one layer of the tree: each parent's children are told apart on the instances that reach the parent (Eq. 6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "common/csr.hpp"
#include "common/threads.hpp"
#include "tree/prune.hpp"
#include "tree/solver.hpp"

namespace vizsla {

struct LayerProblem {
  CsrView x;                                    // instances x features
  CsrView labels;                               // instances x children; the value is the weight of the click
  CsrView reached;                              // instances x parents, pattern: which instances train which parent
  std::span<const std::int64_t> child_offsets;  // parent p's children are numbered from [p] to [p + 1]
};

struct LayerWeights {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> features;
  std::vector<float> values;
  std::vector<std::int32_t> epochs;
};

namespace detail {

// Instances by parent: the transpose of `reached`.
struct Members {
  std::vector<std::size_t> offsets;
  std::vector<std::uint32_t> instances;

  explicit Members(const CsrView& reached) : offsets(reached.width + 2, 0), instances(reached.columns.size()) {
    for (const std::int32_t parent : reached.columns) ++offsets[static_cast<std::size_t>(parent) + 2];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    for (std::size_t row = 0; row < reached.rows(); ++row)
      for (std::size_t at = reached.begin(row); at < reached.end(row); ++at)
        instances[offsets[static_cast<std::size_t>(reached.columns[at]) + 1]++] = static_cast<std::uint32_t>(row);
    offsets.pop_back();
  }

  std::span<const std::uint32_t> of(std::size_t parent) const {
    return std::span(instances).subspan(offsets[parent], offsets[parent + 1] - offsets[parent]);
  }
};

// Trains chunk after chunk; one worker a thread.
class ChunkTrainer {
 public:
  ChunkTrainer(const LayerProblem& problem, const SolverOptions& solver, const PruneOptions& prune,
               std::size_t group_threads, const Poll& poll)
      : problem_(problem),
        solver_(solver),
        prune_(prune),
        threads_(group_threads),
        poll_(poll),
        gatherer_(problem.x, solver.bias) {}

  // The children's weights one after another; `sizes` and `epochs` have a number for each child.
  SparseWeights train(std::size_t parent, std::span<const std::uint32_t> instances, std::span<std::int64_t> sizes,
                      std::span<std::int32_t> epochs) {
    if (instances.empty() || sizes.empty()) return {};
    const Chunk chunk = gatherer_.gather(instances);
    const std::vector<std::vector<Positive>> positives = find_positives(parent, instances, sizes.size());
    const std::vector<std::size_t> order = distinct(positives);
    std::vector<SparseWeights> solved(order.size());
    std::vector<std::int32_t> passes(order.size());
    const std::size_t groups = (order.size() + lane_count - 1) / lane_count;
    share_work(
        groups, threads_,
        [&] {
          return [&, group = SolverGroup{}](std::size_t number) mutable {
            solve(chunk, parent, positives, order, number * lane_count, group, solved, passes);
          };
        },
        poll_);
    return assemble(positives, order, solved, passes, sizes, epochs);
  }

 private:
  std::vector<std::vector<Positive>> find_positives(std::size_t parent, std::span<const std::uint32_t> instances,
                                                    std::size_t children) const {
    const std::int64_t first = problem_.child_offsets[parent];
    const CsrView& labels = problem_.labels;
    std::vector<std::vector<Positive>> positives(children);
    for (std::size_t row = 0; row < instances.size(); ++row) {
      const std::int32_t* columns = labels.columns.data();
      const std::size_t end = labels.end(instances[row]);
      std::size_t at = static_cast<std::size_t>(
          std::lower_bound(columns + labels.begin(instances[row]), columns + end, first) - columns);
      for (; at < end && columns[at] < problem_.child_offsets[parent + 1]; ++at) {
        const float weight = labels.values.empty() ? 1.0f : labels.values[at];
        positives[static_cast<std::size_t>(columns[at] - first)].push_back({static_cast<std::uint32_t>(row), weight});
      }
    }
    return positives;
  }

  // Children with positives, those with alike many next to each other because they need alike many epochs; and of the
  // children without any, whose weights are all the same, one.
  static std::vector<std::size_t> distinct(const std::vector<std::vector<Positive>>& positives) {
    std::vector<std::size_t> order;
    bool any_empty = false;
    for (std::size_t child = 0; child < positives.size(); ++child) {
      if (positives[child].empty() && any_empty) continue;
      any_empty = any_empty || positives[child].empty();
      order.push_back(child);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return positives[a].size() > positives[b].size(); });
    return order;
  }

  void solve(const Chunk& chunk, std::size_t parent, const std::vector<std::vector<Positive>>& positives,
             const std::vector<std::size_t>& order, std::size_t first, SolverGroup& group,
             std::vector<SparseWeights>& solved, std::vector<std::int32_t>& passes) const {
    const std::size_t count = std::min(lane_count, order.size() - first);
    std::vector<std::span<const Positive>> items;
    for (std::size_t i = 0; i < count; ++i) items.emplace_back(positives[order[first + i]]);
    solve_group(chunk, group, items, solver_, parent, std::span(passes).subspan(first, count), poll_);
    const std::int32_t bias_feature = static_cast<std::int32_t>(problem_.x.width);
    prune_group(chunk, group, bias_feature, prune_, std::span(solved).subspan(first, count));
  }

  static SparseWeights assemble(const std::vector<std::vector<Positive>>& positives,
                                const std::vector<std::size_t>& order, const std::vector<SparseWeights>& solved,
                                const std::vector<std::int32_t>& passes, std::span<std::int64_t> sizes,
                                std::span<std::int32_t> epochs) {
    const std::size_t none = order.size() - 1;  // where the children without positives are, if there are any
    std::vector<std::size_t> places(positives.size(), none);
    for (std::size_t place = 0; place < order.size(); ++place) places[order[place]] = place;
    std::size_t total = 0;
    for (const std::size_t place : places) total += solved[place].values.size();
    SparseWeights all;
    all.features.reserve(total);
    all.values.reserve(total);
    for (std::size_t child = 0; child < positives.size(); ++child) {
      const SparseWeights& weights = solved[places[child]];
      all.features.insert(all.features.end(), weights.features.begin(), weights.features.end());
      all.values.insert(all.values.end(), weights.values.begin(), weights.values.end());
      sizes[child] = static_cast<std::int64_t>(weights.values.size());
      epochs[child] = passes[places[child]];
    }
    return all;
  }

  LayerProblem problem_;
  SolverOptions solver_;
  PruneOptions prune_;
  std::size_t threads_;
  const Poll& poll_;
  ChunkGatherer gatherer_;
};

// Joins the chunks' arrays, giving each one's memory back as soon as it is copied.
template <class T>
std::vector<T> join(std::vector<SparseWeights>& chunks, std::vector<T> SparseWeights::* part, std::size_t total) {
  std::vector<T> joined;
  joined.reserve(total);
  for (SparseWeights& chunk : chunks) {
    joined.insert(joined.end(), (chunk.*part).begin(), (chunk.*part).end());
    std::vector<T>().swap(chunk.*part);
  }
  return joined;
}

// Parents with the most work first, so that no thread is left with a large one at the end.
inline std::vector<std::size_t> by_work(const LayerProblem& problem, const Members& members, std::size_t parents) {
  std::vector<std::size_t> order(parents), work(parents);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t p = 0; p < parents; ++p)
    work[p] = members.of(p).size() * static_cast<std::size_t>(problem.child_offsets[p + 1] - problem.child_offsets[p]);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return work[a] > work[b]; });
  return order;
}

}  // namespace detail

inline LayerWeights train_layer(const LayerProblem& problem, const SolverOptions& solver, const PruneOptions& prune,
                                std::size_t threads, const Poll& poll = {}) {
  const std::size_t parents = problem.child_offsets.size() - 1;
  const std::size_t children = static_cast<std::size_t>(problem.child_offsets.back());
  const detail::Members members(problem.reached);
  const std::vector<std::size_t> order = detail::by_work(problem, members, parents);
  LayerWeights layer;
  layer.offsets.assign(children + 1, 0);
  layer.epochs.assign(children, 0);
  std::vector<SparseWeights> chunks(parents);
  const bool few = parents < threads;  // then the threads share the groups of a chunk instead of the chunks
  share_work(
      parents, few ? 1 : threads,
      [&] {
        return [&, trainer = detail::ChunkTrainer(problem, solver, prune, few ? threads : 1, poll)](
                   std::size_t number) mutable {
          const std::size_t parent = order[number];
          const std::size_t first = static_cast<std::size_t>(problem.child_offsets[parent]);
          const std::size_t count = static_cast<std::size_t>(problem.child_offsets[parent + 1]) - first;
          chunks[parent] = trainer.train(parent, members.of(parent), std::span(layer.offsets).subspan(first + 1, count),
                                         std::span(layer.epochs).subspan(first, count));
        };
      },
      poll);
  std::partial_sum(layer.offsets.begin(), layer.offsets.end(), layer.offsets.begin());
  const std::size_t total = static_cast<std::size_t>(layer.offsets.back());
  layer.features = detail::join(chunks, &SparseWeights::features, total);
  layer.values = detail::join(chunks, &SparseWeights::values, total);
  return layer;
}

}  // namespace vizsla
