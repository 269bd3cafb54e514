// Segments of a live index for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "bindings/texts.hpp"
#include "common/scratch.hpp"
#include "common/threads.hpp"
#include "postings/live_build.hpp"
#include "postings/live_count.hpp"
#include "postings/live_search.hpp"

namespace vizsla {

namespace {

// Keeps the arrays alive that the segment looks into.
class BoundSegment {
 public:
  BoundSegment(InArray<std::uint8_t> term_bytes, InArray<std::int64_t> term_offsets, InArray<std::uint32_t> term_table,
               InArray<std::int64_t> list_offsets, InArray<std::int32_t> slots, InArray<std::uint16_t> codes,
               InArray<std::uint32_t> wide_codes, InArray<std::uint32_t> pair_counts,
               InArray<std::uint32_t> pair_lengths, InArray<std::uint8_t> pair_languages,
               InArray<std::uint32_t> lengths, InArray<std::uint8_t> languages, InArray<std::int64_t> row_offsets,
               InArray<std::int32_t> row_terms, InArray<double> norms, std::optional<InArray<double>> frequencies)
      : bytes_{term_bytes, pair_languages, languages},
        offsets_{term_offsets, list_offsets, row_offsets},
        numbers_{slots, row_terms},
        codes_(codes),
        words_{term_table, wide_codes, pair_counts, pair_lengths, lengths},
        segment_({view(term_bytes), view(term_offsets), view(term_table), view(list_offsets), view(slots), view(codes),
                  view(wide_codes), view(pair_counts), view(pair_lengths), view(pair_languages), view(lengths),
                  view(languages), view(row_offsets), view(row_terms)},
                 view(norms), frequencies ? view(*frequencies) : std::span<const double>()) {}

  const LiveSegment& segment() const { return segment_; }
  std::size_t slots() const { return segment_.slots(); }
  std::size_t terms() const { return segment_.terms(); }

  // Adds 1 to the count of every term of these slots.
  void count_terms(InArray<std::int32_t> slots, nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig> counts) const {
    require(counts.size() == segment_.terms(), "there must be a count for each term");
    for (const std::int32_t slot : view(slots)) {
      require(slot >= 0 && static_cast<std::size_t>(slot) < segment_.slots(), "slots must be below their number");
      for (const std::int32_t term : segment_.row(static_cast<std::size_t>(slot))) ++counts.data()[term];
    }
  }

  void check() const {
    nb::gil_scoped_release unlocked;
    segment_.check();
  }

 private:
  std::vector<InArray<std::uint8_t>> bytes_;
  std::vector<InArray<std::int64_t>> offsets_;
  std::vector<InArray<std::int32_t>> numbers_;
  InArray<std::uint16_t> codes_;
  std::vector<InArray<std::uint32_t>> words_;
  LiveSegment segment_;
};

// The arrays of a segment by the names that its files have; nothing is copied, since all Python waits meanwhile.
nb::dict arrays_of(BuiltSegment&& built, std::vector<std::uint16_t>&& narrow, bool with_terms) {
  nb::dict arrays;
  if (with_terms) {
    arrays["term_bytes"] = to_numpy(std::move(built.term_bytes));
    arrays["term_offsets"] = to_numpy(std::move(built.term_offsets));
    arrays["term_table"] = to_numpy(std::move(built.term_table));
  }
  const bool is_narrow = narrow.size() == built.codes.size();
  arrays["codes"] = to_numpy(std::move(narrow));
  arrays["wide_codes"] = to_numpy(is_narrow ? std::vector<std::uint32_t>() : std::move(built.codes));
  arrays["list_offsets"] = to_numpy(std::move(built.list_offsets));
  arrays["slots"] = to_numpy(std::move(built.slots));
  arrays["pair_counts"] = to_numpy(std::move(built.pair_counts));
  arrays["pair_lengths"] = to_numpy(std::move(built.pair_lengths));
  arrays["pair_languages"] = to_numpy(std::move(built.pair_languages));
  arrays["lengths"] = to_numpy(std::move(built.lengths));
  arrays["languages"] = to_numpy(std::move(built.languages));
  arrays["row_offsets"] = to_numpy(std::move(built.row_offsets));
  arrays["row_terms"] = to_numpy(std::move(built.row_terms));
  return arrays;
}

nb::dict live_build(InArray<std::int64_t> offsets, InArray<std::int32_t> terms, InArray<std::uint32_t> counts,
                    InArray<std::uint8_t> languages, std::size_t term_count) {
  require(term_count <= INT32_MAX, "a segment holds fewer than 2^31 terms");
  BuiltSegment built;
  std::vector<std::uint16_t> narrow;
  {
    nb::gil_scoped_release unlocked;
    built = build_segment({view(offsets), view(terms), view(counts), view(languages)}, term_count);
    narrow = built.narrow_codes();
  }
  return arrays_of(std::move(built), std::move(narrow), false);
}

nb::dict live_merge(const nb::list& segments, const std::vector<InArray<std::int32_t>>& kept) {
  require(nb::len(segments) == kept.size(), "there must be slots for each segment");
  std::vector<SegmentMerge::Part> parts;
  for (std::size_t i = 0; i < kept.size(); ++i)
    parts.push_back({&nb::cast<const BoundSegment&>(segments[i]).segment(), view(kept[i])});
  const Poll poll = python_signals();
  BuiltSegment built;
  std::vector<std::uint16_t> narrow;
  {
    nb::gil_scoped_release unlocked;
    built = SegmentMerge().merge(parts, poll);
    narrow = built.narrow_codes();
  }
  return arrays_of(std::move(built), std::move(narrow), true);
}

class BoundLists {
 public:
  using Allowed = std::optional<std::vector<InArray<std::uint8_t>>>;

  void add(nb::object segment, std::optional<InArray<std::int32_t>> removed, std::optional<InArray<std::uint8_t>> live,
           double stretch, InArray<double> norms, std::optional<InArray<float>> length_norms,
           std::optional<InArray<double>> frequencies) {
    LivePart part{&nb::cast<const BoundSegment&>(segment).segment(), 0, {}, {}, stretch, {}, {}, {}};
    if (length_norms) part.norms.norms = view(*length_norms);
    if (removed) part.removed = view(*removed);
    if (live) part.live = view(*live);
    lists_.add(std::move(part), view(norms), frequencies ? view(*frequencies) : std::span<const double>());
    segments_.append(segment);
    if (removed) removed_.push_back(*removed);
    if (live) live_.push_back(*live);
    if (length_norms) length_norms_.push_back(*length_norms);
  }

  std::size_t slots() const { return lists_.slots(); }

  // How many impacts, and words of marks, are kept for terms that still exist.
  nb::tuple kept() const { return nb::make_tuple(lists_.kept_impacts(), lists_.kept_marks()); }

  // (ids, live holders, order) of terms: the ids of a term are one for each segment.
  nb::tuple find(const nb::list& terms) const {
    const std::vector<Text> texts = texts_of(terms);
    const std::size_t parts = lists_.parts().size();
    RawArray<std::int32_t> ids(texts.size() * parts);
    RawArray<std::int64_t> holders(texts.size());
    RawArray<std::uint64_t> orders(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      holders.data()[i] = lists_.find(texts[i].view(), ids.data() + i * parts);
      orders.data()[i] = lists_.order({ids.data() + i * parts, parts});
    }
    return nb::make_tuple(ids.take(), holders.take(), orders.take());
  }

  // Terms as `search` takes them; the ids are those of `find`.
  nb::list terms(InArray<std::int32_t> ids, InArray<double> gains, InArray<double> absent,
                 InArray<std::uint64_t> orders, InArray<std::int32_t> places) const {
    const std::size_t parts = lists_.parts().size(), count = gains.size();
    require(ids.size() == count * parts && absent.size() == count && orders.size() == count && places.size() == count,
            "every term must have ids, a gain, an absent share, an order and a place");
    nb::list found;
    for (std::size_t i = 0; i < count; ++i) {
      LiveTerm term{{}, gains.data()[i], absent.data()[i], orders.data()[i], places.data()[i]};
      require(term.gain >= 0 && term.gain < double{FLT_MAX}, "gains must be finite and not negative");
      require(term.absent >= 0 && std::isfinite(term.absent), "absent shares must be finite and not negative");
      for (std::size_t part = 0; part < parts; ++part) {
        term.ids.push_back(ids.data()[i * parts + part]);
        require(
            term.ids.back() >= -1 && term.ids.back() < static_cast<std::int64_t>(lists_.parts()[part].segment->terms()),
            "ids must be those of the segments' terms");
      }
      term.tables = lists_.tables();
      term.lists = lists_.number();
      found.append(nb::cast(std::move(term)));
    }
    return found;
  }

  // (items, scores, postings read) of one query: the shortest way.
  nb::tuple search_one(const nb::list& terms, const std::vector<float>& weights, std::size_t k,
                       const Allowed& allowed) {
    require(k > 0, "k must be above 0");
    const std::vector<const LiveTerm*> asked = terms_of(terms);
    const Masks masks = masks_of(allowed);
    ScratchPool<LiveSearcher>::Loan searcher(searchers_);
    std::span<const std::uint64_t> keys;
    {
      nb::gil_scoped_release unlocked;
      keys = searcher->search(lists_, {asked, weights, k, masks});
    }
    RawArray<std::int32_t> items(keys.size());
    RawArray<float> scores(keys.size());
    unpack(keys, items.data(), scores.data());
    return nb::make_tuple(items.take(), scores.take(), searcher->read());
  }

  // (slots that hold a term, whether these are all) of one query.
  nb::tuple count(const nb::list& terms, const std::vector<float>& weights, const Allowed& allowed, std::size_t up_to) {
    const std::vector<const LiveTerm*> asked = terms_of(terms);
    const Masks masks = masks_of(allowed);
    ScratchPool<LiveCounter>::Loan counter(counters_);
    LiveCounter::Count found{};
    {
      nb::gil_scoped_release unlocked;
      found = counter->count(lists_, {asked, weights, masks, up_to});
    }
    return nb::make_tuple(found.slots, found.exact);
  }

  // (offsets, items, scores, postings read) of many.
  nb::tuple search(const nb::list& terms, const std::vector<std::vector<float>>& weights, std::size_t k,
                   const Allowed& allowed, std::size_t threads) {
    require(k > 0, "k must be above 0");
    require(nb::len(terms) == weights.size(), "there must be weights for each query");
    std::vector<std::vector<const LiveTerm*>> asked;
    for (nb::handle row : terms) asked.push_back(terms_of(nb::cast<nb::list>(row)));
    const Masks masks = masks_of(allowed);
    std::vector<std::vector<std::uint64_t>> answers(weights.size());
    std::atomic<std::size_t> read{0};
    share(weights.size(), threads, [&](LiveSearcher& searcher, std::size_t row) {
      const auto keys = searcher.search(lists_, {asked[row], weights[row], k, masks});
      answers[row].assign(keys.begin(), keys.end());
      read += searcher.read();
    });
    RawArray<std::int64_t> offsets(answers.size() + 1);
    offsets.data()[0] = 0;
    for (std::size_t row = 0; row < answers.size(); ++row)
      offsets.data()[row + 1] = offsets.data()[row] + static_cast<std::int64_t>(answers[row].size());
    const auto total = static_cast<std::size_t>(offsets.data()[answers.size()]);
    RawArray<std::int32_t> items(total);
    RawArray<float> scores(total);
    for (std::size_t row = 0; row < answers.size(); ++row)
      unpack(answers[row], items.data() + offsets.data()[row], scores.data() + offsets.data()[row]);
    return nb::make_tuple(offsets.take(), items.take(), scores.take(), read.load());
  }

  // (scores, postings read) of given slots, row by row.
  nb::tuple score(const nb::list& terms, const std::vector<std::vector<float>>& weights,
                  InArray<std::int64_t> slot_offsets, InArray<std::int32_t> slots, std::size_t threads) {
    const auto rows = view(slot_offsets);
    const auto numbers = view(slots);
    require(nb::len(terms) == weights.size(), "there must be weights for each query");
    require(rows.size() == weights.size() + 1 && rows.front() == 0 && std::is_sorted(rows.begin(), rows.end()) &&
                static_cast<std::uint64_t>(rows.back()) == numbers.size(),
            "slot offsets must rise from 0 to the number of slots");
    for (const std::int32_t slot : numbers)
      require(slot >= 0 && static_cast<std::size_t>(slot) < lists_.slots(), "slots must be below the number of slots");
    std::vector<std::vector<const LiveTerm*>> asked;
    for (nb::handle row : terms) asked.push_back(terms_of(nb::cast<nb::list>(row)));
    RawArray<float> scores(numbers.size());
    const std::span<float> room(scores.data(), numbers.size());
    std::atomic<std::size_t> read{0};
    share(weights.size(), threads, [&](LiveSearcher& searcher, std::size_t row) {
      const auto begin = static_cast<std::size_t>(rows[row]), count = static_cast<std::size_t>(rows[row + 1]) - begin;
      searcher.score(lists_, asked[row], weights[row], numbers.subspan(begin, count), room.subspan(begin, count));
      read += searcher.read();
    });
    return nb::make_tuple(scores.take(), read.load());
  }

 private:
  using Masks = std::vector<std::span<const std::uint8_t>>;

  std::vector<const LiveTerm*> terms_of(const nb::list& terms) const {
    std::vector<const LiveTerm*> found;
    found.reserve(nb::len(terms));
    for (nb::handle term : terms) {
      found.push_back(&nb::cast<const LiveTerm&>(term));
      require(found.back()->ids.size() == lists_.parts().size(), "terms must be those of these segments");
      for (std::size_t part = 0; part < lists_.parts().size(); ++part)
        require(found.back()->ids[part] < static_cast<std::int64_t>(lists_.parts()[part].segment->terms()),
                "terms must be those of these segments");
    }
    return found;
  }

  Masks masks_of(const Allowed& allowed) const {
    Masks masks;
    if (!allowed) return masks;
    require(allowed->size() == lists_.parts().size(), "there must be bits for each segment");
    for (std::size_t i = 0; i < allowed->size(); ++i) {
      masks.push_back(view((*allowed)[i]));
      require(masks[i].size() == (lists_.parts()[i].segment->slots() + 7) / 8, "there must be a bit for each slot");
    }
    return masks;
  }

  template <class Work>
  void share(std::size_t count, std::size_t threads, const Work& work) {
    const Poll poll = signals_between(count);
    nb::gil_scoped_release unlocked;
    share_work(
        count, threads,
        [&] {
          return [&, searcher = std::make_shared<ScratchPool<LiveSearcher>::Loan>(searchers_)](std::size_t row) {
            work(**searcher, row);
          };
        },
        poll);
  }

  static void unpack(std::span<const std::uint64_t> keys, std::int32_t* items, float* scores) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      items[i] = static_cast<std::int32_t>(item_of(keys[i]));
      scores[i] = score_of(keys[i]);
    }
  }

  nb::list segments_;
  std::vector<InArray<std::int32_t>> removed_;
  std::vector<InArray<std::uint8_t>> live_;
  std::vector<InArray<float>> length_norms_;
  LiveLists lists_;
  ScratchPool<LiveSearcher> searchers_;
  ScratchPool<LiveCounter> counters_;
};

}  // namespace

void register_live_postings(nb::module_& module) {
  module.def("live_build", &live_build, nb::arg("offsets").noconvert(), nb::arg("terms").noconvert(),
             nb::arg("counts").noconvert(), nb::arg("languages").noconvert(), nb::arg("term_count"),
             "Rows of terms, as `ordered_rows` has them, as the arrays of a LiveSegment but for the terms' strings.");
  module.def("live_merge", &live_merge, nb::arg("segments"), nb::arg("kept"),
             "The arrays of one segment with the slots of some that are kept.");
  nb::class_<BoundSegment>(module, "LiveSegment")
      .def(nb::init<InArray<std::uint8_t>, InArray<std::int64_t>, InArray<std::uint32_t>, InArray<std::int64_t>,
                    InArray<std::int32_t>, InArray<std::uint16_t>, InArray<std::uint32_t>, InArray<std::uint32_t>,
                    InArray<std::uint32_t>, InArray<std::uint8_t>, InArray<std::uint32_t>, InArray<std::uint8_t>,
                    InArray<std::int64_t>, InArray<std::int32_t>, InArray<double>, std::optional<InArray<double>>>(),
           nb::arg("term_bytes").noconvert(), nb::arg("term_offsets").noconvert(), nb::arg("term_table").noconvert(),
           nb::arg("list_offsets").noconvert(), nb::arg("slots").noconvert(), nb::arg("codes").noconvert(),
           nb::arg("wide_codes").noconvert(), nb::arg("pair_counts").noconvert(), nb::arg("pair_lengths").noconvert(),
           nb::arg("pair_languages").noconvert(), nb::arg("lengths").noconvert(), nb::arg("languages").noconvert(),
           nb::arg("row_offsets").noconvert(), nb::arg("row_terms").noconvert(), nb::arg("norms").noconvert(),
           nb::arg("frequencies").noconvert().none() = nb::none())
      .def_prop_ro("slots", &BoundSegment::slots)
      .def_prop_ro("terms", &BoundSegment::terms)
      .def("count_terms", &BoundSegment::count_terms, nb::arg("slots").noconvert(), nb::arg("counts").noconvert(),
           "Adds 1 to the count of every term of these slots.")
      .def("check", &BoundSegment::check, "Raises unless all lists and rows are sound.");
  nb::class_<LiveTerm>(module, "LiveTerm");
  nb::class_<BoundLists>(module, "LiveLists")
      .def(nb::init<>())
      .def("add", &BoundLists::add, nb::arg("segment"), nb::arg("removed").noconvert().none(),
           nb::arg("live").noconvert().none(), nb::arg("stretch"), nb::arg("norms").noconvert(),
           nb::arg("length_norms").noconvert().none() = nb::none(),
           nb::arg("frequencies").noconvert().none() = nb::none())
      .def_prop_ro("slots", &BoundLists::slots)
      .def_prop_ro("kept", &BoundLists::kept,
                   "How many impacts, and words of marks, are kept for terms that still exist.")
      .def("find", &BoundLists::find, nb::arg("terms"),
           "Of each term its numbers in the segments, how many live slots hold it, and where they name it first.")
      .def("terms", &BoundLists::terms, nb::arg("ids").noconvert(), nb::arg("gains").noconvert(),
           nb::arg("absent").noconvert(), nb::arg("orders").noconvert(), nb::arg("places").noconvert())
      .def("search_one", &BoundLists::search_one, nb::arg("terms"), nb::arg("weights"), nb::arg("k"),
           nb::arg("allowed").none())
      .def("count", &BoundLists::count, nb::arg("terms"), nb::arg("weights"), nb::arg("allowed").none(),
           nb::arg("up_to"), "How many slots hold a term of the query; above `up_to` it may be a lower bound.")
      .def("search", &BoundLists::search, nb::arg("terms"), nb::arg("weights"), nb::arg("k"), nb::arg("allowed").none(),
           nb::arg("threads"))
      .def("score", &BoundLists::score, nb::arg("terms"), nb::arg("weights"), nb::arg("slot_offsets").noconvert(),
           nb::arg("slots").noconvert(), nb::arg("threads"));
}

}  // namespace vizsla
