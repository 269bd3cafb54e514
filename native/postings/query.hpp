// A query made ready: its lists in the one order in which every item's score is summed.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "postings/postings.hpp"

namespace vizsla {

struct QueryTerm {
  std::int32_t term;
  float weight;
  double bound = 0;     // no item gets more from this term
  double priority = 0;  // higher ones are added first
};

// Float sums depend on the order of their terms. One order for searching, scoring and every degree of pruning keeps
// all answers bit for bit the same: highest weight times priority first. A priority is what a term gives at most, since
// the tail of that order is what pruning can leave out. It need not be what it gives in these very lists: shards of an
// index, and its lists cut down to some items, share the priorities of the whole, so their sums are the whole's too.
class Query {
 public:
  void prepare(const Postings& postings, std::span<const std::int32_t> terms, std::span<const float> weights) {
    terms_.clear();
    double base = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      add(postings, terms[i], weights[i]);
      base += double{weights[i]} * postings.absent(static_cast<std::size_t>(terms[i]));
    }
    require(base < FLT_MAX / 2, "query weights are too large: scores would overflow");
    base_ = static_cast<float>(base);
    merge_repeats();
    double total = 0;
    for (QueryTerm& entry : terms_) {
      const Postings::List list = postings.list(static_cast<std::size_t>(entry.term));
      entry.bound = largest_product(double{entry.weight}, list.bound);
      entry.priority = double{entry.weight} * double{list.priority};
      total += entry.bound;
    }
    require(total < FLT_MAX / 2, "query weights are too large: scores would overflow");
    std::sort(terms_.begin(), terms_.end(), [](const QueryTerm& a, const QueryTerm& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.term < b.term;
    });
  }

  std::span<const QueryTerm> terms() const { return terms_; }

  // What every item gets, whichever terms it holds.
  float base() const { return base_; }

  // No float product of the weight and an impact up to `impact` is above this, even where it rounds up.
  static double largest_product(double weight, float impact) {
    return weight * double{impact} * (1 + 1e-7) + double{FLT_TRUE_MIN};
  }

 private:
  void add(const Postings& postings, std::int32_t term, float weight) {
    require(term >= 0 && static_cast<std::size_t>(term) < postings.terms(),
            "query terms must be below the number of terms");
    require(weight >= 0 && std::isfinite(weight), "query weights must be finite and not negative");
    if (weight > 0 && !postings.list(static_cast<std::size_t>(term)).items.empty()) terms_.push_back({term, weight});
  }

  void merge_repeats() {
    std::stable_sort(terms_.begin(), terms_.end(),
                     [](const QueryTerm& a, const QueryTerm& b) { return a.term < b.term; });
    std::size_t kept = 0;
    for (const QueryTerm& entry : terms_) {
      if (kept > 0 && terms_[kept - 1].term == entry.term) {
        terms_[kept - 1].weight += entry.weight;
      } else {
        terms_[kept++] = entry;
      }
    }
    terms_.resize(kept);
  }

  std::vector<QueryTerm> terms_;
  float base_ = 0;
};

}  // namespace vizsla
