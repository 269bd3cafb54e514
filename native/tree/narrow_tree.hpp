// What is left of a tree under a narrow filter, turned around: from each feature to all nodes that have it.
//
// Where few items are allowed, scoring them all costs less than a beam that must be wide to meet enough of them. One look-up
// a feature then serves every chunk of every layer. Sums and products are those of the search, in the same order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tree/allowed_nodes.hpp"
#include "tree/feature_rows.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

// Nodes are numbered layer by layer, so that a parent comes before its children; 0 is the root.
class NarrowTree {
 public:
  struct Entry {
    std::uint32_t node;
    float weight;
  };

  NarrowTree(const TreeModel& model, const AllowedNodes& allowed) : scaled_(model.layers().front().kind() != WeightKind::float32) {
    std::vector<Read> read;
    std::vector<std::uint32_t> numbers(1, 0), next;
    for (std::size_t t = 0; t < model.layers().size(); ++t) {
      if (t + 1 == model.layers().size()) first_leaf_ = parents_.size();
      next.assign(model.layers()[t].nodes(), 0);
      for (std::size_t chunk = 0; chunk < numbers.size(); ++chunk) {
        if (t == 0 || numbers[chunk] != 0) read_chunk(model, allowed, t, chunk, numbers[chunk], next, read);
      }
      numbers.swap(next);
    }
    allowed.for_each(model.layers().size() - 1, 0, model.size(), [&](std::size_t p) { items_.push_back(model.items()[p]); });
    arrange(read);
  }

  std::size_t nodes() const { return parents_.size(); }
  std::size_t first_leaf() const { return first_leaf_; }
  std::span<const std::uint32_t> parents() const { return parents_; }
  std::span<const std::int32_t> items() const { return items_; }
  // Whether weights are integers, to be multiplied with the factor of their node's chunk.
  bool scaled() const { return scaled_; }
  std::span<const float> factors() const { return factors_; }
  std::size_t nbytes() const { return entries_.size() * sizeof(Entry) + parents_.size() * 8 + items_.size() * 4; }

  std::span<const Entry> row(std::uint32_t feature, std::uint32_t hash) const {
    const std::uint32_t row = rows_.find(feature, hash);
    if (row == FeatureRows::none) return {};
    return std::span(entries_).subspan(offsets_[row], offsets_[row + 1] - offsets_[row]);
  }

 private:
  struct Read {
    std::uint32_t feature;
    Entry entry;
  };

  void read_chunk(const TreeModel& model, const AllowedNodes& allowed, std::size_t t, std::size_t chunk, std::uint32_t parent,
                  std::vector<std::uint32_t>& numbers, std::vector<Read>& read) {
    const ChunkedLayer& layer = model.layers()[t];
    const std::size_t first = layer.first_child(chunk);
    allowed.for_each(t, first, layer.child_count(chunk), [&](std::size_t node) {
      numbers[node] = static_cast<std::uint32_t>(parents_.size());
      parents_.push_back(parent);
      factors_.push_back(layer.factor(chunk));
    });
    const std::span<const std::uint32_t> children = std::span(numbers).subspan(first, layer.child_count(chunk));
    switch (layer.kind()) {
      case WeightKind::float32: return read_rows<float>(layer, chunk, children, read);
      case WeightKind::int16: return read_rows<std::int16_t>(layer, chunk, children, read);
      case WeightKind::int8: return read_rows<std::int8_t>(layer, chunk, children, read);
    }
  }

  // A sound chunk's rows have as many entries as the chunk; where a damaged file claims more, the rest is left out.
  template <class Weight>
  static void read_rows(const ChunkedLayer& layer, std::size_t chunk, std::span<const std::uint32_t> numbers, std::vector<Read>& read) {
    std::size_t left = layer.entry_count(chunk);
    layer.table(chunk).for_each_row([&](std::uint32_t feature, const Row& row) {
      if (row.count > left) return;
      left -= row.count;
      const std::uint8_t* children = row.weights + row.count * sizeof(Weight);
      for (std::size_t e = 0; e < row.count; ++e) {
        if (children[e] < numbers.size() && numbers[children[e]] != 0) read.push_back({feature, {numbers[children[e]], weight_at<Weight>(row, e)}});
      }
    });
  }

  // Sorts what was read by feature, nodes within them ascending.
  void arrange(const std::vector<Read>& read) {
    std::vector<std::uint32_t> row_of(read.size());
    for (std::size_t i = 0; i < read.size(); ++i) row_of[i] = rows_.add(read[i].feature);
    offsets_.assign(rows_.size() + std::size_t{1}, 0);
    for (const std::uint32_t row : row_of) ++offsets_[row + 1];
    for (std::size_t row = 0; row < rows_.size(); ++row) offsets_[row + 1] += offsets_[row];
    std::vector<std::size_t> ends(offsets_.begin(), offsets_.end());
    entries_.resize(read.size());
    for (std::size_t i = 0; i < read.size(); ++i) entries_[ends[row_of[i]]++] = read[i].entry;
  }

  bool scaled_;
  std::size_t first_leaf_ = 0;
  std::vector<std::uint32_t> parents_{0};
  std::vector<float> factors_{1.0F};
  std::vector<std::int32_t> items_;
  FeatureRows rows_;
  std::vector<std::size_t> offsets_;
  std::vector<Entry> entries_;
};

}  // namespace vizsla
