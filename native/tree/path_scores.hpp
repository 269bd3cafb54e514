// Scores of given items by their whole paths (Eq. 8 of the XR-Linear paper).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tree/activation.hpp"
#include "tree/chunk_margins.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

// One thread's scoring: its buffers are reused from query to query.
class PathScorer {
 public:
  template <Transform transform>
  void score(const TreeModel& model, const SparseQuery& query, std::span<const std::int32_t> items, std::span<float> scores) {
    if (items.empty()) return;
    gather(model, items);
    margins_.take(query, model.bias());
    above_.assign(1, 0.0F);
    for (std::size_t t = 0; t < levels_.size(); ++t) {
      find_chunks(model, t);
      const std::span<float> into = t + 1 == levels_.size() ? scores : room(levels_[t].size());
      for (std::size_t i = 0; i < levels_[t].size(); ++i) into[i] = scored<transform>(levels_[t][i]);
      std::swap(above_, here_);
    }
  }

  // How many weights were read since the last call.
  std::uint64_t take_entries() { return margins_.take_entries(); }

 private:
  // A node on a path: its place among its chunk's children, and the place of its parent in the level above.
  struct Step {
    std::uint32_t child;
    std::uint32_t parent;
  };

  // The paths of all items, from the leaves up. Items share their parents' steps: a node that was met in this gathering
  // bears its mark, so that nothing needs to be sorted.
  void gather(const TreeModel& model, std::span<const std::int32_t> items) {
    prepare(model);
    nodes_.clear();
    for (const std::int32_t item : items) nodes_.push_back(model.positions()[static_cast<std::size_t>(item)]);
    for (std::size_t t = levels_.size(); t-- > 0;) {
      const ChunkedLayer& layer = model.layers()[t];
      levels_[t].clear();
      chunks_[t].clear();
      for (const std::uint32_t node : nodes_) {
        const std::uint32_t chunk = model.parents(t)[node];
        Met& met = met_[t][chunk];
        if (met.mark != mark_) {
          met = {mark_, static_cast<std::uint32_t>(chunks_[t].size())};
          chunks_[t].push_back(chunk);
        }
        levels_[t].push_back({node - static_cast<std::uint32_t>(layer.first_child(chunk)), met.place});
      }
      nodes_.assign(chunks_[t].begin(), chunks_[t].end());
    }
  }

  void prepare(const TreeModel& model) {
    const std::size_t layers = model.layers().size();
    if (++mark_ == 0 || met_.size() != layers) {
      met_.assign(layers, {});
      levels_.resize(layers);
      chunks_.resize(layers);
      for (std::size_t t = 0; t < layers; ++t) met_[t].assign(model.layers()[t].chunks(), {0, 0});
      mark_ = 1;
    }
  }

  void find_chunks(const TreeModel& model, std::size_t t) {
    margins_.clear();
    for (std::size_t c = 0; c < chunks_[t].size(); ++c) margins_.visit(model.layers()[t], chunks_[t][c], above_[c]);
    margins_.find(model.layers()[t]);
  }

  template <Transform transform>
  float scored(const Step& step) const {
    const ChunkVisit& visited = margins_.visits()[step.parent];
    return visited.score + log_activation<transform>(margins_.of(visited)[step.child]);
  }

  std::span<float> room(std::size_t size) {
    here_.resize(size);
    return here_;
  }

  struct Met {
    std::uint32_t mark;
    std::uint32_t place;
  };

  ChunkMargins margins_;
  std::uint32_t mark_ = 0;
  std::vector<std::vector<Met>> met_;               // of each layer and chunk: in which gathering, and where
  std::vector<std::vector<Step>> levels_;           // the steps of each layer; the last are the items, as they are given
  std::vector<std::vector<std::uint32_t>> chunks_;  // of each layer, without repeats: the nodes of the level above
  std::vector<std::uint32_t> nodes_;
  std::vector<float> above_;
  std::vector<float> here_;
};

}  // namespace vizsla
