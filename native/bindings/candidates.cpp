// Ranked rows for Python: ranking, joining, adding, cutting and rescaling, on flat arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/ranked_rows.hpp"
#include "bindings/register.hpp"
#include "candidates/interleave.hpp"
#include "candidates/normalize.hpp"
#include "candidates/part_rows.hpp"
#include "candidates/rank.hpp"
#include "candidates/weighted_sum.hpp"
#include "common/checks.hpp"

namespace vizsla {

namespace {

using Offsets = InArray<std::int64_t>;
using Numbers = InArray<std::int32_t>;
using Scores = InArray<float>;

// (offsets, items, scores) with every row best first and cut to k.
nb::tuple rank(Offsets offsets, Numbers items, Scores scores, std::size_t k) {
  const auto rows = view(offsets);
  check_offsets(rows, items.size());
  require(items.size() == scores.size(), "there must be a score for each item");
  RankedRows out;
  const Poll poll = signals_between(rows.size() - 1);
  {
    nb::gil_scoped_release unlocked;
    RowRanker ranker;
    for (std::size_t row = 0; row + 1 < rows.size(); ++row) {
      if (poll) poll();
      ranker.clear();
      for (auto at = static_cast<std::size_t>(rows[row]); at < static_cast<std::size_t>(rows[row + 1]); ++at) {
        ranker.push(items.data()[at], scores.data()[at]);
      }
      out.add(ranker.best(k));
    }
  }
  return out.take();
}

using MatchPart = std::tuple<Offsets, Numbers>;
using ScoredPart = std::tuple<Offsets, Numbers, Scores>;

std::size_t common_rows(const std::vector<PartRows>& parts) {
  require(!parts.empty(), "there must be a part");
  for (const PartRows& part : parts) {
    check_offsets(part.offsets, part.items.size());
    require(part.offsets.size() == parts[0].offsets.size(), "parts must have as many rows");
  }
  return parts[0].offsets.size() - 1;
}

// (offsets, items): each row's parts by turns.
nb::tuple bound_interleave(const std::vector<MatchPart>& given, std::size_t k) {
  std::vector<PartRows> parts;
  for (const auto& [offsets, items] : given) parts.push_back({view(offsets), view(items), {}});
  const std::size_t rows = common_rows(parts);
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> items;
  const Poll poll = signals_between(rows);
  {
    nb::gil_scoped_release unlocked;
    HashIdMap slots;
    for (std::size_t row = 0; row < rows; ++row) {
      if (poll) poll();
      interleave(parts, row, k, slots, items);
      offsets.push_back(static_cast<std::int64_t>(items.size()));
    }
  }
  return nb::make_tuple(to_bytes(offsets), to_bytes(items));
}

// (list, weight, how, depth, scales, highest): a part of a sum. Scales are two numbers a row, None to take those of the
// list; highest is a number a row that no raw score outside of the list exceeds, None where it is the last found.
using SumPart =
    std::tuple<ScoredPart, double, std::string, std::size_t, std::optional<InArray<double>>, std::optional<Scores>>;

std::vector<RowScale> row_scales(const PartRows& part, const std::string& how, std::size_t depth,
                                 const std::optional<InArray<double>>& given, std::size_t rows) {
  require(how == "minmax" || how == "zscore", "scores must be as they are, or by minmax, zscore or rank");
  require(!given || given->size() == 2 * rows, "there must be two numbers for each row");
  std::vector<RowScale> scales(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    if (given) {
      scales[row] = {given->data()[2 * row], given->data()[2 * row + 1]};
    } else {
      const auto ranked = part.scores_of(row).first(std::min(depth, part.count(row)));
      scales[row] = how == "minmax" ? minmax_scale(ranked) : zscore_scale(ranked);
    }
  }
  return scales;
}

// A weighted sum while its parts are asked for what is missing; see candidates/weighted_sum.hpp.
class BoundSum {
 public:
  BoundSum(const std::vector<SumPart>& parts, std::size_t taken, std::size_t k) : sum_(made(parts, taken, k)) {}

  // For each part None, or (offsets, items) to score; None when nothing is missing any more.
  nb::object wanted() {
    asked_ = sum_.wanted();
    nb::list parts;
    bool any = false;
    for (const Wanted& part : asked_) {
      if (part.items.empty()) {
        parts.append(nb::none());
      } else {
        parts.append(nb::make_tuple(to_bytes(part.offsets), to_bytes(part.items)));
        any = true;
      }
    }
    return any ? nb::object(parts) : nb::none();
  }

  void fill(std::size_t part, Scores scores) {
    require(part < asked_.size(), "there must be such a part");
    sum_.fill(asked_[part], part, view(scores));
  }

  // (offsets, items, scores, rows whose best k are certain).
  nb::tuple best() {
    RankedRows out;
    std::size_t certain = 0;
    RowRanker ranker;
    const Poll poll = signals_between(sum_.rows());
    for (std::size_t row = 0; row < sum_.rows(); ++row) {
      if (poll) poll();
      bool sure = false;
      out.add(sum_.best(row, ranker, sure));
      certain += sure;
    }
    return nb::make_tuple(to_bytes(out.offsets), to_bytes(out.items), to_bytes(out.scores), certain);
  }

 private:
  static WeightedSum made(const std::vector<SumPart>& given, std::size_t taken, std::size_t k) {
    require(k > 0 && taken > 0, "k must be above 0");
    std::vector<PartRows> lists;
    for (const auto& [list, weight, how, depth, scales, highest] : given) {
      const auto& [offsets, items, scores] = list;
      require(items.size() == scores.size(), "there must be a score for each item");
      require(weight >= 0 && std::isfinite(weight), "weights must be finite and not negative");
      lists.push_back({view(offsets), view(items), view(scores)});
    }
    const std::size_t rows = common_rows(lists);
    std::vector<FusedPart> parts;
    for (std::size_t number = 0; number < given.size(); ++number) {
      const auto& [list, weight, how, depth, scales, highest] = given[number];
      FusedPart& part = parts.emplace_back(FusedPart{lists[number], weight, how == "rank", depth, {}, {}});
      if (how != "rank" && how != "none") part.scales = row_scales(part, how, depth, scales, rows);
      require(!highest || highest->size() == rows, "there must be a ceiling for each row");
      if (highest) part.highest.assign(highest->data(), highest->data() + rows);
    }
    return WeightedSum(std::move(parts), rows, taken, k);
  }

  WeightedSum sum_;
  std::vector<Wanted> asked_;
};

// (offsets, items, scores, scales): ranked rows on their own scales, ranked anew and cut to k. A scale is two numbers a
// row, where zero lies and how long one is, from the best `depth`.
nb::tuple normalize(Offsets offsets, Numbers items, Scores scores, const std::string& how, std::size_t depth,
                    std::size_t k) {
  const auto rows = view(offsets);
  const auto values = view(scores);
  check_offsets(rows, values.size());
  require(items.size() == scores.size(), "there must be a score for each item");
  require(how == "minmax" || how == "zscore", "scales must be of minmax or zscore");
  const bool minmax = how == "minmax";
  RawArray<double> scales(2 * (rows.size() - 1));
  RankedRows out;
  RowRanker ranker;
  const Poll poll = signals_between(rows.size() - 1);
  for (std::size_t row = 0; row + 1 < rows.size(); ++row) {
    if (poll) poll();
    const auto first = static_cast<std::size_t>(rows[row]), count = static_cast<std::size_t>(rows[row + 1]) - first;
    const auto ranked = values.subspan(first, std::min(depth, count));
    const RowScale scale = minmax ? minmax_scale(ranked) : zscore_scale(ranked);
    scales.data()[2 * row] = scale.zero;
    scales.data()[2 * row + 1] = scale.one;
    ranker.clear();
    for (std::size_t at = first; at < first + count; ++at) ranker.push(items.data()[at], scale.of(values[at]));
    out.add(ranker.best(k));
  }
  return nb::make_tuple(to_bytes(out.offsets), to_bytes(out.items), to_bytes(out.scores), scales.take());
}

// The scores on their rows' scales, in the order given.
nb::object rescale(Offsets offsets, Scores scores, InArray<double> scales) {
  const auto rows = view(offsets);
  check_offsets(rows, scores.size());
  require(scales.size() == 2 * (rows.size() - 1), "there must be two numbers for each row");
  RawArray<float> out(scores.size());
  for (std::size_t row = 0; row + 1 < rows.size(); ++row) {
    const RowScale scale{scales.data()[2 * row], scales.data()[2 * row + 1]};
    for (auto at = static_cast<std::size_t>(rows[row]); at < static_cast<std::size_t>(rows[row + 1]); ++at) {
      out.data()[at] = scale.of(scores.data()[at]);
    }
  }
  return out.take();
}

// 1 / (60 + place) of each item among the best `depth` of ranked rows, 0 for items that are not there.
nb::object reciprocal_places(Offsets ranked_offsets, Numbers ranked_items, std::size_t depth, Offsets offsets,
                             Numbers items) {
  const PartRows ranked{view(ranked_offsets), view(ranked_items), {}}, wanted{view(offsets), view(items), {}};
  check_offsets(ranked.offsets, ranked.items.size());
  check_offsets(wanted.offsets, wanted.items.size());
  require(ranked.offsets.size() == wanted.offsets.size(), "there must be as many rows");
  RawArray<float> out(wanted.items.size());
  HashIdMap slots;
  const Poll poll = signals_between(wanted.offsets.size() - 1);
  for (std::size_t row = 0; row + 1 < wanted.offsets.size(); ++row) {
    if (poll) poll();
    const std::size_t count = std::min(depth, ranked.count(row));
    slots.start(count);
    for (std::size_t at = 0; at < count; ++at) {
      slots.place(ranked.items[ranked.begin(row) + at], static_cast<std::uint32_t>(at));
    }
    for (std::size_t at = wanted.begin(row); at < wanted.begin(row) + wanted.count(row); ++at) {
      const std::uint32_t place = slots.known(wanted.items[at]);
      out.data()[at] = place == HashIdMap::none ? 0.0F : reciprocal_place(place, depth);
    }
  }
  return out.take();
}

}  // namespace

void register_candidates(nb::module_& module) {
  module.def("rank", &rank, nb::arg("offsets"), nb::arg("items"), nb::arg("scores"), nb::arg("k"),
             "(offsets, items, scores) as bytes, every row best first and cut to k.");
  module.def("interleave", &bound_interleave, nb::arg("parts"), nb::arg("k"),
             "(offsets, items) as bytes: the parts take turns, and an item is taken once.");
  nb::class_<BoundSum>(module, "WeightedSum")
      .def(nb::init<const std::vector<SumPart>&, std::size_t, std::size_t>(), nb::arg("parts"), nb::arg("taken"),
           nb::arg("k"))
      .def("wanted", &BoundSum::wanted, "For each part None or (offsets, items) to score; None at the end.")
      .def("fill", &BoundSum::fill, nb::arg("part"), nb::arg("scores"), "Give a part's scores of what was wanted.")
      .def("best", &BoundSum::best, "(offsets, items, scores, certain rows): the best k by the weighted sum.");
  module.def("normalize", &normalize, nb::arg("offsets"), nb::arg("items"), nb::arg("scores"), nb::arg("how"),
             nb::arg("depth"), nb::arg("k"),
             "(offsets, items, scores, scales) as bytes: ranked rows on their own scales, cut to k.");
  module.def("rescale", &rescale, nb::arg("offsets"), nb::arg("scores"), nb::arg("scales"),
             "Bytes of float32: the scores on their rows' scales.");
  module.def("reciprocal_places", &reciprocal_places, nb::arg("ranked_offsets"), nb::arg("ranked_items"),
             nb::arg("depth"), nb::arg("offsets"), nb::arg("items"),
             "Bytes of float32: 1 / (60 + place) among the ranked, or 0.");
}

}  // namespace vizsla
