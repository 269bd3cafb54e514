// Votes of past queries: what was clicked for the queries nearest to a query (Eq. 5 of the PEFA paper).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "candidates/id_map.hpp"

namespace vizsla {

// Clicks by past query: those of query q are the entries from offsets[q] to offsets[q + 1].
struct ClickRows {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> items;
  std::span<const std::int64_t> units;  // what a click weighs, above 0

  std::size_t begin(std::int32_t query) const { return entry(static_cast<std::size_t>(query)); }
  std::size_t end(std::int32_t query) const { return entry(static_cast<std::size_t>(query) + 1); }

 private:
  std::size_t entry(std::size_t at) const { return static_cast<std::size_t>(offsets[at]); }
};

struct VoteRule {
  std::size_t neighbors;  // how many past queries vote: the first of a row
  double near;            // similarity up to which a past query has no say
  bool best;              // only the strongest vote for an item counts, instead of the mean over the neighbors
};

struct Vote {
  std::int32_t item;
  double value;
};

class VoteCounter {
 public:
  // One query's votes by ascending item; `queries` are its nearest past queries, nearest first. With `allowed`, only
  // items that it allows get votes.
  std::span<const Vote> count(const ClickRows& clicks, std::span<const std::int32_t> queries,
                              std::span<const float> similar, const VoteRule& rule, std::span<const bool> allowed) {
    choose(queries, similar, rule);
    start(clicks);
    for (const Voter& voter : voters_) add(clicks, voter, rule, allowed);
    std::sort(votes_.begin(), votes_.end(), [](const Vote& a, const Vote& b) { return a.item < b.item; });
    if (!rule.best) {
      for (Vote& vote : votes_) vote.value /= static_cast<double>(rule.neighbors);
    }
    return votes_;
  }

 private:
  struct Voter {
    std::int32_t query;
    double similar;
  };

  // By past query, so that an item's votes are added up in one order, whatever made the list.
  void choose(std::span<const std::int32_t> queries, std::span<const float> similar, const VoteRule& rule) {
    voters_.clear();
    for (std::size_t at = 0; at < std::min(rule.neighbors, queries.size()); ++at) {
      const auto similarity = static_cast<double>(similar[at]);
      if (similarity > rule.near) voters_.push_back({queries[at], similarity});
    }
    std::sort(voters_.begin(), voters_.end(), [](const Voter& a, const Voter& b) { return a.query < b.query; });
  }

  void start(const ClickRows& clicks) {
    std::size_t most = 0;
    for (const Voter& voter : voters_) most += clicks.end(voter.query) - clicks.begin(voter.query);
    slots_.start(most);
    votes_.clear();
  }

  // A past query's strongest item has the share 1.
  void add(const ClickRows& clicks, const Voter& voter, const VoteRule& rule, std::span<const bool> allowed) {
    const std::size_t first = clicks.begin(voter.query), last = clicks.end(voter.query);
    std::int64_t strongest = 1;
    for (std::size_t at = first; at < last; ++at) strongest = std::max(strongest, clicks.units[at]);
    for (std::size_t at = first; at < last; ++at) {
      const std::int32_t item = clicks.items[at];
      if (!allowed.empty() && !allowed[static_cast<std::size_t>(item)]) continue;
      const double share = static_cast<double>(clicks.units[at]) / static_cast<double>(strongest);
      add(item, (voter.similar - rule.near) * share, rule.best);
    }
  }

  void add(std::int32_t item, double value, bool best) {
    const auto next = static_cast<std::uint32_t>(votes_.size());
    const std::uint32_t place = slots_.place(item, next);
    if (place == next) {
      votes_.push_back({item, value});
    } else if (best) {
      votes_[place].value = std::max(votes_[place].value, value);
    } else {
      votes_[place].value += value;
    }
  }

  std::vector<Voter> voters_;
  std::vector<Vote> votes_;
  HashIdMap slots_;
};

}  // namespace vizsla
