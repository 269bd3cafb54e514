// Votes of past queries for Python: counting them, and adding them to a base's scores.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/ranked_rows.hpp"
#include "bindings/register.hpp"
#include "candidates/voted_sum.hpp"
#include "candidates/votes.hpp"
#include "common/checks.hpp"

namespace vizsla {

namespace {

using Offsets = InArray<std::int64_t>;
using Numbers = InArray<std::int32_t>;
using Mask = InArray<bool>;
using ScoredRows = std::tuple<Offsets, Numbers, InArray<float>>;
using CountedRows = std::tuple<Offsets, Numbers, InArray<double>>;

void check_below(std::span<const std::int32_t> numbers, std::size_t limit, const char* otherwise) {
  for (const std::int32_t number : numbers) require(number >= 0 && static_cast<std::size_t>(number) < limit, otherwise);
}

// The clicks of a log, checked once; see candidates/votes.hpp.
class BoundClickVotes {
 public:
  BoundClickVotes(Offsets offsets, Numbers items, Offsets units, std::size_t width)
      : offsets_(std::move(offsets)), items_(std::move(items)), units_(std::move(units)), width_(width) {
    check_offsets(view(offsets_), items_.size());
    require(units_.size() == items_.size(), "there must be a weight for each click");
    check_below(view(items_), width, "every click must be on an item");
    for (const std::int64_t unit : view(units_)) require(unit > 0, "every click must weigh more than 0");
  }

  // (offsets, items, votes) as bytes, items ascending within a row.
  nb::tuple count(Offsets offsets, Numbers queries, InArray<float> similar, std::size_t neighbors, double near,
                  bool best, const std::optional<Mask>& allowed) const {
    const auto rows = view(offsets);
    check_offsets(rows, queries.size());
    require(similar.size() == queries.size(), "there must be a similarity for each past query");
    check_below(view(queries), offsets_.size() - 1, "every neighbor must be a past query");
    require(neighbors > 0 && std::isfinite(near), "there must be neighbors, and a finite least similarity");
    require(!allowed || allowed->size() == width_, "there must be a flag for each item");
    const ClickRows clicks{view(offsets_), view(items_), view(units_)};
    const std::span<const bool> mask = allowed ? view(*allowed) : std::span<const bool>();
    const VoteRule rule{neighbors, near, best};
    std::vector<std::int64_t> ends{0};
    std::vector<std::int32_t> items;
    std::vector<double> values;
    const Poll poll = signals_between(rows.size() - 1);
    {
      nb::gil_scoped_release unlocked;
      VoteCounter counter;
      for (std::size_t row = 0; row + 1 < rows.size(); ++row) {
        if (poll) poll();
        const auto first = static_cast<std::size_t>(rows[row]), size = static_cast<std::size_t>(rows[row + 1]) - first;
        const auto voters = view(queries).subspan(first, size);
        for (const Vote& vote : counter.count(clicks, voters, view(similar).subspan(first, size), rule, mask)) {
          items.push_back(vote.item);
          values.push_back(vote.value);
        }
        ends.push_back(static_cast<std::int64_t>(items.size()));
      }
    }
    return nb::make_tuple(to_bytes(ends), to_bytes(items), to_bytes(values));
  }

 private:
  Offsets offsets_;
  Numbers items_;
  Offsets units_;
  std::size_t width_;
};

VoteRows checked_votes(const CountedRows& given, std::size_t width) {
  const auto& [offsets, items, values] = given;
  check_offsets(view(offsets), items.size());
  require(values.size() == items.size(), "there must be a number of votes for each item");
  check_below(view(items), width, "every vote must be for an item");
  const VoteRows rows{view(offsets), view(items), view(values)};
  require(rows.ascend(), "votes must be by ascending item, each once");
  return rows;
}

// A base's answer while it is asked for what only the votes name; see candidates/voted_sum.hpp.
class BoundVotedSum {
 public:
  BoundVotedSum(const ScoredRows& found, const CountedRows& votes, std::size_t width)
      : width_(width), sum_(made(found, votes, width)) {}

  // (offsets, items) for the base to score, or None.
  nb::object missing() const {
    const auto items = sum_.missing_items();
    if (items.empty()) return nb::none();
    return nb::make_tuple(to_bytes(sum_.missing_offsets()), to_bytes(items));
  }

  void fill(InArray<float> scores) { sum_.fill(view(scores)); }

  // (offsets, items, scores) as bytes.
  nb::tuple best(double worth, double threshold, Mask clicked, std::size_t k) const {
    require(clicked.size() == width_, "there must be a flag for each item");
    require(sum_.complete(), "what was missing must be scored first");
    const VoteWorth how{worth, threshold, view(clicked)};
    RankedRows out;
    RowRanker ranker;
    const Poll poll = signals_between(sum_.rows());
    for (std::size_t row = 0; row < sum_.rows(); ++row) {
      if (poll) poll();
      out.add(sum_.best(row, how, k, ranker));
    }
    return out.take();
  }

 private:
  static VotedSum made(const ScoredRows& given, const CountedRows& counted, std::size_t width) {
    const auto& [offsets, items, scores] = given;
    check_offsets(view(offsets), items.size());
    require(scores.size() == items.size(), "there must be a score for each item");
    check_below(view(items), width, "every item that was found must be one");
    const VoteRows votes = checked_votes(counted, width);
    require(votes.offsets.size() == offsets.size(), "there must be as many rows of votes as of answers");
    return VotedSum({view(offsets), view(items), view(scores)}, votes, offsets.size() - 1);
  }

  std::size_t width_;
  VotedSum sum_;
};

// Bytes of float32: the given items' scores with their votes, in the order given.
nb::object add_votes(const ScoredRows& given, const CountedRows& counted, double worth, double threshold,
                     Mask clicked) {
  const auto& [offsets, items, scores] = given;
  check_offsets(view(offsets), items.size());
  require(scores.size() == items.size(), "there must be a score for each item");
  check_below(view(items), clicked.size(), "every item must be one");
  const VoteRows votes = checked_votes(counted, clicked.size());
  require(votes.offsets.size() == offsets.size(), "there must be as many rows of votes as of items");
  const VoteWorth how{worth, threshold, view(clicked)};
  const PartRows wanted{view(offsets), view(items), view(scores)};
  RawArray<float> out(items.size());
  const Poll poll = signals_between(wanted.offsets.size() - 1);
  for (std::size_t row = 0; row + 1 < wanted.offsets.size(); ++row) {
    if (poll) poll();
    for (std::size_t at = wanted.begin(row); at < wanted.begin(row) + wanted.count(row); ++at) {
      out.data()[at] = how.total(wanted.scores[at], votes.of(row, wanted.items[at]), wanted.items[at]);
    }
  }
  return out.take();
}

}  // namespace

void register_votes(nb::module_& module) {
  nb::class_<BoundClickVotes>(module, "ClickVotes")
      .def(nb::init<Offsets, Numbers, Offsets, std::size_t>(), nb::arg("offsets"), nb::arg("items"), nb::arg("units"),
           nb::arg("width"))
      .def("count", &BoundClickVotes::count, nb::arg("offsets"), nb::arg("queries"), nb::arg("similar"),
           nb::arg("neighbors"), nb::arg("near"), nb::arg("best"), nb::arg("allowed").none(),
           "(offsets, items, votes) as bytes, of rows of past queries, nearest first.");
  nb::class_<BoundVotedSum>(module, "VotedSum")
      .def(nb::init<const ScoredRows&, const CountedRows&, std::size_t>(), nb::arg("found"), nb::arg("votes"),
           nb::arg("width"))
      .def("missing", &BoundVotedSum::missing, "(offsets, items) as bytes that the base must score, or None.")
      .def("fill", &BoundVotedSum::fill, nb::arg("scores"), "Give the base's scores of what was missing.")
      .def("best", &BoundVotedSum::best, nb::arg("worth"), nb::arg("threshold"), nb::arg("clicked"), nb::arg("k"),
           "(offsets, items, scores) as bytes: the best k by base + worth * (votes - threshold).");
  module.def("add_votes", &add_votes, nb::arg("scored"), nb::arg("votes"), nb::arg("worth"), nb::arg("threshold"),
             nb::arg("clicked"), "Bytes of float32: the scores with their votes, in the order given.");
}

}  // namespace vizsla
