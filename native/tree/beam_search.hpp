// Beam search through a tree model (section 3.3 of the XR-Linear paper).
//
// Scores are kept as logarithms: a path's score is the sum of its nodes', no exp or pow is taken, and deep trees do not
// underflow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/topk.hpp"
#include "tree/activation.hpp"
#include "tree/chunk_margins.hpp"
#include "tree/tree_filter.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

// One thread's search: its buffers are reused from query to query.
class BeamSearcher {
 public:
  // Hands the best of the items that the beam meets to `best`. When the beam's leaves hold fewer than are wanted, the search
  // is repeated with a wider one. Under a filter only nodes that lead to allowed items count, and the beam begins as wide as
  // the filter suggests.
  template <Transform transform>
  void search(const TreeModel& model, const SparseQuery& query, std::size_t wanted, std::size_t beam, const TreeFilter* filter, TopK& best) {
    const std::size_t widest = model.layers().back().chunks();
    margins_.take(query, model.bias());
    for (std::size_t times = 1; descend<transform>(model, wanted, {beam, times}, filter, best) < wanted; times *= 4) {
      if (times >= widest || beam * times >= widest) return;
    }
  }

  // How many weights were read since the last call.
  std::uint64_t take_entries() { return margins_.take_entries(); }

 private:
  // A node in the beam.
  struct Followed {
    std::uint32_t node;
    float score;
  };

  struct Width {
    std::size_t beam;
    std::size_t times;
  };

  // So many chunks make a stream that is long enough, and not so long that it reads what turns out not to matter.
  static constexpr std::size_t chunks_at_once = 4;

  // Returns how many items were met at the leaves.
  template <Transform transform>
  std::size_t descend(const TreeModel& model, std::size_t wanted, const Width& wide, const TreeFilter* filter, TopK& best) {
    const std::size_t last = model.layers().size() - 1;
    beam_.assign(1, {0, 0.0F});
    for (std::size_t t = 0; t < last; ++t) {
      const std::size_t nodes = model.layers()[t].nodes();
      const std::size_t width = filter == nullptr ? wide.beam : filter->width(t, wanted, wide.beam);
      best.start(std::min(width, nodes) > nodes / wide.times ? nodes : width * wide.times);
      expand<transform, false>(model, t, filter, best);
      beam_.clear();
      for (std::uint64_t key : best.finish()) beam_.push_back({item_of(key), signed_score_of(key)});
    }
    best.start(wanted, 5 * wanted);
    return expand<transform, true>(model, last, filter, best);
  }

  // Hands the beam's children to the top k. An activation is at most 1, so a child is no better than its parent: once
  // enough children are better than the next parent, the rest of the beam, which comes best first, is left unread.
  template <Transform transform, bool last>
  std::size_t expand(const TreeModel& model, std::size_t t, const TreeFilter* filter, TopK& best) {
    const ChunkedLayer& layer = model.layers()[t];
    std::size_t reached = 0;
    for (std::size_t first = 0; first < beam_.size(); first += chunks_at_once) {
      if (transform != Transform::none && signed_ranking_key(beam_[first].score, 0) < best.floor()) break;
      margins_.clear();
      for (std::size_t i = first; i < std::min(first + chunks_at_once, beam_.size()); ++i) margins_.visit(layer, beam_[i].node, beam_[i].score);
      margins_.find(layer);
      for (const ChunkVisit& visited : margins_.visits()) reached += push<transform, last>(model, t, visited, filter, best);
      best.settle();
    }
    return reached;
  }

  // At the leaves keys name items, so that ties go by item number and not by position.
  template <Transform transform, bool last>
  std::size_t push(const TreeModel& model, std::size_t t, const ChunkVisit& visited, const TreeFilter* filter, TopK& best) {
    const std::size_t first = model.layers()[t].first_child(visited.chunk);
    const float* margins = margins_.of(visited);
    const auto push_child = [&](std::size_t node) {
      const auto name = static_cast<std::uint32_t>(last ? static_cast<std::size_t>(model.items()[node]) : node);
      best.push(signed_ranking_key(visited.score + log_activation<transform>(margins[node - first]), name));
    };
    if (filter == nullptr) {
      for (std::size_t i = 0; i < visited.count; ++i) push_child(first + i);
      return visited.count;
    }
    std::size_t reached = 0;
    filter->allowed().for_each(t, first, visited.count, [&](std::size_t node) { push_child(node), ++reached; });
    return reached;
  }

  ChunkMargins margins_;
  std::vector<Followed> beam_;
};

}  // namespace vizsla
