// Puts items into a tree of a given shape: every node's items are cut in two until each child has its own. The shape
// fixes how many items each node gets, so the tree is as balanced as the shape; clustering only assigns items to nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "tree/bisection.hpp"

namespace vizsla {

// The shape: layer t says where each of its nodes' children begin; the last layer's children are the items' places.
using TreeShape = std::vector<std::span<const std::int64_t>>;

inline void check_shape(const TreeShape& shape, std::size_t items) {
  std::size_t nodes = 1;
  for (const std::span<const std::int64_t> layer : shape) {
    if (layer.size() != nodes + 1 || layer.front() != 0) throw std::invalid_argument("layers: the sizes do not match");
    for (std::size_t i = 1; i < layer.size(); ++i)
      if (layer[i] < layer[i - 1]) throw std::invalid_argument("layers: offsets must not descend");
    if (layer.back() > INT32_MAX) throw std::invalid_argument("layers: too many nodes");
    nodes = static_cast<std::size_t>(layer.back());
  }
  if (shape.empty() || nodes != items) throw std::invalid_argument("layers: the last one must hold every item");
}

template <class Rows>
class TreeClustering {
 public:
  TreeClustering(const Rows& rows, const TreeShape& shape, const ClusterOptions& options, std::size_t threads,
                 const Poll& poll = {})
      : rows_(rows), shape_(shape), options_(options), threads_(threads), poll_(poll) {
    for (std::size_t item = 0; item < rows.size(); ++item)
      (rows.empty(item) ? empty_ : items_).push_back(static_cast<std::uint32_t>(item));
    find_starts();
  }

  // The item at each place.
  std::vector<std::int32_t> run() {
    std::vector<Segment> level = {{0, 0, 1}};
    while (!level.empty()) {
      expand(level);
      split(level);
      level = halves(level);
    }
    return merge();
  }

 private:
  // Nodes [first, last) of a layer, siblings, that still have to be told apart.
  struct Segment {
    std::size_t layer, first, last;
    std::size_t middle() const { return first + (last - first) / 2; }
  };

  // Items without a vector say nothing about where they belong: place a holds one where floor(a * empty / all) steps
  // up, which spreads them evenly. starts_[t][node] counts the other places before the node.
  void find_starts() {
    const std::size_t all = rows_.size();
    std::vector<std::size_t> starts(all + 1);
    for (std::size_t a = 0; a <= all; ++a) starts[a] = a - empties_before(a);
    starts_.assign(shape_.size() + 1, {});
    starts_.back() = std::move(starts);
    for (std::size_t t = shape_.size(); t-- > 0;)
      for (const std::int64_t child : shape_[t]) starts_[t].push_back(starts_[t + 1][static_cast<std::size_t>(child)]);
  }

  std::size_t empties_before(std::size_t place) const {
    return rows_.size() == 0 ? 0 : static_cast<std::size_t>(std::uint64_t{place} * empty_.size() / rows_.size());
  }

  // Steps down from single nodes to their children until there is something to split; drops what is done.
  void expand(std::vector<Segment>& level) const {
    std::vector<Segment> open;
    for (Segment segment : level) {
      while (segment.last - segment.first == 1 && segment.layer < shape_.size()) {
        const std::span<const std::int64_t> layer = shape_[segment.layer];
        const std::size_t node = segment.first;
        segment = {segment.layer + 1, static_cast<std::size_t>(layer[node]), static_cast<std::size_t>(layer[node + 1])};
      }
      if (segment.layer < shape_.size() && segment.last - segment.first > 1) open.push_back(segment);
    }
    level = std::move(open);
  }

  void split(const std::vector<Segment>& level) {
    const bool few = level.size() < threads_;
    share_work(
        level.size(), few ? 1 : threads_,
        [&] {
          return
              [&, bisector = Bisector<Rows>(rows_, options_, few ? threads_ : 1, poll_)](std::size_t number) mutable {
                const Segment& segment = level[number];
                const std::vector<std::size_t>& starts = starts_[segment.layer];
                const std::size_t begin = starts[segment.first], end = starts[segment.last];
                const std::uint64_t stream = (std::uint64_t{begin} << 32) | end;
                bisector.split(std::span(items_).subspan(begin, end - begin), starts[segment.middle()] - begin, stream);
              };
        },
        poll_);
  }

  static std::vector<Segment> halves(const std::vector<Segment>& level) {
    std::vector<Segment> next;
    for (const Segment& segment : level) {
      next.push_back({segment.layer, segment.first, segment.middle()});
      next.push_back({segment.layer, segment.middle(), segment.last});
    }
    return next;
  }

  std::vector<std::int32_t> merge() const {
    std::vector<std::int32_t> places(rows_.size());
    std::size_t item = 0, empty = 0;
    for (std::size_t a = 0; a < places.size(); ++a) {
      const bool vacant = empties_before(a + 1) > empties_before(a);
      places[a] = static_cast<std::int32_t>(vacant ? empty_[empty++] : items_[item++]);
    }
    const std::span<const std::int64_t> leaves = shape_.back();
    for (std::size_t leaf = 0; leaf + 1 < leaves.size(); ++leaf)
      std::sort(places.begin() + leaves[leaf], places.begin() + leaves[leaf + 1]);
    return places;
  }

  const Rows& rows_;
  const TreeShape& shape_;
  ClusterOptions options_;
  std::size_t threads_;
  Poll poll_;
  std::vector<std::uint32_t> items_, empty_;
  std::vector<std::vector<std::size_t>> starts_;
};

}  // namespace vizsla
