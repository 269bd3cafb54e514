// The best items of a tree, under a filter or not: by beam, or by scoring all where few are allowed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/topk.hpp"
#include "tree/beam_search.hpp"
#include "tree/narrow_search.hpp"
#include "tree/path_scores.hpp"
#include "tree/tree_filter.hpp"

namespace vizsla {

// What a batch of queries asks for, and how it is answered: the same way for each of them.
struct TreeTask {
  std::size_t wanted;
  std::size_t beam;
  const TreeFilter* filter;  // none: everything is allowed
  bool all;                  // score all allowed items
  const NarrowTree* narrow;  // by these, if they are made

  TreeTask(const TreeModel& model, std::size_t k, std::size_t beam_, TreeFilter* given, std::size_t queries)
      : wanted(std::min(k, given ? given->items().size() : model.size())),
        beam(beam_),
        filter(given != nullptr && given->items().size() < model.size() ? given : nullptr),
        all(filter != nullptr && wanted > 0 && filter->scores_all(model.layers().size(), wanted, beam)),
        narrow(all ? given->narrow(model, queries) : nullptr) {}
};

// One thread's search: its buffers are reused from query to query.
class TreeSearcher {
 public:
  // The best items' keys, best first; they are valid until the next search. A query without features says nothing: it
  // finds nothing.
  template <Transform transform>
  std::span<const std::uint64_t> search(const TreeModel& model, const SparseQuery& query, const TreeTask& task) {
    if (query.features.empty() || task.wanted == 0) return {};
    if (!task.all) {
      beam_.search<transform>(model, query, task.wanted, task.beam, task.filter, best_);
      return best_.finish();
    }
    best_.start(task.wanted, 5 * task.wanted);
    if (task.narrow != nullptr) {
      narrow_.search<transform>(*task.narrow, query, model.bias(), best_);
    } else {
      score_all<transform>(model, query, task.filter->items());
    }
    return best_.finish();
  }

  template <Transform transform>
  void score(const TreeModel& model, const SparseQuery& query, std::span<const std::int32_t> items, std::span<float> scores) {
    paths_.score<transform>(model, query, items, scores);
  }

  // How many weights were read since the last call.
  std::uint64_t take_entries() { return beam_.take_entries() + narrow_.take_entries() + paths_.take_entries(); }

 private:
  template <Transform transform>
  void score_all(const TreeModel& model, const SparseQuery& query, std::span<const std::int32_t> items) {
    scores_.resize(items.size());
    paths_.score<transform>(model, query, items, scores_);
    for (std::size_t i = 0; i < items.size(); ++i) best_.push(signed_ranking_key(scores_[i], static_cast<std::uint32_t>(items[i])));
  }

  BeamSearcher beam_;
  NarrowSearcher narrow_;
  PathScorer paths_;
  TopK best_;
  std::vector<float> scores_;
};

}  // namespace vizsla
