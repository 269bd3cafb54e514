// Which nodes of a tree lead to an allowed item, layer by layer.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tree/tree_model.hpp"

namespace vizsla {

class AllowedNodes {
 public:
  AllowedNodes(const TreeModel& model, std::span<const std::uint8_t> allowed) {
    for (const ChunkedLayer& layer : model.layers()) layers_.push_back({std::vector<std::uint64_t>(layer.nodes() / 64 + 1, 0), 0});
    for (std::size_t p = 0; p < model.size(); ++p) {
      if (allowed[static_cast<std::size_t>(model.items()[p])] != 0) allow(layers_.size() - 1, p);
    }
    for (std::size_t t = layers_.size() - 1; t > 0; --t) {
      const ChunkedLayer& layer = model.layers()[t];
      for (std::size_t chunk = 0; chunk < layer.chunks(); ++chunk) {
        if (any(t, layer.first_child(chunk), layer.child_count(chunk))) allow(t - 1, chunk);
      }
    }
  }

  // How many nodes of a layer lead to an allowed item.
  std::size_t count(std::size_t layer) const { return layers_[layer].count; }
  std::size_t items() const { return layers_.back().count; }

  std::size_t nodes() const {
    std::size_t total = 0;
    for (const Layer& layer : layers_) total += layer.count;
    return total;
  }

  std::size_t nbytes() const {
    std::size_t total = 0;
    for (const Layer& layer : layers_) total += layer.bits.size() * sizeof(std::uint64_t);
    return total;
  }

  // Calls with the number of each such node among `count` from `first` on, ascending. Only those are looked at: nothing
  // depends on guessing whether the next node is one.
  template <class Call>
  void for_each(std::size_t layer, std::size_t first, std::size_t count, const Call& call) const {
    const std::size_t end = first + count;
    for (std::size_t at = first; at < end; at = at / 64 * 64 + 64) {
      for (std::uint64_t bits = word(layer, at, end); bits != 0; bits &= bits - 1) {
        call(at / 64 * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }

 private:
  struct Layer {
    std::vector<std::uint64_t> bits;
    std::size_t count;
  };

  void allow(std::size_t layer, std::size_t node) {
    layers_[layer].bits[node / 64] |= std::uint64_t{1} << node % 64;
    ++layers_[layer].count;
  }

  bool any(std::size_t layer, std::size_t first, std::size_t count) const {
    bool found = false;
    for_each(layer, first, count, [&](std::size_t) { found = true; });
    return found;
  }

  // The bits of the word that holds `at`, from `at` to `end`.
  std::uint64_t word(std::size_t layer, std::size_t at, std::size_t end) const {
    const std::uint64_t from = ~std::uint64_t{0} << at % 64;
    const std::size_t left = end - at / 64 * 64;
    const std::uint64_t below = left < 64 ? (std::uint64_t{1} << left) - 1 : ~std::uint64_t{0};
    return layers_[layer].bits[at / 64] & from & below;
  }

  std::vector<Layer> layers_;
};

}  // namespace vizsla
