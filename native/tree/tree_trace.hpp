// What a beam search found out: the scores of leaves that it looked at, and of nodes above others, which bound them.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/growing_array.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

class TreeTrace {
 public:
  // Forgets the last search.
  void start(const TreeModel& model) {
    const std::size_t above = model.layers().size() - 1;
    if (++mark_ == 0 || layers_.size() != above ||
        (above > 0 && layers_.back().size() != model.layers()[above - 1].nodes())) {
      layers_.resize(above);
      for (std::size_t t = 0; t < above; ++t) layers_[t].assign(model.layers()[t].nodes(), Met{});
      mark_ = 1;
    }
    leaves_.clear();
    *leaves_.room(1) = NAN;
    leaves_.take(1);
    if (above == 0) root_ = {mark_, 0.0F};
  }

  void meet(std::size_t layer, std::size_t node, float score) { layers_[layer][node] = {mark_, score}; }

  // Room for the scores of a node's children, of which this leaf is the first.
  float* read(std::size_t node, std::size_t first, std::size_t children) {
    Met& met = layers_.empty() ? root_ : layers_.back()[node];
    met.read = UINT32_MAX;
    met.leaves = static_cast<std::uint32_t>(leaves_.size() - first);
    float* const scores = leaves_.room(children);
    leaves_.take(children);
    return scores;
  }

  // What is known of a leaf that was not found.
  struct Known {
    float score;  // NaN where the search did not look at it
    float bound;  // where it did not
  };

  // An activation is at most 1, so every ancestor of a leaf is a bound. That of a node whose leaves the search had no
  // need to read is below the last that was found.
  Known about(const TreeModel& model, const TreeModel::Place& place) const {
    if (layers_.empty()) return about(root_, place.leaf);
    std::size_t node = place.parent;
    const Met* met = &layers_.back()[node];
    if (met->mark == mark_) return about(*met, place.leaf);
    for (std::size_t t = layers_.size() - 1; met->mark != mark_ && t > 0; --t) {
      node = model.parents(t)[node];
      met = &layers_[t - 1][node];
    }
    return {NAN, met->mark == mark_ ? met->score : INFINITY};
  }

  // The score of a leaf's parent; NaN where the search did not come by it.
  float parent(std::size_t chunk) const {
    if (layers_.empty()) return 0.0F;
    const Met& met = layers_.back()[chunk];
    return met.mark == mark_ ? met.score : NAN;
  }

 private:
  struct Met {
    std::uint32_t mark = 0;
    float score = 0;
    std::uint32_t read = 0;    // all bits, if its children are leaves that were read
    std::uint32_t leaves = 0;  // a child's place among all leaves, and this more, is that of its score, if it was read
  };

  // Of a node's child. Half of them were read, so whether is not guessed: the others' place is the first, where there
  // is no score.
  Known about(const Met& met, std::uint32_t leaf) const { return {leaves_[(met.leaves + leaf) & met.read], met.score}; }

  std::uint32_t mark_ = 0;
  Met root_;                              // above the leaves of a tree without other layers
  std::vector<std::vector<Met>> layers_;  // all but the leaves
  GrowingArray<float> leaves_;            // NaN, and the scores of those that were read
};

}  // namespace vizsla
