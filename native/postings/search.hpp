// Exact top-k over the inverted lists of an index.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/score_requests.hpp"
#include "common/topk.hpp"
#include "postings/window_search.hpp"

namespace vizsla {

class Searcher {
 public:
  struct Question {
    std::span<const std::int32_t> terms;
    std::span<const float> weights;
    std::size_t k;
    std::span<const std::uint8_t> allowed;  // one bit an item, the lowest of a byte first, or empty
    bool ranked = true;                     // whether the best come first
    ScoreRequests also = {};
  };

  // The keys of the best k; they live until the next search.
  std::span<const std::uint64_t> search(const Postings& postings, const Question& question) {
    query_.prepare(postings, question.terms, question.weights);
    windows_.cursors().clear();
    bounds_.clear();
    for (const QueryTerm& entry : query_.terms()) {
      windows_.cursors().emplace_back(postings.list(static_cast<std::size_t>(entry.term)), entry.weight,
                                      double{entry.weight});
      bounds_.push_back(entry.bound);
    }
    top_.start(std::min(question.k, postings.items()));
    windows_.search({question.k, postings.items(), 0, question.allowed, query_.base(), question.also}, bounds_, top_);
    return question.ranked ? top_.finish() : top_.unsorted();
  }

  // Postings that the last search read.
  std::size_t read() const { return windows_.read(); }

 private:
  Query query_;
  WindowSearch<const float*> windows_;
  std::vector<double> bounds_;
  TopK top_;
};

}  // namespace vizsla
