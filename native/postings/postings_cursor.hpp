// Inverted lists as a part of a sum: a search that adds up whole windows comes by the scores of what others found.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "candidates/search_cursor.hpp"
#include "common/scratch.hpp"
#include "postings/score_items.hpp"
#include "postings/search.hpp"

namespace vizsla {

struct TermQueries {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> terms;
  std::span<const float> weights;

  std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(offsets[row]); }
  std::size_t count(std::size_t row) const { return static_cast<std::size_t>(offsets[row + 1] - offsets[row]); }
  std::span<const std::int32_t> terms_of(std::size_t row) const { return terms.subspan(begin(row), count(row)); }
  std::span<const float> weights_of(std::size_t row) const { return weights.subspan(begin(row), count(row)); }
};

class PostingsCursor : public SearchCursor {
 public:
  PostingsCursor(const Postings& postings, ScratchPool<Searcher>& searchers, ScratchPool<ItemScorer>& scorers,
                 const TermQueries& queries, const CursorUse& use)
      : postings_(postings), searcher_(searchers), scorer_(scorers), queries_(queries), ranked_(use.ranked) {}

  void search(std::size_t row, std::size_t k, const ScoreRequests& also, CursorHits& found) override {
    row_ = row;
    const auto keys =
        searcher_->search(postings_, {queries_.terms_of(row), queries_.weights_of(row), k, {}, ranked_, also});
    read_ += searcher_->read();
    found.take_positive(keys);
    found.ceiling = found.lowest;
    found.certain = true;
  }

  void score(std::span<const std::int32_t> items, std::span<float> scores) override {
    scorer_->score(postings_, queries_.terms_of(row_), queries_.weights_of(row_), items, scores);
    read_ += scorer_->read();
  }

  std::uint64_t take_read() override { return std::exchange(read_, 0); }

 private:
  const Postings& postings_;
  ScratchPool<Searcher>::Loan searcher_;
  ScratchPool<ItemScorer>::Loan scorer_;
  TermQueries queries_;
  bool ranked_;
  std::size_t row_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace vizsla
