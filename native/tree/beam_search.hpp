// Beam search through a tree model (section 3.3 of the XR-Linear paper), under a filter or not.
//
// Scores are kept as logarithms: a path's score is the sum of its nodes', no exp or pow is taken, and deep trees do not
// underflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/select_k.hpp"
#include "common/topk.hpp"
#include "tree/activation.hpp"
#include "tree/child_margins.hpp"
#include "tree/filtered_search.hpp"
#include "tree/path_scores.hpp"
#include "tree/tree_model.hpp"
#include "tree/tree_task.hpp"
#include "tree/tree_trace.hpp"

namespace vizsla {

// One thread's search: its buffers are reused from query to query.
class BeamSearcher {
 public:
  // The best items' keys, best first if they are to be `ranked`, valid until the next search. Without a filter the beam
  // is what the task says, whatever is wanted, so a short answer is the head of a long one, and there may be fewer
  // items than are wanted. Under a filter only nodes that lead to allowed items count, and the search is repeated with
  // a wider beam as long as its leaves hold fewer. A query without features says nothing: it finds nothing.
  template <Transform transform>
  std::span<const std::uint64_t> search(const TreeModel& model, LazyLeafRows& leaves, const SparseQuery& query,
                                        const TreeTask& task, TreeTrace* trace = nullptr, bool ranked = true) {
    outside_ = last_ = INFINITY;
    widened_ = false;
    trace_ = trace;
    if (query.features.empty() || task.wanted == 0) return {};
    const std::size_t widest = model.layers().back().chunks();
    margins_.take(query, model.bias());
    if (task.filtered != nullptr) filtered_tree_.take(*task.filtered, margins_.features());
    for (std::size_t times = 1;; times *= 4) {
      follow<transform>(model, task, times);
      const std::size_t reached = push_items<transform>(model, leaves, query, task);
      if (!task.widens || reached >= task.wanted || times >= widest || task.beam * times >= widest) break;
    }
    const auto found = ranked ? best_.finish() : best_.unsorted();
    if (found.size() < task.wanted) last_ = -INFINITY;
    else last_ = signed_score_of(ranked ? found.back() : *std::min_element(found.begin(), found.end()));
    if (transform == Transform::none) outside_ = INFINITY;
    return found;
  }

  // What no item exceeds that the last search did not find: an activation is at most 1, so a node that was left behind
  // is an upper bound of all below it, and the last node that was kept is one of all that were not.
  float ceiling() const { return std::max(outside_, last_); }

  // Whether the last search is exact: no pruned item reaches the last one found.
  bool certain() const { return outside_ < last_; }

  // Whether the last search followed more nodes of a layer than the beam, so that enough items were met.
  bool widened() const { return widened_; }

  // The last query's features.
  std::span<const HashedFeature> features() const { return margins_.features(); }

  // How many weights were read since the last call.
  std::uint64_t take_entries() {
    return margins_.take_entries() + filtered_tree_.take_entries() + paths_.take_entries();
  }

 private:
  // A node in the beam.
  struct Followed {
    std::uint32_t node;
    float score;
  };

  // So many chunks make a stream that is long enough, and not so long that it reads what turns out not to matter.
  static constexpr std::size_t chunks_at_once = 4;

  // What becomes of a node's children.
  enum class Children { best, all, items };

  // Goes down to the parents of the layers that are scored whole, or of the leaves; each layer's beam is so many
  // `times` as wide as the task has it. Whatever is scored whole costs the same for all parents: those are not cut.
  template <Transform transform>
  void follow(const TreeModel& model, const TreeTask& task, std::size_t times) {
    const std::size_t layers = model.layers().size(), end = std::min(task.filtered_from, layers - 1);
    beam_.assign(1, {0, 0.0F});
    outside_ = -INFINITY;
    if (trace_ != nullptr) trace_->start(model);
    for (std::size_t t = 0; t < end; ++t) {
      if (t + 1 == task.filtered_from) {
        all_.clear();
        expand<transform, Children::all>(model, t, task);
        beam_.swap(all_);
      } else {
        const std::size_t nodes = model.layers()[t].nodes();
        const std::size_t width = std::min(std::min(task.width(t), nodes) * times, nodes);
        best_.start(width);
        expand<transform, Children::best>(model, t, task);
        beam_.clear();
        for (std::uint64_t key : best_.finish()) beam_.push_back({item_of(key), signed_score_of(key)});
        if (width < nodes && beam_.size() == width) outside_ = std::max(outside_, beam_.back().score);
      }
      if (beam_.size() > task.beam) widened_ = true;
    }
    if (task.scores_whole_layers) widened_ = true;
    best_.start(task.wanted, 5 * task.wanted);
  }

  // Hands the items below what is followed to the top k; returns how many they are.
  template <Transform transform>
  std::size_t push_items(const TreeModel& model, LazyLeafRows& leaves, const SparseQuery& query, const TreeTask& task) {
    const std::size_t last = model.layers().size() - 1;
    if (task.filtered_from > last) return expand<transform, Children::items>(model, last, task);
    if (task.filtered != nullptr) return push_filtered<transform>(*task.filtered, task);
    return push_paths<transform>(model, leaves, query, task);
  }

  template <Transform transform>
  std::size_t push_filtered(const FilteredTree& tree, const TreeTask& task) {
    std::size_t reached = 0;
    best_first(task.parents_wanted());
    for (const Followed& followed : beam_) {
      if (hopeless<transform>(followed)) continue;
      reached += filtered_tree_.push<transform>(tree, followed.node, followed.score, best_);
      best_.settle();
    }
    return reached;
  }

  // Moves the best so many of the followed nodes to the front: their items rule out most of the others at a glance.
  void best_first(std::size_t count) {
    if (beam_.size() <= 2 * count) return;
    keys_.resize(beam_.size());
    for (std::size_t i = 0; i < beam_.size(); ++i) keys_[i] = signed_ranking_key(beam_[i].score, beam_[i].node);
    other_.resize(beam_.size());
    select_k(keys_, count, other_.data());
    for (std::size_t i = 0; i < beam_.size(); ++i) beam_[i] = {item_of(keys_[i]), signed_score_of(keys_[i])};
  }

  template <Transform transform>
  std::size_t push_paths(const TreeModel& model, LazyLeafRows& leaves, const SparseQuery& query, const TreeTask& task) {
    const std::size_t layers = model.layers().size();
    items_.clear();
    for (const Followed& followed : beam_) {
      std::size_t first = followed.node, last = first + 1;
      for (std::size_t t = task.filtered_from; t < layers; ++t) {
        first = model.layers()[t].first_child(first);
        last = model.layers()[t].first_child(last);
      }
      const auto add = [&](std::size_t leaf) { items_.push_back(model.items()[leaf]); };
      task.filter->allowed().for_each(layers - 1, first, last - first, add);
    }
    scores_.resize(items_.size());
    paths_.score<transform>(model, leaves, query, items_, scores_);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      best_.push(signed_ranking_key(scores_[i], static_cast<std::uint32_t>(items_[i])));
    }
    return items_.size();
  }

  // Hands the beam's children on.
  template <Transform transform, Children children>
  std::size_t expand(const TreeModel& model, std::size_t t, const TreeTask& task) {
    const ChunkedLayer& layer = model.layers()[t];
    std::size_t reached = 0;
    for (std::size_t first = 0; first < beam_.size(); first += chunks_at_once) {
      if (children != Children::all && hopeless<transform>(beam_[first])) break;
      margins_.clear();
      const std::size_t end = std::min(first + chunks_at_once, beam_.size());
      for (std::size_t i = first; i < end; ++i) margins_.visit(layer, beam_[i].node, beam_[i].score);
      margins_.find(layer);
      for (const ChunkVisit& visited : margins_.visits())
        reached += push<transform, children>(model, t, visited, task.filter);
      if (children != Children::all) best_.settle();
    }
    return reached;
  }

  // An activation is at most 1, so a child is no better than its parent: once enough children are better than the next
  // parent, the rest of the beam, which comes best first, is left unread.
  template <Transform transform>
  bool hopeless(const Followed& parent) const {
    return transform != Transform::none && signed_ranking_key(parent.score, 0) < best_.floor();
  }

  // At the leaves keys name items, so that ties go by item number and not by position.
  template <Transform transform, Children children>
  std::size_t push(const TreeModel& model, std::size_t t, const ChunkVisit& visited, const TreeFilter* filter) {
    const std::size_t first = model.layers()[t].first_child(visited.chunk);
    const float* margins = margins_.of(visited);
    float* leaves =
        children == Children::items && trace_ != nullptr ? trace_->read(visited.chunk, first, visited.count) : nullptr;
    const auto push_child = [&](std::size_t node) {
      const float score = visited.score + log_activation<transform>(margins[node - first]);
      if constexpr (children == Children::items) {
        if (leaves != nullptr) leaves[node - first] = score;
        best_.push(signed_ranking_key(score, static_cast<std::uint32_t>(model.items()[node])));
      } else if constexpr (children == Children::best) {
        best_.push(signed_ranking_key(score, static_cast<std::uint32_t>(node)));
        if (trace_ != nullptr) trace_->meet(t, node, score);
      } else {
        all_.push_back({static_cast<std::uint32_t>(node), score});
      }
    };
    if (filter == nullptr) {
      for (std::size_t i = 0; i < visited.count; ++i) push_child(first + i);
      return visited.count;
    }
    std::size_t reached = 0;
    filter->allowed().for_each(t, first, visited.count, [&](std::size_t node) { push_child(node), ++reached; });
    return reached;
  }

  float outside_ = INFINITY;    // of items below nodes that were left behind
  float last_ = -INFINITY;      // the last that was found, where more might have been
  bool widened_ = false;        // more nodes of a layer were followed than the beam
  TreeTrace* trace_ = nullptr;  // where the scores of nodes are recorded, if they are
  ChildMargins margins_;
  FilteredTreeSearcher filtered_tree_;
  PathScorer paths_;
  TopK best_;
  std::vector<Followed> beam_;
  std::vector<Followed> all_;
  std::vector<std::uint64_t> keys_, other_;
  std::vector<std::int32_t> items_;
  std::vector<float> scores_;
};

}  // namespace vizsla
