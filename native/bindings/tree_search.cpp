// Building and searching tree models for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/cursor_source.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "common/scratch.hpp"
#include "common/threads.hpp"
#include "tree/beam_search.hpp"
#include "tree/layer_builder.hpp"
#include "tree/path_scores.hpp"
#include "tree/tree_cursor.hpp"

namespace vizsla {

namespace {

WeightKind kind_of(const std::string& name) {
  static const std::map<std::string, WeightKind> kinds{
      {"float32", WeightKind::float32}, {"int16", WeightKind::int16}, {"int8", WeightKind::int8}};
  const auto found = kinds.find(name);
  require(found != kinds.end(), "weights must be float32, int16 or int8");
  return found->second;
}

nb::tuple build_layer(InArray<std::int32_t> child_offsets, InArray<std::int64_t> offsets,
                      InArray<std::int32_t> features, InArray<float> values, const std::string& weights) {
  BuiltLayer built;
  {
    nb::gil_scoped_release unlocked;
    built = LayerBuilder(view(child_offsets), {view(offsets), view(features), view(values)}, kind_of(weights)).build();
  }
  return nb::make_tuple(to_numpy(std::move(built.bucket_offsets)), to_numpy(std::move(built.buckets)),
                        to_numpy(std::move(built.entry_offsets)), to_numpy(std::move(built.entries)),
                        to_numpy(std::move(built.factors)));
}

// Keeps a layer's arrays alive.
struct BoundLayer {
  InArray<std::int32_t> child_offsets;
  InArray<std::int64_t> bucket_offsets;
  InArray<std::uint32_t> buckets;
  InArray<std::int64_t> entry_offsets;
  InArray<std::uint8_t> entries;
  InArray<float> factors;

  LayerArrays arrays() const {
    return {view(child_offsets), view(bucket_offsets), view(buckets),
            view(entry_offsets), view(entries),        view(factors)};
  }
};

// A batch of queries as they come from Python, checked.
struct Queries {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> features;
  std::span<const float> values;

  void check(std::int32_t dim) const {
    require(!offsets.empty() && offsets.front() == 0, "query offsets must begin with 0");
    require(features.size() == values.size() && static_cast<std::uint64_t>(offsets.back()) == features.size(),
            "query offsets must end at the number of features");
    for (std::size_t i = 1; i < offsets.size(); ++i)
      require(offsets[i] >= offsets[i - 1], "query offsets must not decrease");
    for (std::int32_t feature : features)
      require(feature >= 0 && feature < dim, "query features must be numbers below dim");
    for (float value : values) require(std::isfinite(value), "query values must be finite");
  }

  std::size_t size() const { return offsets.size() - 1; }

  SparseQuery operator[](std::size_t row) const {
    const auto begin = static_cast<std::size_t>(offsets[row]);
    const auto count = static_cast<std::size_t>(offsets[row + 1]) - begin;
    return {features.subspan(begin, count), values.subspan(begin, count)};
  }
};

template <class Call>
void with_transform(Transform transform, const Call& call) {
  switch (transform) {
    case Transform::hinge1:
      return call.template operator()<Transform::hinge1>();
    case Transform::hinge2:
      return call.template operator()<Transform::hinge2>();
    case Transform::hinge3:
      return call.template operator()<Transform::hinge3>();
    case Transform::hinge4:
      return call.template operator()<Transform::hinge4>();
    case Transform::hinge5:
      return call.template operator()<Transform::hinge5>();
    case Transform::log_sigmoid:
      return call.template operator()<Transform::log_sigmoid>();
    case Transform::none:
      return call.template operator()<Transform::none>();
  }
}

Transform transform_of(const std::string& name) {
  static const std::map<std::string, Transform> transforms{
      {"l1-hinge", Transform::hinge1}, {"l2-hinge", Transform::hinge2}, {"l3-hinge", Transform::hinge3},
      {"l4-hinge", Transform::hinge4}, {"l5-hinge", Transform::hinge5}, {"sigmoid", Transform::log_sigmoid},
      {"none", Transform::none}};
  const auto found = transforms.find(name);
  require(found != transforms.end(), "unknown transform");
  return found->second;
}

// The answers to a batch. Each query writes to a place of its own, as many as it may find apart from the next one's;
// what was not used is closed up at the end.
class Found {
 public:
  Found(std::size_t queries, std::size_t most)
      : most_(most),
        offsets_(queries + 1, 0),
        ceilings_(queries),
        items_at_(items_.room(queries * most)),
        scores_at_(scores_.room(queries * most)) {}

  void put(std::size_t query, std::span<const std::uint64_t> keys, float ceiling) {
    ceilings_[query] = ceiling;
    const std::size_t count = std::min(keys.size(), most_);
    for (std::size_t i = 0; i < count; ++i) {
      items_at_[query * most_ + i] = static_cast<std::int32_t>(item_of(keys[i]));
      scores_at_[query * most_ + i] = signed_score_of(keys[i]);
    }
    offsets_[query + 1] = static_cast<std::int64_t>(count);
  }

  void close_up() {
    std::size_t end = 0;
    for (std::size_t query = 0; query + 1 < offsets_.size(); ++query) {
      const auto count = static_cast<std::size_t>(offsets_[query + 1]);
      if (end != query * most_ && count > 0) {
        std::memmove(items_at_ + end, items_at_ + query * most_, count * sizeof *items_at_);
        std::memmove(scores_at_ + end, scores_at_ + query * most_, count * sizeof *scores_at_);
      }
      end += count;
      offsets_[query + 1] = static_cast<std::int64_t>(end);
    }
    items_.take(end);
    scores_.take(end);
  }

  // Bytes for a few values, of which numpy.frombuffer makes an array at a third of the cost of an exported one.
  nb::tuple take(std::uint64_t entries, bool exact, std::size_t widened) {
    if (offsets_.size() <= few) {
      return nb::make_tuple(raw(offsets_), raw(items_), raw(scores_), raw(ceilings_), entries, exact, widened);
    }
    return nb::make_tuple(to_numpy(std::move(offsets_)), to_numpy(std::move(items_)), to_numpy(std::move(scores_)),
                          to_numpy(std::move(ceilings_)), entries, exact, widened);
  }

 private:
  static constexpr std::size_t few = 16;

  template <class Values>
  static nb::bytes raw(const Values& values) {
    return nb::bytes(values.data(), values.size() * sizeof *values.data());
  }

  std::size_t most_;
  std::vector<std::int64_t> offsets_;
  std::vector<float> ceilings_;
  GrowingArray<std::int32_t> items_;
  GrowingArray<float> scores_;
  std::int32_t* items_at_;
  float* scores_at_;
};

// What a tree derived from a filter. It knows by number whose it is, and does not keep the tree alive.
class BoundTreeFilter {
 public:
  BoundTreeFilter(std::uint64_t tree, const TreeModel& model, std::span<const std::uint8_t> allowed)
      : tree_(tree), filter_(std::make_unique<TreeFilter>(model, allowed)) {}

  std::uint64_t tree() const { return tree_; }
  TreeFilter& filter() { return *filter_; }
  std::size_t size() const { return filter_->allowed().items(); }
  std::size_t nbytes() const { return filter_->nbytes(); }

 private:
  std::uint64_t tree_;
  std::unique_ptr<TreeFilter> filter_;
};

// A tree with a call's queries, as a part of a sum. The tree must outlive it.
class TreeSource : public CursorSource {
 public:
  TreeSource(const TreeModel& model, Transform transform, LazyLeafRows& leaves, ScratchPool<TreeCursorScratch>& pool,
             InArray<std::int64_t> offsets, InArray<std::int32_t> features, InArray<float> values, std::size_t beam)
      : model_(model),
        transform_(transform),
        leaves_(leaves),
        pool_(pool),
        offsets_(offsets),
        features_(features),
        values_(values),
        beam_(beam) {}

  std::size_t rows() const override { return offsets_.size() - 1; }
  std::size_t items() const override { return model_.size(); }
  bool reads_along() const override { return false; }

  std::unique_ptr<SearchCursor> open(std::size_t k, const CursorUse& use) override {
    const SparseQueries queries{view(offsets_), view(features_), view(values_)};
    const TreeTask task(model_, k, beam_, nullptr, rows());
    std::unique_ptr<SearchCursor> part;
    with_transform(transform_, [&]<Transform transform>() {
      part = std::make_unique<TreeCursor<transform>>(model_, leaves_, pool_, queries, task, use);
    });
    return part;
  }

 private:
  const TreeModel& model_;
  Transform transform_;
  LazyLeafRows& leaves_;
  ScratchPool<TreeCursorScratch>& pool_;
  InArray<std::int64_t> offsets_;
  InArray<std::int32_t> features_;
  InArray<float> values_;
  std::size_t beam_;
};

class BoundTree {
 public:
  BoundTree(const nb::list& layers, InArray<std::int32_t> items, const std::string& weights,
            const std::string& transform, std::int32_t dim, float bias)
      : kept_(kept(layers)),
        items_(items),
        transform_(transform_of(transform)),
        model_(chunked(kind_of(weights)), view(items_), {dim, bias}) {}

  std::size_t size() const { return model_.size(); }

  // Bytes that are not in the given arrays: ways from items to the root, and the leaves by item once they are made.
  std::size_t derived_bytes() const {
    const LeafRows* made = leaves_.ready();
    return model_.nbytes() + (made ? made->nbytes() : 0);
  }

  BoundTreeFilter filter(InArray<std::uint8_t> allowed) const {
    require(allowed.size() == model_.size(), "allowed must have one entry an item");
    nb::gil_scoped_release unlocked;
    return {number_, model_, view(allowed)};
  }

  nb::tuple search(InArray<std::int64_t> offsets, InArray<std::int32_t> features, InArray<float> values, std::size_t k,
                   std::size_t beam, BoundTreeFilter* allowed, std::size_t threads) {
    const Queries queries{view(offsets), view(features), view(values)};
    queries.check(model_.bias().number);
    require(k > 0 && beam > 0 && threads > 0, "k, beam and threads must be above 0");
    require(allowed == nullptr || allowed->tree() == number_, "a filter must be of this very tree");
    const Poll poll = signals_between(queries.size());
    bool exact = false;
    std::atomic<bool> certain{true};
    std::atomic<std::size_t> widened{0};
    std::uint64_t entries = 0;
    std::optional<Found> found;
    {
      nb::gil_scoped_release unlocked;
      const TreeTask task(model_, k, beam, allowed ? &allowed->filter() : nullptr, queries.size());
      found.emplace(queries.size(), task.wanted);
      entries =
          share(beams_, queries.size(), threads, poll, [&]<Transform transform>(BeamSearcher& searcher, std::size_t q) {
            const auto keys = searcher.search<transform>(model_, leaves_, queries[q], task);
            found->put(q, keys, searcher.ceiling());
            if (!searcher.certain()) certain = false;
            if (searcher.widened()) ++widened;
          });
      found->close_up();
      exact = task.exact || (certain && queries.size() > 0);
    }
    return found->take(entries, exact, widened);
  }

  BoundSource source(InArray<std::int64_t> offsets, InArray<std::int32_t> features, InArray<float> values,
                     std::size_t beam) {
    Queries{view(offsets), view(features), view(values)}.check(model_.bias().number);
    require(beam > 0, "beam must be above 0");
    return {std::make_unique<TreeSource>(model_, transform_, leaves_, cursors_, offsets, features, values, beam)};
  }

  nb::tuple score(InArray<std::int64_t> offsets, InArray<std::int32_t> features, InArray<float> values,
                  InArray<std::int64_t> rows, InArray<std::int32_t> items, std::size_t threads) {
    const Queries queries{view(offsets), view(features), view(values)};
    queries.check(model_.bias().number);
    check_candidates(queries.size(), view(rows), view(items));
    require(threads > 0, "threads must be above 0");
    const Poll poll = signals_between(queries.size());
    RawArray<float> scores(items.size());
    const std::span<float> room(scores.data(), items.size());
    std::uint64_t entries = 0;
    {
      nb::gil_scoped_release unlocked;
      entries =
          share(scorers_, queries.size(), threads, poll, [&]<Transform transform>(PathScorer& scorer, std::size_t q) {
            const auto begin = static_cast<std::size_t>(view(rows)[q]);
            const auto count = static_cast<std::size_t>(view(rows)[q + 1]) - begin;
            scorer.score<transform>(model_, leaves_, queries[q], view(items).subspan(begin, count),
                                    room.subspan(begin, count));
          });
    }
    return nb::make_tuple(scores.take(), entries);
  }

 private:
  static std::vector<BoundLayer> kept(const nb::list& layers) {
    std::vector<BoundLayer> bound;
    for (nb::handle layer : layers) {
      const auto t = nb::cast<nb::tuple>(layer);
      require(t.size() == 6, "a layer is six arrays");
      bound.push_back({nb::cast<InArray<std::int32_t>>(t[0]), nb::cast<InArray<std::int64_t>>(t[1]),
                       nb::cast<InArray<std::uint32_t>>(t[2]), nb::cast<InArray<std::int64_t>>(t[3]),
                       nb::cast<InArray<std::uint8_t>>(t[4]), nb::cast<InArray<float>>(t[5])});
    }
    return bound;
  }

  std::vector<ChunkedLayer> chunked(WeightKind kind) const {
    std::vector<ChunkedLayer> layers;
    for (const BoundLayer& layer : kept_) layers.emplace_back(layer.arrays(), kind);
    return layers;
  }

  void check_candidates(std::size_t queries, std::span<const std::int64_t> rows,
                        std::span<const std::int32_t> items) const {
    require(rows.size() == queries + 1 && rows.front() == 0 && static_cast<std::uint64_t>(rows.back()) == items.size(),
            "candidates must have one row a query");
    for (std::size_t i = 1; i < rows.size(); ++i)
      require(rows[i] >= rows[i - 1], "candidate offsets must not decrease");
    for (std::int32_t item : items)
      require(item >= 0 && static_cast<std::size_t>(item) < model_.size(), "a candidate is not an item of this index");
  }

  // Calls with one thread's working memory and each query's number; returns how many weights were read.
  template <class Scratch, class Call>
  std::uint64_t share(ScratchPool<Scratch>& pool, std::size_t queries, std::size_t threads, const Poll& poll,
                      const Call& call) {
    std::atomic<std::uint64_t> entries{0};
    const auto make_worker = [&] {
      return [&, scratch = std::make_unique<typename ScratchPool<Scratch>::Loan>(pool)](std::size_t q) {
        with_transform(transform_, [&]<Transform transform>() { call.template operator()<transform>(**scratch, q); });
        entries += (*scratch)->take_entries();
      };
    };
    share_work(queries, threads, make_worker, poll);
    return entries;
  }

  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  std::vector<BoundLayer> kept_;
  InArray<std::int32_t> items_;
  Transform transform_;
  TreeModel model_;
  LazyLeafRows leaves_;
  ScratchPool<BeamSearcher> beams_;
  ScratchPool<PathScorer> scorers_;
  ScratchPool<TreeCursorScratch> cursors_;
  std::uint64_t number_ = next_number();
};

}  // namespace

void register_tree_search(nb::module_& module) {
  module.def("build_tree_layer", &build_layer, nb::arg("child_offsets"), nb::arg("offsets"), nb::arg("features"),
             nb::arg("values"), nb::arg("weights"),
             "The chunked layout of a layer: bucket offsets, buckets, entry offsets, entries, factors.");
  nb::class_<BoundTreeFilter>(module, "TreeFilter")
      .def("__len__", &BoundTreeFilter::size)
      .def_prop_ro("nbytes", &BoundTreeFilter::nbytes);
  nb::class_<BoundTree>(module, "Tree", nb::is_weak_referenceable())
      .def(nb::init<const nb::list&, InArray<std::int32_t>, const std::string&, const std::string&, std::int32_t,
                    float>(),
           nb::arg("layers"), nb::arg("items"), nb::arg("weights"), nb::arg("transform"), nb::arg("dim"),
           nb::arg("bias"))
      .def("__len__", &BoundTree::size)
      .def_prop_ro("derived_bytes", &BoundTree::derived_bytes)
      .def("filter", &BoundTree::filter, nb::arg("allowed"),
           "What search needs of a mask: made once, used for many queries.")
      .def("search", &BoundTree::search, nb::arg("offsets"), nb::arg("features"), nb::arg("values"), nb::arg("k"),
           nb::arg("beam"), nb::arg("allowed").none(), nb::arg("threads"))
      .def("source", &BoundTree::source, nb::arg("offsets"), nb::arg("features"), nb::arg("values"), nb::arg("beam"),
           nb::keep_alive<0, 1>(), "The tree with a call's queries, as a part of a CursorSum.")
      .def("score", &BoundTree::score, nb::arg("offsets"), nb::arg("features"), nb::arg("values"), nb::arg("rows"),
           nb::arg("items"), nb::arg("threads"));
}

}  // namespace vizsla
