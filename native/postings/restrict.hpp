// The same lists with some items only: what a filter that is used again and again is turned into.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/checks.hpp"
#include "postings/postings.hpp"

namespace vizsla {

struct RestrictedLists {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> items;
  std::vector<float> impacts;
};

// Item `kept[i]` becomes item i. Impacts are copied, so that what is left scores as before.
inline RestrictedLists restrict_lists(const Postings& postings, std::span<const std::int32_t> kept) {
  std::vector<std::int32_t> number_of(postings.items(), -1);
  std::int32_t before = -1;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    require(kept[i] > before && static_cast<std::size_t>(kept[i]) < postings.items(),
            "kept items must ascend and be below the number of items");
    before = kept[i];
    number_of[static_cast<std::size_t>(before)] = static_cast<std::int32_t>(i);
  }
  RestrictedLists lists;
  lists.offsets.reserve(postings.terms() + 1);
  for (std::size_t term = 0; term < postings.terms(); ++term) {
    const Postings::List list = postings.list(term);
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const std::int32_t number = number_of[static_cast<std::size_t>(list.items[i])];
      if (number < 0) continue;
      lists.items.push_back(number);
      lists.impacts.push_back(list.impacts[i]);
    }
    lists.offsets.push_back(static_cast<std::int64_t>(lists.items.size()));
  }
  return lists;
}

}  // namespace vizsla
