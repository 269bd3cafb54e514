// Scores of given items by their whole paths (Eq. 8 of the XR-Linear paper).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tree/activation.hpp"
#include "tree/child_margins.hpp"
#include "tree/lazy_build.hpp"
#include "tree/leaf_rows.hpp"
#include "tree/query_values.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

using LazyLeafRows = LazyBuild<LeafRows>;

// One thread's scoring: its buffers are reused from query to query.
class PathScorer {
 public:
  // Items' own weights are read by item where `leaves` has come to hold them and that is cheaper: to the same bits.
  template <Transform transform>
  void score(const TreeModel& model, LazyLeafRows& leaves, const SparseQuery& query,
             std::span<const std::int32_t> items, std::span<float> scores) {
    if (items.empty()) return;
    gather(model, items);
    margins_.take(query, model.bias());
    above_.assign(1, 0.0F);
    const std::size_t last = levels_.size() - 1;
    for (std::size_t t = 0; t < last; ++t) {
      here_.resize(levels_[t].size());
      score_level<transform>(model, t, here_);
      std::swap(above_, here_);
    }
    if (const LeafRows* rows = cheaper_rows(model, leaves)) return score_leaves<transform>(model, *rows, items, scores);
    score_level<transform>(model, last, scores);
  }

  // How many weights were read since the last call.
  std::uint64_t take_entries() { return margins_.take_entries() + std::exchange(entries_, 0); }

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
    for (const std::int32_t item : items) nodes_.push_back(model.place(item).leaf);
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

  template <Transform transform>
  void score_level(const TreeModel& model, std::size_t t, std::span<float> into) {
    margins_.clear();
    for (std::size_t c = 0; c < chunks_[t].size(); ++c) margins_.visit(model.layers()[t], chunks_[t][c], above_[c]);
    margins_.find(model.layers()[t]);
    for (std::size_t i = 0; i < into.size(); ++i) {
      const ChunkVisit& visited = margins_.visits()[levels_[t][i].parent];
      into[i] = visited.score + log_activation<transform>(margins_.of(visited)[levels_[t][i].child]);
    }
  }

  // Rows by item if reading all of the items' costs less than a look-up for each chunk and feature. Features that do
  // not ascend are left to chunks, which add them as they come.
  const LeafRows* cheaper_rows(const TreeModel& model, LazyLeafRows& leaves) const {
    const ChunkedLayer& layer = model.layers().back();
    const std::span<const HashedFeature> features = margins_.features();
    const std::size_t lookups = chunks_.back().size() * features.size(), entries = layer.entries();
    if (entries / layer.nodes() * levels_.back().size() > entries_a_lookup * lookups) return nullptr;
    const auto descends = [](const HashedFeature& a, const HashedFeature& b) { return a.number >= b.number; };
    if (std::adjacent_find(features.begin(), features.end(), descends) != features.end()) return nullptr;
    return leaves.get(lookups, entries,
                      [&] { return LeafRows(layer, static_cast<std::uint32_t>(model.bias().number)); });
  }

  template <Transform transform>
  void score_leaves(const TreeModel& model, const LeafRows& rows, std::span<const std::int32_t> items,
                    std::span<float> scores) {
    values_.take(margins_.features());
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i + items_ahead < items.size()) rows.prefetch(leaf_of(model, items[i + items_ahead]));
      const std::size_t leaf = leaf_of(model, items[i]), parent = levels_.back()[i].parent;
      const float factor = model.layers().back().factor(chunks_.back()[parent]);
      scores[i] = above_[parent] + log_activation<transform>(rows.margin(values_, leaf, factor));
      entries_ += rows.count(leaf);
    }
  }

  static std::size_t leaf_of(const TreeModel& model, std::int32_t item) { return model.place(item).leaf; }

  static constexpr std::size_t items_ahead = 3;
  static constexpr std::size_t entries_a_lookup =
      16;  // so many entries of an item's row are read in the time of a look-up

  struct Met {
    std::uint32_t mark;
    std::uint32_t place;
  };

  ChildMargins margins_;
  std::uint32_t mark_ = 0;
  std::vector<std::vector<Met>> met_;      // of each layer and chunk: in which gathering, and where
  std::vector<std::vector<Step>> levels_;  // the steps of each layer; the last are the items, as they are given
  std::vector<std::vector<std::uint32_t>> chunks_;  // of each layer, without repeats: the nodes of the level above
  std::vector<std::uint32_t> nodes_;
  std::vector<float> above_;
  std::vector<float> here_;
  QueryValues values_;
  std::uint64_t entries_ = 0;
};

}  // namespace vizsla
