// Inverted lists for Python.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/cursor_source.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "common/scratch.hpp"
#include "common/threads.hpp"
#include "postings/invert.hpp"
#include "postings/join_fields.hpp"
#include "postings/postings_cursor.hpp"
#include "postings/restrict.hpp"
#include "postings/score_items.hpp"
#include "postings/search.hpp"

namespace vizsla {

namespace {

// Many queries: rows of terms. Terms and weights are checked when a query is prepared.
struct Queries {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> terms;
  std::span<const float> weights;

  Queries(const InArray<std::int64_t>& offsets_, const InArray<std::int32_t>& terms_, const InArray<float>& weights_)
      : offsets(view(offsets_)), terms(view(terms_)), weights(view(weights_)) {
    check_row_offsets(offsets, terms.size(), "query offsets must rise from 0 to the number of query terms");
    require(terms.size() == weights.size(), "there must be a weight for each query term");
  }

  static void check_row_offsets(std::span<const std::int64_t> rows, std::size_t end, const char* otherwise) {
    require(!rows.empty() && rows.front() == 0 && static_cast<std::uint64_t>(rows.back()) == end, otherwise);
    require(std::is_sorted(rows.begin(), rows.end()), otherwise);
  }

  std::size_t size() const { return offsets.size() - 1; }
  std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(offsets[row]); }
  std::size_t count(std::size_t row) const { return static_cast<std::size_t>(offsets[row + 1] - offsets[row]); }
  std::span<const std::int32_t> terms_of(std::size_t row) const { return terms.subspan(begin(row), count(row)); }
  std::span<const float> weights_of(std::size_t row) const { return weights.subspan(begin(row), count(row)); }
};

// Postings with a call's queries, as a part of a sum. They must outlive it.
class PostingsSource : public CursorSource {
 public:
  PostingsSource(const Postings& postings, ScratchPool<Searcher>& searchers, ScratchPool<ItemScorer>& scorers,
                 InArray<std::int64_t> offsets, InArray<std::int32_t> terms, InArray<float> weights)
      : postings_(postings),
        searchers_(searchers),
        scorers_(scorers),
        offsets_(offsets),
        terms_(terms),
        weights_(weights) {}

  std::size_t rows() const override { return offsets_.size() - 1; }
  std::size_t items() const override { return postings_.items(); }
  bool reads_along() const override { return true; }

  std::unique_ptr<SearchCursor> open(std::size_t, const CursorUse& use) override {
    const TermQueries queries{view(offsets_), view(terms_), view(weights_)};
    return std::make_unique<PostingsCursor>(postings_, searchers_, scorers_, queries, use);
  }

 private:
  const Postings& postings_;
  ScratchPool<Searcher>& searchers_;
  ScratchPool<ItemScorer>& scorers_;
  InArray<std::int64_t> offsets_;
  InArray<std::int32_t> terms_;
  InArray<float> weights_;
};

class BoundPostings {
 public:
  BoundPostings(std::size_t items, InArray<std::int64_t> offsets, InArray<std::int32_t> numbers, InArray<float> impacts,
                InArray<float> priorities, InArray<double> absent)
      : offsets_(offsets),
        numbers_(numbers),
        impacts_(impacts),
        priorities_(priorities),
        absent_(absent),
        postings_(items, view(offsets_), view(numbers_), view(impacts_), {view(priorities_), view(absent_)}) {}

  std::size_t items() const { return postings_.items(); }
  std::size_t terms() const { return postings_.terms(); }
  std::size_t block_bytes() const { return postings_.block_bytes(); }

  OutArray<float> priorities() const {
    const auto given = postings_.priorities();
    return to_numpy(std::vector<float>(given.begin(), given.end()));
  }

  // (offsets, items, impacts) of the lists with these items only, numbered anew from 0.
  nb::tuple restricted(InArray<std::int32_t> kept) const {
    RestrictedLists lists;
    {
      nb::gil_scoped_release unlocked;
      lists = restrict_lists(postings_, view(kept));
    }
    return nb::make_tuple(to_numpy(std::move(lists.offsets)), to_numpy(std::move(lists.items)),
                          to_numpy(std::move(lists.impacts)));
  }

  // (items, scores, postings read) of one query: the shortest way.
  nb::tuple search_one(InArray<std::int32_t> terms, InArray<float> weights, std::size_t k,
                       std::optional<InArray<std::uint8_t>> allowed) {
    require(terms.size() == weights.size(), "there must be a weight for each query term");
    const std::span<const std::uint8_t> bits = allowed_bits(allowed);
    ScratchPool<Searcher>::Loan searcher(searchers_);
    std::span<const std::uint64_t> keys;
    {
      nb::gil_scoped_release unlocked;
      keys = searcher->search(postings_, {view(terms), view(weights), checked(k), bits});
    }
    RawArray<std::int32_t> items(keys.size());
    RawArray<float> scores(keys.size());
    unpack(keys, items.data(), scores.data());
    return nb::make_tuple(items.take(), scores.take(), searcher->read());
  }

  // (offsets, items, scores, postings read) of many.
  nb::tuple search(InArray<std::int64_t> offsets, InArray<std::int32_t> terms, InArray<float> weights, std::size_t k,
                   std::optional<InArray<std::uint8_t>> allowed, std::size_t threads) {
    const Queries queries(offsets, terms, weights);
    const std::span<const std::uint8_t> bits = allowed_bits(allowed);
    checked(k);
    std::vector<std::vector<std::uint64_t>> answers(queries.size());
    std::atomic<std::size_t> read{0};
    in_turns(queries.size(), threads, [&](std::size_t first) {
      return [&, first, searcher = std::make_shared<ScratchPool<Searcher>::Loan>(searchers_)](std::size_t number) {
        const std::size_t row = first + number;
        const auto keys = (*searcher)->search(postings_, {queries.terms_of(row), queries.weights_of(row), k, bits});
        answers[row].assign(keys.begin(), keys.end());
        read += (*searcher)->read();
      };
    });
    return joined(answers, read);
  }

  BoundSource source(InArray<std::int64_t> offsets, InArray<std::int32_t> terms, InArray<float> weights) {
    const Queries checked_queries(offsets, terms, weights);
    return {std::make_unique<PostingsSource>(postings_, searchers_, item_scorers_, offsets, terms, weights)};
  }

  // (scores, postings read) of given items of one query: the shortest way.
  nb::tuple score_one(InArray<std::int32_t> terms, InArray<float> weights, InArray<std::int32_t> items) {
    require(terms.size() == weights.size(), "there must be a weight for each query term");
    check_items(view(items));
    RawArray<float> scores(items.size());
    const std::span<float> room(scores.data(), items.size());
    ScratchPool<ItemScorer>::Loan scorer(item_scorers_);
    {
      nb::gil_scoped_release unlocked;
      scorer->score(postings_, view(terms), view(weights), view(items), room);
    }
    return nb::make_tuple(scores.take(), scorer->read());
  }

  // The same for many queries, row by row.
  nb::tuple score(InArray<std::int64_t> offsets, InArray<std::int32_t> terms, InArray<float> weights,
                  InArray<std::int64_t> item_offsets, InArray<std::int32_t> items, std::size_t threads) {
    const Queries queries(offsets, terms, weights);
    const auto rows = view(item_offsets);
    const auto numbers = view(items);
    Queries::check_row_offsets(rows, numbers.size(), "item offsets must rise from 0 to the number of items");
    require(rows.size() == queries.offsets.size(), "there must be a row of items for each query");
    check_items(numbers);
    RawArray<float> scores(numbers.size());
    const std::span<float> room(scores.data(), numbers.size());
    std::atomic<std::size_t> read{0};
    in_turns(queries.size(), threads, [&](std::size_t first) {
      return [&, first, scorer = std::make_shared<ScratchPool<ItemScorer>::Loan>(item_scorers_)](std::size_t number) {
        const std::size_t row = first + number, begin = static_cast<std::size_t>(rows[row]);
        const std::size_t count = static_cast<std::size_t>(rows[row + 1]) - begin;
        (*scorer)->score(postings_, queries.terms_of(row), queries.weights_of(row), numbers.subspan(begin, count),
                         room.subspan(begin, count));
        read += (*scorer)->read();
      };
    });
    return nb::make_tuple(scores.take(), read.load());
  }

 private:
  static constexpr std::size_t queries_a_turn = 1024;

  static std::size_t checked(std::size_t k) {
    require(k > 0, "k must be above 0");
    return k;
  }

  void check_items(std::span<const std::int32_t> items) const {
    require(items.size() <= UINT32_MAX, "fewer than 2^32 items can be scored at once");
    for (std::int32_t item : items)
      require(item >= 0 && static_cast<std::size_t>(item) < postings_.items(),
              "items must be below the number of items");
  }

  // Works without the GIL, but looks up every now and then whether Ctrl-C was pressed.
  template <class MakeWorker>
  static void in_turns(std::size_t count, std::size_t threads, const MakeWorker& make_worker) {
    const Poll poll = python_signals();
    for (std::size_t first = 0; first < count; first += queries_a_turn) {
      {
        nb::gil_scoped_release unlocked;
        share_work(std::min(queries_a_turn, count - first), threads, [&] { return make_worker(first); }, poll);
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  std::span<const std::uint8_t> allowed_bits(const std::optional<InArray<std::uint8_t>>& allowed) const {
    if (!allowed) return {};
    require(allowed->size() == (postings_.items() + 7) / 8, "`allowed` must have a bit for each item");
    return view(*allowed);
  }

  static void unpack(std::span<const std::uint64_t> keys, std::int32_t* items, float* scores) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      items[i] = static_cast<std::int32_t>(item_of(keys[i]));
      scores[i] = score_of(keys[i]);
    }
  }

  static nb::tuple joined(const std::vector<std::vector<std::uint64_t>>& answers, std::size_t read) {
    RawArray<std::int64_t> offsets(answers.size() + 1);
    offsets.data()[0] = 0;
    for (std::size_t row = 0; row < answers.size(); ++row) {
      offsets.data()[row + 1] = offsets.data()[row] + static_cast<std::int64_t>(answers[row].size());
    }
    const auto total = static_cast<std::size_t>(offsets.data()[answers.size()]);
    RawArray<std::int32_t> items(total);
    RawArray<float> scores(total);
    for (std::size_t row = 0; row < answers.size(); ++row) {
      unpack(answers[row], items.data() + offsets.data()[row], scores.data() + offsets.data()[row]);
    }
    return nb::make_tuple(offsets.take(), items.take(), scores.take(), read);
  }

  InArray<std::int64_t> offsets_;
  InArray<std::int32_t> numbers_;
  InArray<float> impacts_, priorities_;
  InArray<double> absent_;
  Postings postings_;
  ScratchPool<Searcher> searchers_;
  ScratchPool<ItemScorer> item_scorers_;
};

nb::tuple invert(InArray<std::int64_t> offsets, InArray<std::int32_t> terms, InArray<float> weights,
                 std::size_t term_count, InArray<double> gains, InArray<double> norms) {
  const Rows rows{view(offsets), view(terms), view(weights)};
  const Saturation impact{view(gains), view(norms)};
  std::vector<std::int64_t> starts;
  std::vector<std::int32_t> items;
  std::vector<float> impacts;
  const Poll poll = python_signals();
  {
    nb::gil_scoped_release unlocked;
    rows.check(term_count);
    impact.check(term_count, rows.size());
    starts = posting_offsets(rows, term_count, impact, poll);
    items.resize(static_cast<std::size_t>(starts.back()));
    impacts.resize(items.size());
    fill_postings(rows, impact, starts, items.data(), impacts.data(), poll);
  }
  return nb::make_tuple(to_numpy(std::move(starts)), to_numpy(std::move(items)), to_numpy(std::move(impacts)));
}

// (offsets, terms, counts in halves) of items whose fields have a row each.
nb::tuple bound_join_fields(InArray<std::int64_t> offsets, InArray<std::int32_t> terms, InArray<float> counts,
                            std::size_t term_count, std::size_t fields) {
  const Rows rows{view(offsets), view(terms), view(counts)};
  JoinedFields joined;
  const Poll poll = python_signals();
  {
    nb::gil_scoped_release unlocked;
    rows.check(term_count);
    joined = join_fields(rows, fields, poll);
  }
  return nb::make_tuple(to_numpy(std::move(joined.offsets)), to_numpy(std::move(joined.terms)),
                        to_numpy(std::move(joined.counts)));
}

OutArray<double> row_sums(InArray<std::int64_t> offsets, InArray<float> values) {
  const auto rows = view(offsets);
  Queries::check_row_offsets(rows, values.size(), "row offsets must rise from 0 to the number of entries");
  std::vector<double> sums(rows.size() - 1, 0.0);
  for (std::size_t row = 0; row < sums.size(); ++row) {
    for (auto i = static_cast<std::size_t>(rows[row]); i < static_cast<std::size_t>(rows[row + 1]); ++i)
      sums[row] += double{values.data()[i]};
  }
  return to_numpy(std::move(sums));
}

}  // namespace

void register_postings(nb::module_& module) {
  module.def("invert", &invert, nb::arg("offsets").noconvert(), nb::arg("terms").noconvert(),
             nb::arg("weights").noconvert(), nb::arg("term_count"), nb::arg("gains").noconvert(),
             nb::arg("norms").noconvert(), "Rows of weighted terms as inverted lists: offsets, items, impacts.");
  module.def("join_fields", &bound_join_fields, nb::arg("offsets").noconvert(), nb::arg("terms").noconvert(),
             nb::arg("counts").noconvert(), nb::arg("term_count"), nb::arg("fields"),
             "Rows of fields as rows of items: offsets, terms, and a count in halves for each field.");
  module.def("row_sums", &row_sums, nb::arg("offsets").noconvert(), nb::arg("values").noconvert(),
             "The sum of each row's values.");
  nb::class_<BoundPostings>(module, "Postings")
      .def(nb::init<std::size_t, InArray<std::int64_t>, InArray<std::int32_t>, InArray<float>, InArray<float>,
                    InArray<double>>(),
           nb::arg("items"), nb::arg("offsets").noconvert(), nb::arg("numbers").noconvert(),
           nb::arg("impacts").noconvert(), nb::arg("priorities").noconvert(), nb::arg("absent").noconvert())
      .def_prop_ro("items", &BoundPostings::items)
      .def_prop_ro("terms", &BoundPostings::terms)
      .def_prop_ro("block_bytes", &BoundPostings::block_bytes)
      .def("priorities", &BoundPostings::priorities)
      .def("restricted", &BoundPostings::restricted, nb::arg("kept").noconvert())
      .def("search_one", &BoundPostings::search_one, nb::arg("terms").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("k"), nb::arg("allowed").noconvert().none())
      .def("search", &BoundPostings::search, nb::arg("offsets").noconvert(), nb::arg("terms").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("k"), nb::arg("allowed").noconvert().none(), nb::arg("threads"))
      .def("source", &BoundPostings::source, nb::arg("offsets").noconvert(), nb::arg("terms").noconvert(),
           nb::arg("weights").noconvert(), nb::keep_alive<0, 1>(),
           "Postings with a call's queries, as a part of a CursorSum.")
      .def("score", &BoundPostings::score, nb::arg("offsets").noconvert(), nb::arg("terms").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("item_offsets").noconvert(), nb::arg("items").noconvert(),
           nb::arg("threads"))
      .def("score_one", &BoundPostings::score_one, nb::arg("terms").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("items").noconvert());
}

}  // namespace vizsla
