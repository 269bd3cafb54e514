// A cursor over a tree. The search records a trace, which bounds most items that other parts found, and spares the path
// from the root for the rest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "candidates/search_cursor.hpp"
#include "common/scratch.hpp"
#include "tree/beam_search.hpp"
#include "tree/path_scores.hpp"
#include "tree/query_values.hpp"
#include "tree/tree_trace.hpp"

namespace vizsla {

// The buffers of one thread, taken from a pool: a trace is as large as the tree above its leaves.
struct TreeCursorScratch {
  BeamSearcher searcher;
  PathScorer paths;
  TreeTrace trace;
  QueryValues values;
  LeafMatches matches;
  std::vector<std::uint32_t> asked;  // leaves whose matches are known
  std::vector<std::size_t> bounded;  // of items to be scored: where they are among those
};

struct SparseQueries {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> features;
  std::span<const float> values;

  SparseQuery operator[](std::size_t row) const {
    const auto begin = static_cast<std::size_t>(offsets[row]);
    const auto count = static_cast<std::size_t>(offsets[row + 1]) - begin;
    return {features.subspan(begin, count), values.subspan(begin, count)};
  }
};

template <Transform transform>
class TreeCursor : public SearchCursor {
 public:
  TreeCursor(const TreeModel& model, LazyLeafRows& leaves, ScratchPool<TreeCursorScratch>& pool,
             const SparseQueries& queries, const TreeTask& task, const CursorUse& use)
      : model_(model), leaves_(leaves), scratch_(pool), queries_(queries), task_(task), use_(use) {}

  void search(std::size_t row, std::size_t, const ScoreRequests&, CursorHits& found) override {
    query_ = queries_[row];
    ready_ = false;
    scratch_->asked.clear();
    TreeTrace* trace = use_.scores ? &scratch_->trace : nullptr;
    found.take_signed(scratch_->searcher.search<transform>(model_, leaves_, query_, task_, trace, use_.ranked));
    found.ceiling = scratch_->searcher.ceiling();
    found.certain = task_.exact || scratch_->searcher.certain();
  }

  bool tells() const override { return traced(); }

  void expect(std::span<const std::int32_t> items) override {
    for (const std::int32_t item : items) __builtin_prefetch(&model_.place(item));
  }

  void tell(const ScoreRequests& about) override {
    const TreeTrace& trace = scratch_->trace;
    for (std::size_t i = 0; i < about.items.size(); ++i) {
      const TreeModel::Place place = model_.place(about.items[i]);
      const TreeTrace::Known known = trace.about(model_, place);
      about.scores[i] = known.score;
      about.bounds[i] = known.bound;
    }
  }

  // Bounds by the features that an item's row shares with the query.
  void bound(std::span<const std::int32_t> items, std::span<float> bounds) override {
    const LeafRows* rows = leaves_.ready();
    if (rows == nullptr || !traced()) return;
    std::vector<std::uint32_t>& asked = scratch_->asked;
    asked.clear();
    for (const std::int32_t item : items) asked.push_back(model_.place(item).leaf);
    for (const std::uint32_t leaf : asked) rows->prefetch_features(leaf);
    if (!ready_) take_values();
    rows->margins_at_most(scratch_->values, asked, model_.bias().value, scratch_->matches, bounds);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const float above = scratch_->trace.parent(model_.place(items[i]).parent);
      bounds[i] = std::isnan(above) ? INFINITY : above + most_activation<transform>(bounds[i]);
    }
  }

  // By the trace and the items' own rows where they are kept; else by their paths, which may come to keep them.
  void score(std::span<const std::int32_t> items, std::span<float> scores) override {
    const LeafRows* rows = leaves_.ready();
    if (rows == nullptr || !traced() || !ascends()) return score_paths(items, scores);
    find_bounded(*rows, items);
    if (!ready_) take_values();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const TreeModel::Place place = model_.place(items[i]);
      const float above = scratch_->trace.parent(place.parent);
      if (std::isnan(above)) {
        score_paths(items.subspan(i, 1), scores.subspan(i, 1));
        continue;
      }
      scores[i] = above + log_activation<transform>(margin(*rows, place, scratch_->bounded[i]));
      entries_ += rows->count(place.leaf);
    }
  }

  std::uint64_t take_read() override {
    return std::exchange(entries_, 0) + scratch_->searcher.take_entries() + scratch_->paths.take_entries();
  }

 private:
  bool traced() const {
    return use_.scores && transform != Transform::none && !query_.features.empty() && task_.wanted > 0;
  }

  // Where each item's matches are among those that were found for bounds, if they are, and asks memory for what is read
  // next.
  void find_bounded(const LeafRows& rows, std::span<const std::int32_t> items) {
    const std::vector<std::uint32_t>& asked = scratch_->asked;
    scratch_->bounded.clear();
    for (const std::int32_t item : items) {
      const std::uint32_t leaf = model_.place(item).leaf;
      const auto at = static_cast<std::size_t>(std::find(asked.begin(), asked.end(), leaf) - asked.begin());
      scratch_->bounded.push_back(at);
      if (at < asked.size()) rows.prefetch(leaf, scratch_->matches.of(at));
      else rows.prefetch(leaf);
    }
  }

  float margin(const LeafRows& rows, const TreeModel::Place& place, std::size_t bounded) const {
    const TreeCursorScratch& scratch = *scratch_;
    const float factor = model_.layers().back().factor(place.parent);
    if (bounded == scratch.asked.size()) return rows.margin(scratch.values, place.leaf, factor);
    return rows.margin(scratch.values, place.leaf, scratch.matches.of(bounded), factor);
  }

  // Rows are added up by ascending feature; other queries are left to paths, which add features as they come.
  bool ascends() const {
    return std::adjacent_find(query_.features.begin(), query_.features.end(), std::greater_equal<>()) ==
           query_.features.end();
  }

  void take_values() {
    scratch_->values.take(scratch_->searcher.features());
    ready_ = true;
  }

  void score_paths(std::span<const std::int32_t> items, std::span<float> scores) {
    scratch_->paths.template score<transform>(model_, leaves_, query_, items, scores);
  }

  const TreeModel& model_;
  LazyLeafRows& leaves_;
  typename ScratchPool<TreeCursorScratch>::Loan scratch_;
  SparseQueries queries_;
  TreeTask task_;
  CursorUse use_;
  SparseQuery query_{};
  bool ready_ = false;
  std::uint64_t entries_ = 0;
};

}  // namespace vizsla
