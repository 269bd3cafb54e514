// Scores all items of a filtered tree below some nodes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/clones.hpp"
#include "common/topk.hpp"
#include "tree/activation.hpp"
#include "tree/child_margins.hpp"
#include "tree/filtered_tree.hpp"

namespace vizsla {

namespace detail {

// Zeros are added too: that changes no sum, and many are added at once.
VIZSLA_CLONES inline void add_dense(float* margins, std::span<const float> weights, float value,
                                    std::span<const float> factors) {
  if (factors.empty()) {
    for (std::size_t n = 0; n < weights.size(); ++n) margins[n] += value * weights[n];
  } else {
    for (std::size_t n = 0; n < weights.size(); ++n) margins[n] += value * factors[n] * weights[n];
  }
}

}  // namespace detail

// One thread's search: its buffers are reused from query to query.
class FilteredTreeSearcher {
 public:
  // Finds the margins of all nodes.
  void take(const FilteredTree& tree, std::span<const HashedFeature> features) {
    margins_.assign(tree.nodes(), 0.0F);
    scores_.resize(tree.nodes());
    find_rows(tree, features);
    for (std::size_t f = 0; f < features.size(); ++f) {
      const std::span<const float> factors = tree.scaled() ? tree.factors() : std::span<const float>();
      add(rows_[f], features[f].value, factors);
    }
  }

  // Hands the items below a node of the layer above to `best`; returns how many they are.
  template <Transform transform>
  std::size_t push(const FilteredTree& tree, std::uint32_t node, float score, TopK& best) {
    if (tree.layers().size() == 1) return push_children<transform>(tree, node, score, best);
    std::size_t first = node, last = node + std::size_t{1}, before = 0, base = node;
    const float* above = &score;  // of the nodes from `base` on
    for (const FilteredTree::Layer& layer : tree.layers()) {
      float* scores = scores_.data() + before;
      for (std::size_t n = first; n < last; ++n) {
        for (std::size_t c = layer.begins[n]; c < layer.begins[n + 1]; ++c) {
          scores[c] = above[n - base] + log_activation<transform>(margins_[before + c]);
        }
      }
      first = layer.begins[first];
      last = layer.begins[last];
      before += layer.begins.back();
      above = scores;
      base = 0;
    }
    for (std::size_t i = first; i < last; ++i) {
      best.push(signed_ranking_key(above[i], static_cast<std::uint32_t>(tree.items()[i])));
    }
    return last - first;
  }

  // How many weights were read since the last call.
  std::uint64_t take_entries() { return std::exchange(entries_, 0); }

 private:
  // Adds a feature's share to all margins; integer weights are multiplied with their nodes' factors.
  void add(const FilteredTree::FeatureRow& row, float value, std::span<const float> factors) {
    float* margins = margins_.data();
    entries_ += row.entries.size();
    if (!row.dense.empty()) {
      detail::add_dense(margins, row.dense, value, factors);
    } else if (!factors.empty()) {
      for (const FilteredTree::Entry& entry : row.entries)
        margins[entry.node] += value * factors[entry.node] * entry.weight;
    } else {
      for (const FilteredTree::Entry& entry : row.entries) margins[entry.node] += value * entry.weight;
    }
  }

  // All rows are found before the first is read: memory fetches them meanwhile, instead of one after the other.
  void find_rows(const FilteredTree& tree, std::span<const HashedFeature> features) {
    rows_.resize(features.size());
    for (std::size_t f = 0; f < features.size(); ++f) {
      rows_[f] = tree.row(features[f].number, features[f].hash);
      __builtin_prefetch(rows_[f].entries.data());
    }
  }

  // The usual case, a layer of items alone.
  template <Transform transform>
  std::size_t push_children(const FilteredTree& tree, std::uint32_t node, float score, TopK& best) const {
    const std::vector<std::uint32_t>& begins = tree.layers().front().begins;
    const std::size_t first = begins[node], last = begins[node + 1];
    for (std::size_t c = first; c < last; ++c) {
      const float total = score + log_activation<transform>(margins_[c]);
      best.push(signed_ranking_key(total, static_cast<std::uint32_t>(tree.items()[c])));
    }
    return last - first;
  }

  std::vector<FilteredTree::FeatureRow> rows_;
  std::vector<float> margins_;
  std::vector<float> scores_;
  std::uint64_t entries_ = 0;
};

}  // namespace vizsla
