// A filter as a tree wants it: which nodes lead to allowed items, how wide a beam must be, and whether to score all instead.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tree/allowed_nodes.hpp"
#include "tree/narrow_tree.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

class TreeFilter {
 public:
  TreeFilter(const TreeModel& model, std::span<const std::uint8_t> allowed) : allowed_(model, allowed) {
    const std::size_t last = model.layers().size() - 1;
    items_.reserve(allowed_.items());
    allowed_.for_each(last, 0, model.size(), [&](std::size_t p) { items_.push_back(model.items()[p]); });
  }

  const AllowedNodes& allowed() const { return allowed_; }
  // Allowed items in the order of the leaves.
  std::span<const std::int32_t> items() const { return items_; }

  // How many nodes of a layer to follow so that most often enough items are met below them.
  std::size_t width(std::size_t layer, std::size_t wanted, std::size_t beam) const {
    const std::size_t enough = (slack * wanted * allowed_.count(layer) + items_.size() - 1) / items_.size();
    return std::max(beam, std::min(enough, allowed_.count(layer)));
  }

  // Whether all allowed items are scored, because a beam would cost as much. It depends on what is asked, not on what was
  // asked before: the same question always has the same answer.
  bool scores_all(std::size_t layers, std::size_t wanted, std::size_t beam) const {
    std::size_t visits = 1;
    for (std::size_t t = 0; t + 1 < layers; ++t) visits += std::min(width(t, wanted, beam), allowed_.count(t));
    return allowed_.nodes() <= nodes_a_visit * visits;
  }

  // What is left of the tree, once it was asked for so often that making it pays; until then nothing, and items are scored
  // by their paths, to the same bits.
  const NarrowTree* narrow(const TreeModel& model, std::size_t queries) {
    if (const NarrowTree* made = narrow_.load(std::memory_order_acquire)) return made;
    if (asked_.fetch_add(queries, std::memory_order_relaxed) + queries < patience) return nullptr;
    const std::unique_lock making(lock_, std::try_to_lock);
    if (!making || kept_) return narrow_.load(std::memory_order_acquire);
    kept_ = std::make_unique<NarrowTree>(model, allowed_);
    narrow_.store(kept_.get(), std::memory_order_release);
    return kept_.get();
  }

  std::size_t nbytes() const {
    const NarrowTree* made = narrow_.load(std::memory_order_acquire);
    return allowed_.nbytes() + items_.size() * sizeof items_[0] + (made ? made->nbytes() : 0);
  }

 private:
  static constexpr std::size_t slack = 2;           // a beam this many times as wide as it would be if items were spread evenly
  static constexpr std::size_t nodes_a_visit = 64;  // so many nodes of a narrow tree cost as much as a chunk of a beam
  static constexpr std::size_t patience = 64;       // queries after which a narrow tree has paid for itself

  AllowedNodes allowed_;
  std::vector<std::int32_t> items_;
  std::mutex lock_;
  std::atomic<std::size_t> asked_{0};
  std::unique_ptr<NarrowTree> kept_;
  std::atomic<const NarrowTree*> narrow_{nullptr};
};

}  // namespace vizsla
