// What a batch of queries asks of a tree, and how it is answered: the same way for each of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tree/tree_filter.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

struct TreeTask {
  std::size_t wanted;
  std::size_t beam;
  const TreeFilter* filter;      // none: everything is allowed
  std::size_t filtered_from;     // from this layer on, all that is allowed below the followed nodes is scored
  const FilteredTree* filtered;  // those layers, if they are made
  bool exact;                    // nothing that is allowed is left out
  bool widens;                   // the beam grows until enough is found: under a filter only
  bool scores_whole_layers;      // a layer above the items is scored whole that holds more nodes than the beam

  TreeTask(const TreeModel& model, std::size_t k, std::size_t beam_, TreeFilter* given, std::size_t queries)
      : wanted(std::min(k, given ? given->allowed().items() : model.size())),
        beam(std::min(beam_, std::max(model.size(), std::size_t{1}))),
        filter(wanted > 0 && given && given->allowed().items() < model.size() ? given : nullptr),
        filtered_from(filter ? filter->filtered_from(wanted, beam) : model.layers().size()),
        filtered(filtered_from < model.layers().size() ? given->filtered_tree(model, queries) : nullptr),
        exact(beam >= model.size() || (filter && filter->follows_all(filtered_from, wanted, beam))),
        widens(given != nullptr),
        scores_whole_layers(filter && filter->is_wider(filtered_from, beam)) {}

  // So many nodes above the filtered layers surely have enough items below them, if those are spread evenly.
  std::size_t parents_wanted() const {
    if (filtered_from == 0) return 1;
    const AllowedNodes& allowed = filter->allowed();
    return 2 * wanted * allowed.count(filtered_from - 1) / allowed.items() + 1;
  }

  std::size_t width(std::size_t layer) const { return filter ? filter->width(layer, wanted, beam) : beam; }
};

}  // namespace vizsla
