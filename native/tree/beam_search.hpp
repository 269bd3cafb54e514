// Beam search through a tree model, and scores of given items (Eq. 8 and section 3.3 of the XR-Linear paper).
//
// Scores are kept as logarithms: a path's score is the sum of its nodes', no exp or pow is taken, and deep trees do not
// underflow. A child's margin is summed over the query's features in ascending order, in search and in scoring alike, so
// that both give the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/checks.hpp"
#include "common/topk.hpp"
#include "tree/chunked_layer.hpp"
#include "tree/short_row.hpp"

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
    require(bias.number >= 0 && bias.number < INT32_MAX && std::isfinite(bias.value), "the number of features must be below 2^31 - 1, the bias finite");
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
      for (std::size_t p = 0; p < layer.chunks(); ++p) {
        for (std::size_t i = 0; i < layer.child_count(p); ++i) parents[layer.first_child(p) + i] = static_cast<std::uint32_t>(p);
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
  void search(const SparseQuery& query, std::size_t k, std::size_t beam, const Reachable* allowed) {
    const std::size_t wanted = query.features.empty() ? 0 : std::min(k, allowed ? allowed->count() : model_->size());
    const std::size_t widest = model_->layers().back().chunks();
    found_.items.clear();
    found_.scores.clear();
    if (wanted == 0) return;
    take(query);
    while (descend<transform>(wanted, beam, allowed) < wanted && beam < widest) beam = std::min(widest, beam * 4);
    for (std::uint64_t key : best_.finish()) {
      found_.items.push_back(static_cast<std::int32_t>(item_of(key)));
      found_.scores.push_back(signed_score_of(key));
    }
  }

  // Scores of given items: neighbours in the tree share the chunks of their paths.
  template <Transform transform>
  void score(const SparseQuery& query, std::span<const std::int32_t> items, std::span<float> scores) {
    std::fill(scores.begin(), scores.end(), 0.0F);
    take(query);
    order_by_position(items);
    for (std::size_t t = 0; t < model_->layers().size(); ++t) {
      const ChunkedLayer& layer = model_->layers()[t];
      const std::vector<std::uint32_t>& parents = model_->parents(t);
      walk_up(items, t);
      visits_.clear();
      for (std::uint32_t i : order_) {
        if (visits_.empty() || visits_.back().chunk != parents[nodes_[i]]) visit(layer, parents[nodes_[i]], 0.0F);
      }
      find_margins(layer);
      std::size_t v = 0;
      for (std::uint32_t i : order_) {
        if (visits_[v].chunk != parents[nodes_[i]]) ++v;
        scores[i] += log_activation<transform>(margins_[visits_[v].begin + nodes_[i] - layer.first_child(visits_[v].chunk)]);
      }
    }
  }

  const BeamResult& result() const { return found_; }
  // How many weights were read since the last call.
  std::uint64_t take_entries() { return std::exchange(entries_, 0); }

 private:
  // A feature of the query, hashed once for all chunks.
  struct Feature {
    std::uint32_t number;
    std::uint32_t hash;
    float value;
  };

  // A node in the beam.
  struct Followed {
    std::uint32_t node;
    float score;
  };

  // A chunk to look into: its parent's score, how many children it has, and where their margins begin.
  struct Visit {
    std::uint32_t chunk;
    float score;
    std::size_t count;
    std::size_t begin;
    ChunkTable table;
  };

  struct Hit {
    Row row;
    float value;
    std::uint32_t visit;
  };

  // Memory answers after some twenty look-ups. A bucket is asked for that long before it is read, and so are a row's
  // entries: look-ups are one stream that never waits for a single line.
  static constexpr std::size_t buckets_ahead = 24;
  static constexpr std::size_t rows_ahead = 12;
  // So many chunks make a stream that is long enough, and not so long that it reads what turns out not to matter.
  static constexpr std::size_t chunks_at_once = 4;

  void take(const SparseQuery& query) {
    features_.clear();
    for (std::size_t i = 0; i < query.features.size(); ++i) take(query.features[i], query.values[i]);
    if (model_->bias().value != 0.0F) take(model_->bias().number, model_->bias().value);
  }

  void take(std::int32_t feature, float value) {
    const auto number = static_cast<std::uint32_t>(feature);
    features_.push_back({number, ChunkTable::hash(number), value});
  }

  // Returns how many items were met at the leaves.
  template <Transform transform>
  std::size_t descend(std::size_t wanted, std::size_t beam, const Reachable* allowed) {
    const std::size_t last = model_->layers().size() - 1;
    beam_.assign(1, {0, 0.0F});
    for (std::size_t t = 0; t < last; ++t) {
      best_.start(std::min(beam, model_->layers()[t].nodes()));
      expand<transform, false>(t, allowed);
      beam_.clear();
      for (std::uint64_t key : best_.finish()) beam_.push_back({item_of(key), signed_score_of(key)});
    }
    best_.start(wanted, 5 * wanted);
    return expand<transform, true>(last, allowed);
  }

  // Hands the beam's children to the top k. An activation is at most 1, so a child is no better than its parent: once
  // enough children are better than the next parent, the rest of the beam, which comes best first, is left unread.
  template <Transform transform, bool last>
  std::size_t expand(std::size_t t, const Reachable* allowed) {
    const ChunkedLayer& layer = model_->layers()[t];
    std::size_t reached = 0;
    for (std::size_t first = 0; first < beam_.size(); first += chunks_at_once) {
      if (transform != Transform::none && signed_ranking_key(beam_[first].score, 0) < best_.floor()) break;
      visits_.clear();
      for (std::size_t i = first; i < std::min(first + chunks_at_once, beam_.size()); ++i) visit(layer, beam_[i].node, beam_[i].score);
      find_margins(layer);
      for (const Visit& visited : visits_) reached += push<transform, last>(layer, t, visited, allowed);
      best_.settle();
    }
    return reached;
  }

  void visit(const ChunkedLayer& layer, std::uint32_t chunk, float score) {
    visits_.push_back({chunk, score, layer.child_count(chunk), 0, layer.table(chunk)});
  }

  // At the leaves keys name items, so that ties go by item number and not by position.
  template <Transform transform, bool last>
  std::size_t push(const ChunkedLayer& layer, std::size_t t, const Visit& visited, const Reachable* allowed) {
    const std::size_t first = layer.first_child(visited.chunk);
    const float* margins = margins_.data() + visited.begin;
    std::size_t reached = 0;
    for (std::size_t i = 0; i < visited.count; ++i) {
      if (allowed != nullptr && !allowed->leads(t, first + i)) continue;
      const auto name = static_cast<std::uint32_t>(last ? static_cast<std::size_t>(model_->items()[first + i]) : first + i);
      best_.push(signed_ranking_key(visited.score + log_activation<transform>(margins[i]), name));
      ++reached;
    }
    return reached;
  }

  // w·x of every child of the chunks to visit, features in ascending order.
  void find_margins(const ChunkedLayer& layer) {
    std::size_t total = 0;
    for (Visit& visited : visits_) {
      visited.begin = total;
      total += visited.count;
    }
    // A damaged file can name children that a chunk does not have: they must fall into memory that is ours.
    margins_.assign(total + ChunkedLayer::max_children, 0.0F);
    switch (layer.kind()) {
      case WeightKind::float32: return add_layer<float>(layer);
      case WeightKind::int16: return add_layer<std::int16_t>(layer);
      case WeightKind::int8: return add_layer<std::int8_t>(layer);
    }
  }

  template <class Weight>
  void add_layer(const ChunkedLayer& layer) {
    hits_.clear();
    const std::span<const Feature> features(features_);
    const std::span<const Visit> visits(visits_);
    std::size_t done = 0, ahead_visit = 0, ahead_feature = 0;
    const auto ask = [&] {
      if (ahead_visit == visits.size()) return;
      visits[ahead_visit].table.prefetch(features[ahead_feature].hash);
      if (++ahead_feature == features.size()) ahead_feature = 0, ++ahead_visit;
    };
    if (features.empty()) return;
    for (std::size_t i = 0; i < buckets_ahead; ++i) ask();
    for (std::uint32_t v = 0; v < visits.size(); ++v) {
      const ChunkTable table = visits[v].table;
      for (const Feature& feature : features) {
        ask();
        const Row row = table.find(feature.number, feature.hash);
        if (row.count == 0) continue;
        __builtin_prefetch(row.weights);
        __builtin_prefetch(row.weights + row.count * (sizeof(Weight) + 1) - 1);
        hits_.push_back({row, feature.value, v});
        if (hits_.size() > done + rows_ahead) add_row<Weight>(layer, hits_[done++]);
      }
    }
    while (done < hits_.size()) add_row<Weight>(layer, hits_[done++]);
  }

  template <class Weight>
  void add_row(const ChunkedLayer& layer, const Hit& hit) {
    const Visit& visited = visits_[hit.visit];
    const float value = std::is_same_v<Weight, float> ? hit.value : hit.value * layer.factor(visited.chunk);
    float* margins = margins_.data() + visited.begin;
    entries_ += hit.row.count;
    if (hit.row.count == visited.count) {  // Every child has the feature, as most have the bias: no look at who they are.
      for (std::size_t e = 0; e < hit.row.count; ++e) margins[e] += value * weight_at<Weight>(hit.row, e);
      return;
    }
    if (hit.row.count <= short_row) return add_short_row<Weight>(hit.row.weights, hit.row.count, value, margins);
    const std::uint8_t* children = hit.row.weights + hit.row.count * sizeof(Weight);
    for (std::size_t e = 0; e < hit.row.count; ++e) margins[children[e]] += value * weight_at<Weight>(hit.row, e);
  }

  template <class Weight>
  static float weight_at(const Row& row, std::size_t entry) {
    Weight weight;
    std::memcpy(&weight, row.weights + entry * sizeof weight, sizeof weight);
    return static_cast<float>(weight);
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
  std::vector<Feature> features_;
  std::vector<Followed> beam_;
  std::vector<Visit> visits_;
  std::vector<Hit> hits_;
  std::vector<float> margins_;
  TopK best_;
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> order_;
  BeamResult found_;
  std::uint64_t entries_ = 0;
};

}  // namespace vizsla
