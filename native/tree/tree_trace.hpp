// What a beam search found out: the scores of leaves that it looked at, and of nodes above others, which bound them.
#pragma once

#include <algorithm>
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
    if (++mark_ == 0 || layers_.size() != above || (above > 0 && layers_.back().size() != model.layers()[above - 1].nodes())) {
      layers_.resize(above);
      for (std::size_t t = 0; t < above; ++t) layers_[t].assign(model.layers()[t].nodes(), Met{});
      mark_ = 1;
    }
    leaves_.clear();
    if (above == 0) root_ = unread;
  }

  void meet(std::size_t layer, std::size_t node, float score) { layers_[layer][node] = {mark_, left, score}; }

  // The node's children, which are leaves, will be looked at, or are no better than the last that is found.
  void follow(std::size_t node) {
    if (!layers_.empty()) layers_.back()[node].leaves = unread;
  }

  // Room for the scores of a followed node's children.
  float* read(std::size_t node, std::size_t children) {
    (layers_.empty() ? root_ : layers_.back()[node].leaves) = static_cast<std::uint32_t>(leaves_.size());
    float* const scores = leaves_.room(children);
    leaves_.take(children);
    return scores;
  }

  // What is known of a leaf that was not found.
  struct Known {
    float score;  // NaN where the search did not look at it
    float bound;
  };

  // An activation is at most 1, so whoever is above a leaf is a bound; and who could have been looked at is no better than the
  // `last` that was found.
  Known about(const TreeModel& model, const TreeModel::Place& place, float last) const {
    if (layers_.empty()) return {root_ < unread ? leaves_[root_ + place.leaf] : NAN, last};
    std::size_t node = place.parent;
    const Met* met = &layers_.back()[node];
    if (met->mark == mark_) return about(*met, place.leaf - model.layers().back().first_child(node), last);
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
  static constexpr std::uint32_t left = UINT32_MAX, unread = left - 1;

  struct Met;

  // Of a node's child. Half of them were read, so whether is not guessed.
  Known about(const Met& met, std::size_t child, float last) const {
    const bool read = met.leaves < unread;
    const float unknown[] = {NAN};
    const float* scores = read ? leaves_.data() + met.leaves + child : unknown;
    const float most = met.leaves == unread ? std::min(met.score, last) : met.score;
    return {*scores, read ? *scores : most};
  }

  struct Met {
    std::uint32_t mark = 0;
    std::uint32_t leaves = left;  // where its children's scores begin, if they are leaves that were read; else left, or unread
    float score = 0;
  };

  std::uint32_t mark_ = 0;
  std::uint32_t root_ = unread;  // as `leaves`, of a tree without layers above its leaves
  std::vector<std::vector<Met>> layers_;  // all but the leaves
  GrowingArray<float> leaves_;
};

}  // namespace vizsla
