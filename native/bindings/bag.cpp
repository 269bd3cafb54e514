// Bag-of-tokens indexes for Python.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/ranked_rows.hpp"
#include "bindings/register.hpp"
#include "common/scratch.hpp"
#include "common/threads.hpp"
#include "postings/bag_build.hpp"
#include "postings/bag_search.hpp"

namespace vizsla {

namespace {

using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Checked once, and shared by every index that it is part of.
class BagSegment {
 public:
  BagSegment(InArray<std::int32_t> items, InArray<std::int64_t> token_offsets, InArray<std::int64_t> data_offsets,
             InArray<std::int32_t> tokens, InArray<std::uint32_t> starts, InArray<std::uint16_t> data,
             std::size_t token_count)
      : items_(items),
        token_offsets_(token_offsets),
        data_offsets_(data_offsets),
        tokens_(tokens),
        starts_(starts),
        data_(data),
        token_count_(token_count) {
    require(token_count <= INT32_MAX, "there must be fewer than 2^31 tokens");
    blocks_.add({view(items_), view(token_offsets_), view(data_offsets_), view(tokens_), view(starts_), view(data_)},
                token_count);
  }

  std::size_t items() const { return blocks_.items(); }
  std::size_t postings() const { return blocks_.postings(); }
  std::size_t token_count() const { return token_count_; }
  const BagBlocks& blocks() const { return blocks_; }

  // (offsets, tokens) of all items, tokens ascending.
  nb::tuple rows() const {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> tokens;
    {
      nb::gil_scoped_release unlocked;
      for (const BagBlocks::Block& block : blocks_.blocks()) unbuild(block, offsets, tokens);
    }
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(tokens)));
  }

 private:
  InArray<std::int32_t> items_;
  InArray<std::int64_t> token_offsets_, data_offsets_;
  InArray<std::int32_t> tokens_;
  InArray<std::uint32_t> starts_;
  InArray<std::uint16_t> data_;
  std::size_t token_count_;
  BagBlocks blocks_;
};

class BagLists {
 public:
  // Segments one after another, with a norm for each item, which its sums are multiplied by.
  BagLists(const nb::list& segments, InArray<float> norms, std::size_t token_count)
      : norms_(norms), token_count_(token_count) {
    for (nb::handle segment : segments) add(nb::cast<const BagSegment&>(segment), segment);
    require(norms_.size() == items_, "there must be a norm for each item");
    for (const float norm : view(norms_))
      require(norm > 0 && norm <= 1e6F, "norms must be above 0 and at most 1,000,000");
    for (const BagBlocks::Block& block : blocks_)
      largest_.push_back(*std::max_element(norms_.data() + block.first, norms_.data() + block.first + block.items));
  }

  std::size_t items() const { return items_; }
  std::size_t postings() const { return postings_; }

  // (offsets, items, scores, postings read)
  nb::tuple search(InArray<std::int64_t> offsets, InArray<std::int32_t> tokens, InArray<float> weights, std::size_t k,
                   std::optional<Mask> allowed, std::size_t threads) {
    const auto rows = view(offsets);
    check_offsets(rows, tokens.size());
    require(tokens.size() == weights.size(), "there must be a weight for each query token");
    require(k > 0, "k must be above 0");
    if (allowed) require(allowed->size() == items_, "`allowed` must have a flag for each item");
    std::span<const std::uint8_t> mask;
    if (allowed) mask = {reinterpret_cast<const std::uint8_t*>(allowed->data()), allowed->size()};
    std::vector<std::vector<std::uint64_t>> answers(rows.size() - 1);
    std::atomic<std::size_t> read{0};
    share(answers.size(), threads, [&](BagSearcher& searcher, std::size_t row) {
      const Row query(rows, row);
      const auto keys = searcher.search(whole(), {query.of(view(tokens)), query.of(view(weights)), k, mask});
      answers[row].assign(keys.begin(), keys.end());
      read += searcher.read();
    });
    RankedRows found;
    for (const auto& keys : answers) add_row(found, keys);
    return nb::make_tuple(to_bytes(found.offsets), to_bytes(found.items), to_bytes(found.scores), read.load());
  }

  // (scores, postings read) of given items, row by row.
  nb::tuple score(InArray<std::int64_t> offsets, InArray<std::int32_t> tokens, InArray<float> weights,
                  InArray<std::int64_t> item_offsets, InArray<std::int32_t> items, std::size_t threads) {
    const auto rows = view(offsets), item_rows = view(item_offsets);
    check_offsets(rows, tokens.size());
    check_offsets(item_rows, items.size());
    require(tokens.size() == weights.size(), "there must be a weight for each query token");
    require(rows.size() == item_rows.size(), "there must be a row of items for each query");
    for (const std::int32_t item : view(items))
      require(item >= 0 && static_cast<std::size_t>(item) < items_, "items must be below the number of items");
    RawArray<float> scores(items.size());
    const std::span<float> room(scores.data(), items.size());
    std::atomic<std::size_t> read{0};
    share(rows.size() - 1, threads, [&](BagSearcher& searcher, std::size_t row) {
      const Row query(rows, row), wanted(item_rows, row);
      searcher.score(whole(), query.of(view(tokens)), query.of(view(weights)), wanted.of(view(items)),
                     room.subspan(wanted.begin, wanted.count));
      read += searcher.read();
    });
    return nb::make_tuple(scores.take(), read.load());
  }

 private:
  struct Row {
    std::size_t begin, count;
    Row(std::span<const std::int64_t> offsets, std::size_t row)
        : begin(static_cast<std::size_t>(offsets[row])), count(static_cast<std::size_t>(offsets[row + 1]) - begin) {}
    template <class T>
    std::span<const T> of(std::span<const T> values) const {
      return values.subspan(begin, count);
    }
  };

  void add(const BagSegment& segment, nb::handle owner) {
    require(segment.token_count() <= token_count_, "segments must not have more tokens than the index");
    kept_.append(owner);
    for (BagBlocks::Block block : segment.blocks().blocks()) {
      block.first += items_;
      blocks_.push_back(block);
    }
    items_ += segment.items();
    postings_ += segment.postings();
    require(items_ <= INT32_MAX, "an index holds fewer than 2^31 items");
  }

  BagView whole() const { return {blocks_, view(norms_), largest_, items_, token_count_}; }

  static void add_row(RankedRows& found, const std::vector<std::uint64_t>& keys) {
    for (const std::uint64_t key : keys) {
      found.items.push_back(static_cast<std::int32_t>(item_of(key)));
      found.scores.push_back(score_of(key));
    }
    found.offsets.push_back(static_cast<std::int64_t>(found.items.size()));
  }

  // Works without the GIL, but looks up every now and then whether Ctrl-C was pressed.
  template <class Work>
  void share(std::size_t count, std::size_t threads, const Work& work) {
    const Poll poll = signals_between(count);
    nb::gil_scoped_release unlocked;
    share_work(
        count, threads,
        [&] {
          return [&, searcher = std::make_shared<ScratchPool<BagSearcher>::Loan>(searchers_)](std::size_t row) {
            work(**searcher, row);
          };
        },
        poll);
  }

  nb::list kept_;
  InArray<float> norms_;
  std::size_t token_count_, items_ = 0, postings_ = 0;
  std::vector<BagBlocks::Block> blocks_;
  std::vector<float> largest_;
  ScratchPool<BagSearcher> searchers_;
};

// (items, token_offsets, data_offsets, tokens, starts, data): what a BagSegment is made of.
nb::tuple bag_build(InArray<std::int64_t> offsets, InArray<std::int32_t> tokens, std::size_t token_count) {
  require(token_count <= INT32_MAX, "there must be fewer than 2^31 tokens");
  BuiltBlocks built;
  const Poll poll = python_signals();
  {
    nb::gil_scoped_release unlocked;
    built = BagBuild(token_count).build(view(offsets), view(tokens), poll);
  }
  return nb::make_tuple(to_numpy(std::move(built.items)), to_numpy(std::move(built.token_offsets)),
                        to_numpy(std::move(built.data_offsets)), to_numpy(std::move(built.tokens)),
                        to_numpy(std::move(built.starts)), to_numpy(std::move(built.data)));
}

}  // namespace

void register_bag(nb::module_& module) {
  module.def("bag_build", &bag_build, nb::arg("offsets").noconvert(), nb::arg("tokens").noconvert(),
             nb::arg("token_count"), "Rows of distinct tokens as the arrays of a BagSegment.");
  nb::class_<BagSegment>(module, "BagSegment")
      .def(nb::init<InArray<std::int32_t>, InArray<std::int64_t>, InArray<std::int64_t>, InArray<std::int32_t>,
                    InArray<std::uint32_t>, InArray<std::uint16_t>, std::size_t>(),
           nb::arg("items").noconvert(), nb::arg("token_offsets").noconvert(), nb::arg("data_offsets").noconvert(),
           nb::arg("tokens").noconvert(), nb::arg("starts").noconvert(), nb::arg("data").noconvert(),
           nb::arg("token_count"))
      .def_prop_ro("items", &BagSegment::items)
      .def_prop_ro("postings", &BagSegment::postings)
      .def("rows", &BagSegment::rows, "Offsets and tokens of all items, tokens ascending.");
  nb::class_<BagLists>(module, "BagLists")
      .def(nb::init<const nb::list&, InArray<float>, std::size_t>(), nb::arg("segments"), nb::arg("norms").noconvert(),
           nb::arg("token_count"))
      .def_prop_ro("items", &BagLists::items)
      .def_prop_ro("postings", &BagLists::postings)
      .def("search", &BagLists::search, nb::arg("offsets").noconvert(), nb::arg("tokens").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("k"), nb::arg("allowed").noconvert().none(), nb::arg("threads"))
      .def("score", &BagLists::score, nb::arg("offsets").noconvert(), nb::arg("tokens").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("item_offsets").noconvert(), nb::arg("items").noconvert(),
           nb::arg("threads"));
}

}  // namespace vizsla
