// The lower layers of a tree under a selective filter, inverted: from each feature to all nodes that have it.
//
// If few items are allowed, a beam must follow many parents to find enough of them, with one lookup per feature in each
// of their chunks. Here one lookup per feature serves all chunks. Sums and products have the order of the beam search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tree/allowed_nodes.hpp"
#include "tree/feature_rows.hpp"
#include "tree/tree_model.hpp"

namespace vizsla {

// Nodes are numbered layer by layer in the order of the tree, so that whatever is below some neighbors lies together.
class FilteredTree {
 public:
  struct Entry {
    std::uint32_t node;
    float weight;
  };

  // What a feature gives: to the nodes that have it, or where those are many, such as for the bias, to all, mostly
  // zeros.
  struct FeatureRow {
    std::span<const Entry> entries;
    std::span<const float> dense;  // one weight per node, or empty
  };

  // The children of the nodes of the layer above that lead to allowed items: those of the `n`-th are begins[n] … [n +
  // 1].
  struct Layer {
    std::vector<std::uint32_t> begins;
  };

  // Layers `from` to the last; the nodes above them keep their numbers.
  FilteredTree(const TreeModel& model, const AllowedNodes& allowed, std::size_t from)
      : scaled_(model.layers().front().kind() != WeightKind::float32) {
    std::vector<Read> read;
    std::vector<std::uint32_t> above(from == 0 ? 1 : model.layers()[from - 1].nodes());
    for (std::size_t n = 0; n < above.size(); ++n) above[n] = static_cast<std::uint32_t>(n);
    for (std::size_t t = from; t < model.layers().size(); ++t)
      above = read_layer(model.layers()[t], t, allowed, above, read);
    for (const std::uint32_t position : above) items_.push_back(model.items()[position]);
    arrange(read);
  }

  std::size_t nodes() const { return factors_.size(); }
  std::span<const Layer> layers() const { return layers_; }
  std::span<const std::int32_t> items() const { return items_; }
  // Whether weights are integers, to be multiplied with the factor of their node's chunk.
  bool scaled() const { return scaled_; }
  std::span<const float> factors() const { return factors_; }

  std::size_t nbytes() const {
    std::size_t begins = 0;
    for (const Layer& layer : layers_) begins += layer.begins.size();
    const std::size_t rows = entries_.size() * sizeof(Entry) + offsets_.size() * sizeof offsets_[0] + rows_.nbytes();
    const std::size_t dense = dense_.size() * sizeof(float) + dense_at_.size() * sizeof dense_at_[0];
    return rows + dense + (begins + factors_.size() + items_.size()) * 4;
  }

  FeatureRow row(std::uint32_t feature, std::uint32_t hash) const {
    const std::uint32_t row = rows_.find(feature, hash);
    if (row == FeatureRows::none) return {};
    const std::span entries = std::span(entries_).subspan(offsets_[row], offsets_[row + 1] - offsets_[row]);
    if (!is_dense(entries.size())) return {entries, {}};
    return {entries, std::span(dense_).subspan(dense_of(row) * nodes(), nodes())};
  }

 private:
  static constexpr std::size_t sparse = 4;  // one node of so many has the feature, or it is read for all of them

  struct Read {
    std::uint32_t feature;
    Entry entry;
  };

  // Returns the layer's nodes that lead to allowed items; `above` are those of the layer above.
  std::vector<std::uint32_t> read_layer(const ChunkedLayer& layer, std::size_t t, const AllowedNodes& allowed,
                                        std::span<const std::uint32_t> above, std::vector<Read>& read) {
    std::vector<std::uint32_t> here, numbers;
    std::vector<std::uint32_t> begins;
    const std::size_t before = factors_.size();
    for (const std::uint32_t chunk : above) {
      begins.push_back(static_cast<std::uint32_t>(here.size()));
      numbers.assign(layer.child_count(chunk), FeatureRows::none);
      allowed.for_each(t, layer.first_child(chunk), numbers.size(), [&](std::size_t node) {
        numbers[node - layer.first_child(chunk)] = static_cast<std::uint32_t>(before + here.size());
        here.push_back(static_cast<std::uint32_t>(node));
        factors_.push_back(layer.factor(chunk));
      });
      if (here.size() > begins.back()) read_chunk(layer, chunk, numbers, read);
    }
    begins.push_back(static_cast<std::uint32_t>(here.size()));
    layers_.push_back({std::move(begins)});
    return here;
  }

  static void read_chunk(const ChunkedLayer& layer, std::size_t chunk, std::span<const std::uint32_t> numbers,
                         std::vector<Read>& read) {
    switch (layer.kind()) {
      case WeightKind::float32:
        return read_rows<float>(layer, chunk, numbers, read);
      case WeightKind::int16:
        return read_rows<std::int16_t>(layer, chunk, numbers, read);
      case WeightKind::int8:
        return read_rows<std::int8_t>(layer, chunk, numbers, read);
    }
  }

  // A damaged file can name children that a chunk does not have: they are left out.
  template <class Weight>
  static void read_rows(const ChunkedLayer& layer, std::size_t chunk, std::span<const std::uint32_t> numbers,
                        std::vector<Read>& read) {
    layer.for_each_row(chunk, [&](std::uint32_t feature, const Row& row) {
      const std::uint8_t* children = row.weights + row.count * sizeof(Weight);
      for (std::size_t e = 0; e < row.count; ++e) {
        if (children[e] >= numbers.size() || numbers[children[e]] == FeatureRows::none) continue;
        read.push_back({feature, {numbers[children[e]], weight_at<Weight>(row, e)}});
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
    fill_dense();
  }

  bool is_dense(std::size_t entries) const { return entries * sparse > nodes(); }

  // The place of a dense row among them: they are few, and in ascending order.
  std::size_t dense_of(std::uint32_t row) const {
    return static_cast<std::size_t>(std::lower_bound(dense_at_.begin(), dense_at_.end(), row) - dense_at_.begin());
  }

  // A damaged file can name a node twice: its weights are added, as they are when they are read one by one.
  void fill_dense() {
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      const std::span entries = std::span(entries_).subspan(offsets_[row], offsets_[row + 1] - offsets_[row]);
      if (!is_dense(entries.size())) continue;
      dense_at_.push_back(row);
      const std::size_t begin = dense_.size();
      dense_.resize(begin + nodes(), 0.0F);
      for (const Entry& entry : entries) dense_[begin + entry.node] += entry.weight;
    }
  }

  bool scaled_;
  std::vector<Layer> layers_;
  std::vector<float> factors_;
  std::vector<std::int32_t> items_;
  FeatureRows rows_;
  std::vector<std::size_t> offsets_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> dense_at_;  // the numbers of dense rows, ascending
  std::vector<float> dense_;             // one after the other
};

}  // namespace vizsla
