// A filter as a tree wants it: which nodes lead to allowed items, how wide a beam must be, and from where on all that
// is allowed is scored instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "tree/allowed_nodes.hpp"
#include "tree/filtered_tree.hpp"
#include "tree/lazy_build.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

class TreeFilter {
 public:
  TreeFilter(const TreeModel& model, std::span<const std::uint8_t> allowed)
      : allowed_(model, allowed), layers_(model.layers().size()), filtered_from_(layers_) {
    const auto is_narrow = [&](std::size_t t) { return few * allowed_.count(t) <= model.layers()[t].nodes(); };
    while (filtered_from_ > 0 && is_narrow(filtered_from_ - 1)) --filtered_from_;
  }

  const AllowedNodes& allowed() const { return allowed_; }

  // How many nodes of a layer to follow so that most often enough items are met below them. Where a lower layer's beam
  // is wide, those above it are widened too, within limits: the best of many are not found below the best few.
  std::size_t width(std::size_t layer, std::size_t wanted, std::size_t beam) const {
    const std::size_t items = allowed_.items();
    std::size_t width = beam;
    for (std::size_t t = layers_ - 1; t-- > layer;) {
      const std::size_t nodes = allowed_.count(t), even = (wanted * nodes + items - 1) / items;
      const std::size_t ample = (slack * wanted * nodes + items - 1) / items;
      const std::size_t enough = std::max(even + even / 4, std::min(ample, most_beams * beam));
      width = std::max({beam, std::min(nodes, enough), std::min(width, with_lower * beam)});
    }
    return width;
  }

  // The first layer of which all is scored that lies below what is followed, because a beam would cost more; the number
  // of layers if there is none. It depends on what is asked, not on what was asked before: answers do not change with
  // use.
  std::size_t filtered_from(std::size_t wanted, std::size_t beam) const {
    std::size_t nodes = 0, visits = 0;
    for (std::size_t t = filtered_from_; t < layers_; ++t) {
      nodes += allowed_.count(t);
      visits += t == 0 ? 1 : std::min(allowed_.count(t - 1), width(t - 1, wanted, beam));
    }
    return nodes <= nodes_a_visit * visits ? filtered_from_ : layers_;
  }

  // Whether no node above those layers is left out.
  bool follows_all(std::size_t from, std::size_t wanted, std::size_t beam) const {
    for (std::size_t t = 0; t + 1 < from; ++t) {
      if (width(t, wanted, beam) < allowed_.count(t)) return false;
    }
    return true;
  }

  // Whether one of the layers from here on, that of the items left out, has more nodes to follow than the beam.
  bool is_wider(std::size_t from, std::size_t beam) const {
    for (std::size_t t = from; t + 1 < layers_; ++t) {
      if (allowed_.count(t) > beam) return true;
    }
    return false;
  }

  // The filtered layers, once they were asked for so often that making them pays; until then nothing, and items are
  // scored by their paths, to the same bits.
  const FilteredTree* filtered_tree(const TreeModel& model, std::size_t queries) {
    return filtered_tree_.get(queries, patience, [&] { return FilteredTree(model, allowed_, filtered_from_); });
  }

  std::size_t nbytes() const {
    const FilteredTree* made = filtered_tree_.ready();
    return allowed_.nbytes() + (made ? made->nbytes() : 0);
  }

 private:
  static constexpr std::size_t few = 8;    // a layer is narrow if one of so many nodes is left: it is small, then
  static constexpr std::size_t slack = 2;  // a beam is so many times as wide as it need be if items were spread evenly,
  static constexpr std::size_t most_beams = 3;  // unless that is more than so many beams: then a quarter wider must do
  static constexpr std::size_t with_lower = 2;  // so many beams at most, for the sake of wide layers below
  static constexpr std::size_t nodes_a_visit =
      80;                                      // so many nodes of a filtered tree cost as much as a chunk of a beam
  static constexpr std::size_t patience = 64;  // queries after which a filtered tree has paid for itself

  AllowedNodes allowed_;
  std::size_t layers_;
  std::size_t filtered_from_;
  LazyBuild<FilteredTree> filtered_tree_;
};

}  // namespace vizsla
