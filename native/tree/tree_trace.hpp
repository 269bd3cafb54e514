// What a beam search found out about nodes above the leaves: upper bounds of all items below them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

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
  }

  void meet(std::size_t layer, std::size_t node, float score) { layers_[layer][node] = {mark_, 0, score}; }

  // The node's children, which are leaves, were looked at, or are no better than the last that was found.
  void follow(std::size_t node) {
    if (!layers_.empty()) layers_.back()[node].followed = mark_;
  }

  // What an item that was not found gets at most: an activation is at most 1, so whoever is above it is a bound; and who
  // was looked at is no better than the `last` that was found.
  float bound(const TreeModel& model, std::int32_t item, float last) const {
    std::size_t node = model.positions()[static_cast<std::size_t>(item)];
    if (layers_.empty()) return last;
    for (std::size_t t = layers_.size(); t-- > 0;) {
      node = model.parents(t + 1)[node];
      const Met& met = layers_[t][node];
      if (met.mark != mark_) continue;
      return met.followed == mark_ ? std::min(met.score, last) : met.score;
    }
    return INFINITY;
  }

  // The score of a leaf's parent; NaN where the search did not come by it.
  float parent(std::size_t chunk) const {
    if (layers_.empty()) return 0.0F;
    const Met& met = layers_.back()[chunk];
    return met.mark == mark_ ? met.score : NAN;
  }

 private:
  struct Met {
    std::uint32_t mark = 0, followed = 0;
    float score = 0;
  };

  std::uint32_t mark_ = 0;
  std::vector<std::vector<Met>> layers_;  // all but the leaves
};

}  // namespace vizsla
