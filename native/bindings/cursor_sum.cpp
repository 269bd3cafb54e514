// Sums over native indexes for Python: one call for all queries.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/cursor_source.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "candidates/cursor_sum.hpp"
#include "common/checks.hpp"
#include "common/threads.hpp"

namespace vizsla {

namespace {

using Numbers = InArray<std::int32_t>;

// (weight, how, depth, maps): the maps, to the sum's item numbers and from them, are None where the numbers are the
// same.
using GivenTerm = std::tuple<double, std::string, std::size_t, std::optional<std::tuple<Numbers, Numbers>>>;

Scaling scaling_of(const std::string& how) {
  if (how == "none") return Scaling::none;
  if (how == "minmax") return Scaling::minmax;
  if (how == "zscore") return Scaling::zscore;
  require(how == "rank", "scores must be as they are, or by minmax, zscore or rank");
  return Scaling::rank;
}

// Rows of the best k, each in a place of its own until all are there.
class AnswerRows {
 public:
  AnswerRows(std::size_t rows, std::size_t most) : most_(most), counts_(rows, 0), keys_(rows * most) {}

  void put(std::size_t row, std::span<const std::uint64_t> keys) {
    counts_[row] = keys.size();
    std::copy(keys.begin(), keys.end(), keys_.begin() + static_cast<std::ptrdiff_t>(row * most_));
  }

  // (offsets, items, scores) as bytes.
  std::tuple<nb::object, nb::object, nb::object> take() const {
    RawArray<std::int64_t> offsets(counts_.size() + 1);
    offsets.data()[0] = 0;
    for (std::size_t row = 0; row < counts_.size(); ++row) {
      offsets.data()[row + 1] = offsets.data()[row] + static_cast<std::int64_t>(counts_[row]);
    }
    const auto total = static_cast<std::size_t>(offsets.data()[counts_.size()]);
    RawArray<std::int32_t> items(total);
    RawArray<float> scores(total);
    std::size_t at = 0;
    for (std::size_t row = 0; row < counts_.size(); ++row) {
      for (std::size_t i = 0; i < counts_[row]; ++i, ++at) {
        const std::uint64_t key = keys_[row * most_ + i];
        items.data()[at] = static_cast<std::int32_t>(item_of(key));
        scores.data()[at] = signed_score_of(key);
      }
    }
    return {offsets.take(), items.take(), scores.take()};
  }

 private:
  std::size_t most_;
  std::vector<std::size_t> counts_;
  std::vector<std::uint64_t> keys_;
};

// What a part cost, over all threads.
struct PartCost {
  std::atomic<std::uint64_t> read{0}, scored{0};
  std::atomic<bool> certain{true};
};

// One thread's sum; what it cost is told to the others when it is done.
class BilledSum {
 public:
  BilledSum(std::span<const SumTerm> terms, std::span<CursorSource* const> sources, std::size_t taken, std::size_t k,
            std::vector<PartCost>& costs, std::atomic<bool>& certain)
      : sum_(terms, sources, taken, k), costs_(costs), certain_(certain), surely_(costs.size(), true) {}
  BilledSum(const BilledSum&) = delete;
  BilledSum& operator=(const BilledSum&) = delete;

  ~BilledSum() {
    for (std::size_t p = 0; p < costs_.size(); ++p) {
      costs_[p].read += sum_.take_read(p);
      costs_[p].scored += sum_.take_scored(p);
      if (!surely_[p]) costs_[p].certain = false;
    }
    if (!all_surely_) certain_ = false;
  }

  std::span<const std::uint64_t> search(std::size_t row) {
    const auto found = sum_.search(row);
    all_surely_ = all_surely_ && sum_.certain();
    for (std::size_t p = 0; p < surely_.size(); ++p) surely_[p] = surely_[p] && sum_.certain(p);
    return found;
  }

 private:
  CursorSum sum_;
  std::vector<PartCost>& costs_;
  std::atomic<bool>& certain_;
  std::vector<bool> surely_;
  bool all_surely_ = true;
};

class BoundCursorSum {
 public:
  explicit BoundCursorSum(const std::vector<GivenTerm>& terms) : kept_(terms) {
    require(!terms.empty(), "there must be a part");
    for (const auto& [weight, how, depth, maps] : kept_) {
      require(weight >= 0 && std::isfinite(weight), "weights must be finite and not negative");
      SumTerm& term = terms_.emplace_back(SumTerm{weight, scaling_of(how), depth, {}, {}});
      require(term.scaling == Scaling::none || depth > 0, "a depth must be above 0");
      if (!maps) continue;
      require(term.scaling != Scaling::rank, "places are those of a part's own numbers");
      term.to_merged = view(std::get<0>(*maps));
      term.from_merged = view(std::get<1>(*maps));
      require(term.to_merged.size() == term.from_merged.size(), "both catalogs must be as long");
    }
  }

  // (offsets, items, scores, certain, costs): every row's best k; `certain` says that no item outside of the lists can
  // be among them, and a part's cost is (entries read, items scored, whether its lists surely hold the best).
  nb::tuple search(const std::vector<BoundSource*>& given, std::size_t taken, std::size_t k,
                   std::size_t threads) const {
    require(k > 0 && taken > 0 && threads > 0, "k and threads must be above 0");
    const std::vector<CursorSource*> sources = checked(given);
    const std::size_t rows = sources[0]->rows();
    AnswerRows answers(rows, std::min(k, sources[0]->items()));
    std::vector<PartCost> costs(sources.size());
    std::atomic<bool> certain{true};
    const Poll poll = signals_between(rows);
    {
      nb::gil_scoped_release unlocked;
      const auto make_worker = [&] {
        const auto sum = std::make_shared<BilledSum>(terms_, sources, taken, k, costs, certain);
        return [&answers, sum](std::size_t row) { answers.put(row, sum->search(row)); };
      };
      share_work(rows, threads, make_worker, poll);
    }
    nb::list bills;
    for (const PartCost& cost : costs)
      bills.append(nb::make_tuple(cost.read.load(), cost.scored.load(), rows > 0 && cost.certain.load()));
    const auto [offsets, items, scores] = answers.take();
    return nb::make_tuple(offsets, items, scores, rows > 0 && certain.load(), bills);
  }

 private:
  std::vector<CursorSource*> checked(const std::vector<BoundSource*>& given) const {
    require(given.size() == terms_.size(), "there must be a source for each part");
    std::vector<CursorSource*> sources;
    for (std::size_t p = 0; p < given.size(); ++p) {
      require(given[p] != nullptr && given[p]->source, "there must be a source for each part");
      sources.push_back(given[p]->source.get());
      require(sources[p]->rows() == sources[0]->rows(), "parts must have as many rows");
      require(sources[p]->items() == sources[0]->items(), "parts must have as many items");
      require(terms_[p].to_merged.empty() || terms_[p].to_merged.size() == sources[p]->items(),
              "a map must have a number for each item");
    }
    return sources;
  }

  std::vector<GivenTerm> kept_;
  std::vector<SumTerm> terms_;
};

}  // namespace

void register_cursor_sum(nb::module_& module) {
  nb::class_<BoundSource>(module, "CursorSource");
  nb::class_<BoundCursorSum>(module, "CursorSum")
      .def(nb::init<const std::vector<GivenTerm>&>(), nb::arg("terms"))
      .def("search", &BoundCursorSum::search, nb::arg("sources"), nb::arg("taken"), nb::arg("k"), nb::arg("threads"),
           "(offsets, items, scores, certain, costs): the best k by the weighted sum.");
}

}  // namespace vizsla
