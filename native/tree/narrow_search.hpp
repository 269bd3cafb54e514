// The best items of a narrow tree: all of them are scored.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/topk.hpp"
#include "tree/activation.hpp"
#include "tree/narrow_tree.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

// One thread's search: its buffers are reused from query to query.
class NarrowSearcher {
 public:
  template <Transform transform>
  void search(const NarrowTree& tree, const SparseQuery& query, const BiasFeature& bias, TopK& best) {
    numbers_.assign(tree.nodes(), 0.0F);
    for (std::size_t i = 0; i < query.features.size(); ++i) add(tree, query.features[i], query.values[i]);
    if (bias.value != 0.0F) add(tree, bias.number, bias.value);
    numbers_[0] = 0.0F;
    const std::span<const std::uint32_t> parents = tree.parents();
    for (std::size_t n = 1; n < numbers_.size(); ++n) numbers_[n] = numbers_[parents[n]] + log_activation<transform>(numbers_[n]);
    for (std::size_t i = 0; i < tree.items().size(); ++i) {
      best.push(signed_ranking_key(numbers_[tree.first_leaf() + i], static_cast<std::uint32_t>(tree.items()[i])));
    }
  }

  // How many weights were read since the last call.
  std::uint64_t take_entries() { return std::exchange(entries_, 0); }

 private:
  void add(const NarrowTree& tree, std::int32_t feature, float value) {
    const auto number = static_cast<std::uint32_t>(feature);
    const std::span<const NarrowTree::Entry> row = tree.row(number, ChunkTable::hash(number));
    entries_ += row.size();
    if (tree.scaled()) {
      for (const NarrowTree::Entry& entry : row) numbers_[entry.node] += value * tree.factors()[entry.node] * entry.weight;
    } else {
      for (const NarrowTree::Entry& entry : row) numbers_[entry.node] += value * entry.weight;
    }
  }

  std::vector<float> numbers_;  // of each node: its margin, then its score
  std::uint64_t entries_ = 0;
};

}  // namespace vizsla
