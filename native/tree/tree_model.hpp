// A tree model: its layers, the item at each leaf position, and the way from an item up to the root.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/checks.hpp"
#include "tree/chunked_layer.hpp"

namespace vizsla {

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
    require(bias.number >= 0 && bias.number < INT32_MAX && std::isfinite(bias.value),
            "the number of features must be below 2^31 - 1, the bias finite");
    require(!layers_.empty() && layers_.front().chunks() == 1,
            "the first layer must have one chunk: the root's children");
    for (std::size_t t = 1; t < layers_.size(); ++t) {
      require(layers_[t].chunks() == layers_[t - 1].nodes(),
              "each node must have one chunk of children in the next layer");
    }
    require(layers_.back().nodes() == items_.size(), "there must be one item a leaf position");
    index_items();
  }

  std::size_t size() const { return items_.size(); }
  const std::vector<ChunkedLayer>& layers() const { return layers_; }
  std::span<const std::int32_t> items() const { return items_; }
  const BiasFeature& bias() const { return bias_; }
  // An item's leaf position, and that leaf's parent: adjacent in memory, since they are read together.
  struct Place {
    std::uint32_t leaf, parent;
  };

  const Place& place(std::int32_t item) const { return places_[static_cast<std::size_t>(item)]; }
  // Of each node of a layer: its parent, which is its chunk.
  const std::vector<std::uint32_t>& parents(std::size_t layer) const { return parents_[layer]; }

  // Of what is derived here: the ways from items to the root.
  std::size_t nbytes() const {
    std::size_t nodes = 0;
    for (const auto& parents : parents_) nodes += parents.size();
    return places_.size() * sizeof(Place) + nodes * sizeof(std::uint32_t);
  }

 private:
  void index_items() {
    places_.assign(items_.size(), {UINT32_MAX, 0});
    for (std::size_t p = 0; p < items_.size(); ++p) {
      const auto item = static_cast<std::size_t>(items_[p]);
      require(items_[p] >= 0 && item < items_.size() && places_[item].leaf == UINT32_MAX,
              "each item must have one leaf position");
      places_[item].leaf = static_cast<std::uint32_t>(p);
    }
    for (const ChunkedLayer& layer : layers_) {
      std::vector<std::uint32_t>& parents = parents_.emplace_back(layer.nodes());
      for (std::size_t p = 0; p < layer.chunks(); ++p) {
        for (std::size_t i = 0; i < layer.child_count(p); ++i)
          parents[layer.first_child(p) + i] = static_cast<std::uint32_t>(p);
      }
    }
    for (Place& place : places_) place.parent = parents_.back()[place.leaf];
  }

  std::vector<ChunkedLayer> layers_;
  std::span<const std::int32_t> items_;
  BiasFeature bias_;
  std::vector<Place> places_;  // by item
  std::vector<std::vector<std::uint32_t>> parents_;
};

}  // namespace vizsla
