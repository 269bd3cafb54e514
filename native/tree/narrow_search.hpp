// Scores everything that a narrow tree has below some nodes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/topk.hpp"
#include "tree/activation.hpp"
#include "tree/chunk_margins.hpp"
#include "tree/narrow_tree.hpp"

namespace vizsla {

// One thread's search: its buffers are reused from query to query.
class NarrowSearcher {
 public:
  // Finds the margins of all nodes.
  void take(const NarrowTree& tree, std::span<const HashedFeature> features) {
    margins_.assign(tree.nodes(), 0.0F);
    scores_.resize(tree.nodes());
    for (const HashedFeature& feature : features) {
      const std::span<const NarrowTree::Entry> row = tree.row(feature.number, feature.hash);
      entries_ += row.size();
      if (tree.scaled()) {
        for (const NarrowTree::Entry& entry : row) margins_[entry.node] += feature.value * tree.factors()[entry.node] * entry.weight;
      } else {
        for (const NarrowTree::Entry& entry : row) margins_[entry.node] += feature.value * entry.weight;
      }
    }
  }

  // Hands the items below a node of the layer above to `best`; returns how many they are.
  template <Transform transform>
  std::size_t push(const NarrowTree& tree, std::uint32_t node, float score, TopK& best) {
    std::size_t first = node, last = node + std::size_t{1}, before = 0, base = node;
    const float* above = &score;  // of the nodes from `base` on
    for (const NarrowTree::Layer& layer : tree.layers()) {
      float* scores = scores_.data() + before;
      for (std::size_t n = first; n < last; ++n) {
        for (std::size_t c = layer.begins[n]; c < layer.begins[n + 1]; ++c) scores[c] = above[n - base] + log_activation<transform>(margins_[before + c]);
      }
      first = layer.begins[first];
      last = layer.begins[last];
      before += layer.begins.back();
      above = scores;
      base = 0;
    }
    for (std::size_t i = first; i < last; ++i) best.push(signed_ranking_key(above[i], static_cast<std::uint32_t>(tree.items()[i])));
    return last - first;
  }

  // How many weights were read since the last call.
  std::uint64_t take_entries() { return std::exchange(entries_, 0); }

 private:
  std::vector<float> margins_;
  std::vector<float> scores_;
  std::uint64_t entries_ = 0;
};

}  // namespace vizsla
