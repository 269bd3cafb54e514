// Inverted lists as a part of a sum: a search that adds up whole windows comes by the scores of what others found.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "candidates/live_part.hpp"
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

class LivePostings : public LivePart {
 public:
  LivePostings(const Postings& postings, ScratchPool<Searcher>& searchers, ScratchPool<ItemScorer>& scorers,
               const TermQueries& queries)
      : postings_(postings), searcher_(searchers), scorer_(scorers), queries_(queries) {}

  void search(std::size_t row, std::size_t k, const AlsoWanted& also, LiveAnswer& found) override {
    row_ = row;
    const auto keys = searcher_->search(postings_, {queries_.terms_of(row), queries_.weights_of(row), k, {}, also.items, also.scores});
    read_ += searcher_->read();
    found.items.resize(keys.size());
    found.scores.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      found.items[i] = static_cast<std::int32_t>(item_of(keys[i]));
      found.scores[i] = score_of(keys[i]);
    }
    found.ceiling = found.scores.empty() ? INFINITY : found.scores.back();
    found.certain = true;
  }

  bool bounds() const override { return false; }

  void bound(std::span<const std::int32_t>, std::span<float> limits) override {
    std::fill(limits.begin(), limits.end(), INFINITY);
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
  std::size_t row_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace vizsla
