// Beam search through a tree model, and prices of given items (Eq. 8 and section 3.3 of the XR-Linear paper).
//
// Scores are kept as logarithms: a path's score is the sum of its nodes', no exp or pow is taken, and deep trees do not
// underflow. A child's margin is summed over the query's features in ascending order, in search and in pricing alike, so
// that both give the same bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "common/checks.hpp"
#include "tree/chunked_layer.hpp"

namespace vizsla {

enum class Transform { hinge1, hinge2, hinge3, hinge4, hinge5, log_sigmoid, none };

// The logarithm of the activation.
template <Transform transform>
inline float log_activation(float margin) {
  if constexpr (transform == Transform::none) {
    return margin;
  } else if constexpr (transform == Transform::log_sigmoid) {
    return margin >= 0 ? -std::log1p(std::exp(-margin)) : margin - std::log1p(std::exp(margin));
  } else {
    const float gap = margin < 1.0F ? 1.0F - margin : 0.0F;
    float power = gap;
    for (int i = 0; i < static_cast<int>(transform); ++i) power *= gap;  // hinge1 … hinge5 are numbered 0 … 4
    return -power;
  }
}

// Any float's bits, turned so that integers order as the floats do.
inline std::uint32_t ordered_bits(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

inline float from_ordered_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits & 0x80000000U ? bits & 0x7FFFFFFFU : ~bits);
}

// One number that orders by score, then by lower node.
inline std::uint64_t beam_key(float score, std::uint32_t node) {
  return std::uint64_t{ordered_bits(score)} << 32 | (UINT32_MAX - node);
}

struct SparseQuery {
  std::span<const std::int32_t> features;  // ascending
  std::span<const float> values;
};

// The feature that every query has besides its own: its number is above all others'. A value of 0 is none.
struct BiasFeature {
  std::int32_t number;
  float value;
};

class TreeModel {
 public:
  TreeModel(std::vector<ChunkedLayer> layers, std::span<const std::int32_t> items, BiasFeature bias)
      : layers_(std::move(layers)), items_(items), bias_(bias) {
    require(bias.number >= 0 && std::isfinite(bias.value), "the number of features must not be negative, the bias finite");
    require(!layers_.empty() && layers_.front().chunks() == 1, "the first layer must have one chunk: the root's children");
    for (std::size_t t = 1; t < layers_.size(); ++t) {
      require(layers_[t].chunks() == layers_[t - 1].nodes(), "each node must have one chunk of children in the next layer");
    }
    require(layers_.back().nodes() == items_.size(), "there must be one item a leaf position");
    index_items();
  }

  std::size_t size() const { return items_.size(); }
  const std::vector<ChunkedLayer>& layers() const { return layers_; }
  std::span<const std::int32_t> items() const { return items_; }
  const BiasFeature& bias() const { return bias_; }
  // Of each item: its leaf position.
  const std::vector<std::uint32_t>& positions() const { return positions_; }
  // Of each node of a layer: its parent, which is its chunk.
  const std::vector<std::uint32_t>& parents(std::size_t layer) const { return parents_[layer]; }

 private:
  void index_items() {
    positions_.assign(items_.size(), UINT32_MAX);
    for (std::size_t p = 0; p < items_.size(); ++p) {
      const auto item = static_cast<std::size_t>(items_[p]);
      require(items_[p] >= 0 && item < items_.size() && positions_[item] == UINT32_MAX, "each item must have one leaf position");
      positions_[item] = static_cast<std::uint32_t>(p);
    }
    for (const ChunkedLayer& layer : layers_) {
      std::vector<std::uint32_t>& parents = parents_.emplace_back(layer.nodes());
      for (std::size_t chunk = 0; chunk < layer.chunks(); ++chunk) {
        for (std::size_t i = 0; i < layer.child_count(chunk); ++i) parents[layer.first_child(chunk) + i] = static_cast<std::uint32_t>(chunk);
      }
    }
  }

  std::vector<ChunkedLayer> layers_;
  std::span<const std::int32_t> items_;
  BiasFeature bias_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::vector<std::uint32_t>> parents_;
};

// Which nodes lead to an allowed item, layer by layer.
class Reachable {
 public:
  Reachable(const TreeModel& model, std::span<const std::uint8_t> allowed) {
    const auto& layers = model.layers();
    nodes_.resize(layers.size());
    std::vector<std::uint8_t>& leaves = nodes_.back();
    leaves.resize(model.size());
    for (std::size_t p = 0; p < leaves.size(); ++p) {
      leaves[p] = allowed[static_cast<std::size_t>(model.items()[p])] != 0;
      count_ += leaves[p];
    }
    for (std::size_t t = layers.size() - 1; t > 0; --t) {
      nodes_[t - 1].assign(layers[t - 1].nodes(), 0);
      for (std::size_t n = 0; n < layers[t].nodes(); ++n) nodes_[t - 1][model.parents(t)[n]] |= nodes_[t][n];
    }
  }

  bool leads(std::size_t layer, std::size_t node) const { return nodes_[layer][node] != 0; }
  std::size_t count() const { return count_; }

 private:
  std::vector<std::vector<std::uint8_t>> nodes_;
  std::size_t count_ = 0;
};

struct BeamResult {
  std::vector<std::int32_t> items;
  std::vector<float> scores;
};

// One thread's search: its buffers are reused from query to query.
class BeamSearcher {
 public:
  explicit BeamSearcher(const TreeModel& model) : model_(&model) {}

  // The best k items. When the beam's leaves hold fewer than k that are allowed, the search is repeated with a wider one.
  // A query without features says nothing: it finds nothing.
  template <Transform transform>
  void search(const SparseQuery& asked, std::size_t k, std::size_t beam, const Reachable* allowed) {
    keys_.clear();
    const std::size_t wanted = std::min(k, allowed ? allowed->count() : model_->size());
    if (wanted == 0 || asked.features.empty()) return finish();
    const SparseQuery query = prepared(asked);
    const std::size_t widest = model_->layers().back().chunks();
    for (;; beam = std::min(widest, beam * 4)) {
      descend<transform>(query, wanted, beam, allowed);
      if (keys_.size() >= wanted || beam >= widest) break;
    }
    finish();
  }

  // Prices of given items: neighbours in the tree share the chunks of their paths.
  template <Transform transform>
  void price(const SparseQuery& asked, std::span<const std::int32_t> items, std::span<float> scores) {
    const SparseQuery query = prepared(asked);
    std::fill(scores.begin(), scores.end(), 0.0F);
    order_by_position(items);
    for (std::size_t t = 0; t < model_->layers().size(); ++t) {
      const ChunkedLayer& layer = model_->layers()[t];
      walk_up(items, t);
      std::size_t computed = SIZE_MAX;
      for (std::uint32_t i : order_) {
        const std::size_t chunk = model_->parents(t)[nodes_[i]];
        if (chunk != computed) margins(layer, computed = chunk, query);
        scores[i] += log_activation<transform>(margins_[nodes_[i] - layer.first_child(chunk)]);
      }
    }
  }

  const BeamResult& result() const { return found_; }
  // How many weights were read since the last call.
  std::uint64_t take_entries() { return std::exchange(entries_, 0); }

 private:
  struct Hit {
    Row row;
    float value;
  };

  // The query with the feature that all have, and the hashes of its features.
  SparseQuery prepared(const SparseQuery& query) {
    features_.assign(query.features.begin(), query.features.end());
    values_.assign(query.values.begin(), query.values.end());
    if (model_->bias().value != 0.0F) {
      features_.push_back(model_->bias().number);
      values_.push_back(model_->bias().value);
    }
    hashes_.clear();
    for (std::int32_t feature : features_) hashes_.push_back(ChunkedLayer::mix(static_cast<std::uint32_t>(feature)));
    return {features_, values_};
  }

  template <Transform transform>
  void descend(const SparseQuery& query, std::size_t wanted, std::size_t beam, const Reachable* allowed) {
    const std::size_t last = model_->layers().size() - 1;
    frontier_.assign(1, beam_key(0.0F, 0));
    for (std::size_t t = 0; t < last; ++t) {
      expand<transform, false>(query, t, beam, allowed);
      std::sort(keys_.begin(), keys_.end(), std::greater<>());
      frontier_.swap(keys_);
    }
    expand<transform, true>(query, last, wanted, allowed);
  }

  // The best `limit` children of the frontier. An activation is at most 1, so a child is no better than its parent: once
  // `limit` children are better than the next parent, the rest of the frontier, which is sorted, can be left unread.
  template <Transform transform, bool last>
  void expand(const SparseQuery& query, std::size_t t, std::size_t limit, const Reachable* allowed) {
    const ChunkedLayer& layer = model_->layers()[t];
    keys_.clear();
    floor_ = 0;
    prefetch_chunk(layer, 0);
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
      if (transform != Transform::none && (frontier_[i] | UINT32_MAX) < floor_) break;
      prefetch_chunk(layer, i + 1);
      const std::uint32_t chunk = UINT32_MAX - static_cast<std::uint32_t>(frontier_[i]);
      const float base = from_ordered_bits(static_cast<std::uint32_t>(frontier_[i] >> 32));
      margins(layer, chunk, query);
      push_children<transform, last>(layer, t, chunk, base, allowed);
      if (keys_.size() >= limit) keep(limit);
    }
  }

  void prefetch_chunk(const ChunkedLayer& layer, std::size_t i) {
    if (i >= frontier_.size()) return;
    const std::uint32_t chunk = UINT32_MAX - static_cast<std::uint32_t>(frontier_[i]);
    layer.prefetch(chunk, hashes_);
  }

  // At the leaves keys name items, so that ties go by item number and not by position.
  template <Transform transform, bool last>
  void push_children(const ChunkedLayer& layer, std::size_t t, std::size_t chunk, float base, const Reachable* allowed) {
    const std::size_t first = layer.first_child(chunk), count = layer.child_count(chunk), before = keys_.size();
    keys_.resize(before + count);
    std::uint64_t* next = keys_.data() + before;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t node = first + i;
      const auto name = static_cast<std::uint32_t>(last ? static_cast<std::size_t>(model_->items()[node]) : node);
      const std::uint64_t key = beam_key(base + log_activation<transform>(margins_[i]), name);
      *next = key;
      next += key >= floor_ && (allowed == nullptr || allowed->leads(t, node));
    }
    keys_.resize(static_cast<std::size_t>(next - keys_.data()));
  }

  // w·x of every child of a chunk.
  void margins(const ChunkedLayer& layer, std::size_t chunk, const SparseQuery& query) {
    std::fill_n(margins_, layer.child_count(chunk), 0.0F);
    hits_.clear();
    for (std::size_t i = 0; i < query.features.size(); ++i) {
      const Row row = layer.find(chunk, static_cast<std::uint32_t>(query.features[i]), hashes_[i]);
      if (row.count == 0) continue;
      hits_.push_back({row, query.values[i]});
      __builtin_prefetch(layer.children(chunk) + row.begin);
      if (layer.kind() == WeightKind::float32) __builtin_prefetch(layer.weights<float>(chunk) + row.begin);
    }
    switch (layer.kind()) {
      case WeightKind::float32: return add_rows<float>(layer, chunk, 1.0F);
      case WeightKind::int16: return add_rows<std::int16_t>(layer, chunk, layer.factor(chunk));
      case WeightKind::int8: return add_rows<std::int8_t>(layer, chunk, layer.factor(chunk));
    }
  }

  template <class Weight>
  void add_rows(const ChunkedLayer& layer, std::size_t chunk, float factor) {
    const std::uint8_t* children = layer.children(chunk);
    const Weight* weights = layer.weights<Weight>(chunk);
    const std::size_t all = layer.child_count(chunk);
    for (const Hit& hit : hits_) {
      const float value = hit.value * factor;
      const Weight* row = weights + hit.row.begin;
      entries_ += hit.row.count;
      if (hit.row.count == all) {  // Every child has the feature, as most have the bias: no look at who they are.
        for (std::size_t i = 0; i < all; ++i) margins_[i] += value * static_cast<float>(row[i]);
        continue;
      }
      const std::uint8_t* child = children + hit.row.begin;
      for (std::size_t i = 0; i < hit.row.count; ++i) margins_[child[i]] += value * static_cast<float>(row[i]);
    }
  }

  void keep(std::size_t count) {
    std::nth_element(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(count - 1), keys_.end(), std::greater<>());
    keys_.resize(count);
    floor_ = keys_.back();
  }

  void finish() {
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    found_.items.clear();
    found_.scores.clear();
    for (std::uint64_t key : keys_) {
      found_.items.push_back(static_cast<std::int32_t>(UINT32_MAX - static_cast<std::uint32_t>(key)));
      found_.scores.push_back(from_ordered_bits(static_cast<std::uint32_t>(key >> 32)));
    }
  }

  // The node of each item's path in a layer, by walking up from its leaf position.
  void walk_up(std::span<const std::int32_t> items, std::size_t layer) {
    nodes_.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      std::uint32_t node = model_->positions()[static_cast<std::size_t>(items[i])];
      for (std::size_t t = model_->layers().size() - 1; t > layer; --t) node = model_->parents(t)[node];
      nodes_[i] = node;
    }
  }

  void order_by_position(std::span<const std::int32_t> items) {
    order_.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
    const auto& positions = model_->positions();
    const auto position = [&](std::uint32_t i) { return positions[static_cast<std::size_t>(items[i])]; };
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) { return position(a) < position(b); });
  }

  const TreeModel* model_;
  std::vector<std::int32_t> features_;
  std::vector<float> values_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::uint64_t> frontier_;
  std::vector<std::uint64_t> keys_;
  std::vector<Hit> hits_;
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> order_;
  alignas(64) float margins_[ChunkedLayer::max_children] = {};
  BeamResult found_;
  std::uint64_t entries_ = 0;
  std::uint64_t floor_ = 0;  // no key below it can matter any more
};

}  // namespace vizsla
