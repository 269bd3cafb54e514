// Cuts a word into the longest pieces of a vocabulary, from the left, in one pass: a trie whose failure links say which
// pieces are certain when the next byte does not fit (Song et al., Fast WordPiece Tokenization, 2021).
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/checks.hpp"

namespace vizsla {

class WordPieceTrie {
 public:
  // A token that begins with `prefix` continues a word; tokens of more than `longest` bytes can never match.
  template <class Tokens>
  WordPieceTrie(const Tokens& tokens, std::string_view prefix, std::size_t longest) : nodes_(2), edges_(1U << 10) {
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      const std::string_view token = tokens[id];
      if (token.empty() || token.size() > longest + prefix.size()) continue;
      insert(start, token, static_cast<std::int32_t>(id));
      if (!prefix.empty() && token.size() > prefix.size() && token.starts_with(prefix))
        insert(inside, token.substr(prefix.size()), static_cast<std::int32_t>(id));
    }
    link();
  }

  // Appends the word's pieces, or returns false and appends nothing.
  bool cut(std::string_view word, std::vector<std::int32_t>& pieces) const {
    const std::size_t before = pieces.size();
    std::uint32_t node = start;
    for (const char byte : word) {
      std::uint32_t next;
      while ((next = child(node, static_cast<std::uint8_t>(byte))) == none)
        if (!pop(node, pieces)) return pieces.resize(before), false;
      node = next;
    }
    while (node != inside)
      if (!pop(node, pieces)) return pieces.resize(before), false;
    return true;
  }

  std::size_t bytes() const {
    return nodes_.size() * sizeof(Node) + edges_.size() * sizeof(Edge) + popped_.size() * sizeof(std::int32_t);
  }

 private:
  static constexpr std::uint32_t start = 0, inside = 1, none = UINT32_MAX;
  static constexpr std::size_t most_popped = std::size_t{1} << 27;

  struct Node {
    std::int32_t token = -1;
    std::uint32_t fail = none;
    std::uint32_t popped = 0, count = 0;  // pieces that are certain when the failure link is taken
  };

  struct Edge {
    std::uint64_t key = 0;  // node and byte, plus 1
    std::uint32_t node = none;
  };

  static std::uint64_t key_of(std::uint32_t node, std::uint8_t byte) { return (std::uint64_t{node} << 8 | byte) + 1; }

  static std::size_t mixed(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(key ^ key >> 32);
  }

  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const {
    const std::uint64_t key = key_of(node, byte);
    const std::size_t mask = edges_.size() - 1;
    for (std::size_t slot = mixed(key) & mask;; slot = (slot + 1) & mask) {
      if (edges_[slot].key == key) return edges_[slot].node;
      if (edges_[slot].key == 0) return none;
    }
  }

  bool pop(std::uint32_t& node, std::vector<std::int32_t>& pieces) const {
    const Node& here = nodes_[node];
    if (here.fail == none) return false;
    pieces.insert(pieces.end(), popped_.begin() + here.popped, popped_.begin() + here.popped + here.count);
    node = here.fail;
    return true;
  }

  void insert(std::uint32_t node, std::string_view text, std::int32_t token) {
    for (const char byte : text) {
      std::uint32_t next = child(node, static_cast<std::uint8_t>(byte));
      if (next == none) next = add(node, static_cast<std::uint8_t>(byte));
      node = next;
    }
    nodes_[node].token = token;
  }

  std::uint32_t add(std::uint32_t node, std::uint8_t byte) {
    require(nodes_.size() < (std::size_t{1} << 30), "a vocabulary must be smaller");
    if (2 * nodes_.size() > edges_.size()) grow();
    const auto made = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
    place({key_of(node, byte), made});
    return made;
  }

  void place(const Edge& edge) {
    const std::size_t mask = edges_.size() - 1;
    std::size_t slot = mixed(edge.key) & mask;
    while (edges_[slot].key != 0) slot = (slot + 1) & mask;
    edges_[slot] = edge;
  }

  void grow() {
    std::vector<Edge> old(2 * edges_.size());
    old.swap(edges_);
    for (const Edge& edge : old)
      if (edge.key != 0) place(edge);
  }

  // Breadth first, since a failure link leads to a node that is nearer to its root.
  void link() {
    std::vector<std::vector<Step>> children = steps();
    std::vector<std::uint32_t> queue{start, inside};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const std::uint32_t parent = queue[at];
      for (const Step& step : children[parent]) {
        link(parent, step);
        queue.push_back(step.node);
      }
    }
  }

  struct Step {
    std::uint8_t byte;
    std::uint32_t node;
  };

  std::vector<std::vector<Step>> steps() const {
    std::vector<std::vector<Step>> children(nodes_.size());
    for (const Edge& edge : edges_)
      if (edge.key != 0) children[(edge.key - 1) >> 8].push_back({static_cast<std::uint8_t>(edge.key - 1), edge.node});
    return children;
  }

  void link(std::uint32_t parent, const Step& step) {
    Node& node = nodes_[step.node];
    if (node.token >= 0) {
      node.fail = inside;
      node.popped = static_cast<std::uint32_t>(popped_.size());
      node.count = 1;
      popped_.push_back(node.token);
      return;
    }
    const Node& above = nodes_[parent];
    std::vector<std::int32_t> more;
    std::uint32_t fail = above.fail, next = none;
    while (fail != none && (next = child(fail, step.byte)) == none) {
      const Node& passed = nodes_[fail];
      more.insert(more.end(), popped_.begin() + passed.popped, popped_.begin() + passed.popped + passed.count);
      fail = passed.fail;
    }
    if (fail == none) return;
    node.fail = next;
    node.popped = above.popped;
    node.count = above.count + static_cast<std::uint32_t>(more.size());
    if (!more.empty()) extend(node, above, more);
  }

  void extend(Node& node, const Node& above, const std::vector<std::int32_t>& more) {
    require(popped_.size() < most_popped, "a vocabulary must be smaller");
    node.popped = static_cast<std::uint32_t>(popped_.size());
    popped_.reserve(popped_.size() + node.count);
    for (std::uint32_t i = 0; i < above.count; ++i) popped_.push_back(popped_[above.popped + i]);
    popped_.insert(popped_.end(), more.begin(), more.end());
  }

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // a power of two, at most half of them used
  std::vector<std::int32_t> popped_;
};

}  // namespace vizsla
