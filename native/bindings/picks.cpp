// What is picked out of many, without the rest of a search: so that tests can compare instruction sets.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/register.hpp"
#include "common/checks.hpp"
#include "common/instructions.hpp"
#include "common/pick_places.hpp"
#include "tree/likely_features.hpp"

namespace vizsla {

namespace {

Instructions at_most(int instructions) {
  require(instructions >= 0 && instructions <= static_cast<int>(Instructions::avx512),
          "instructions must be from 0 to 2");
  return static_cast<Instructions>(instructions);
}

template <class Number, class Wanted>
OutArray<std::uint32_t> picked(std::span<const Number> values, const Wanted& wanted, int instructions) {
  std::vector<std::uint32_t> places(values.size() + beyond_picked);
  places.resize(pick_places(values, wanted, places.data(), at_most(instructions)));
  return to_numpy(std::move(places));
}

OutArray<std::uint32_t> picked_from(const InArray<float>& values, float limit, int instructions) {
  return picked(view(values), FromLimit{limit}, instructions);
}

OutArray<std::uint32_t> picked_within(const InArray<std::int32_t>& values, std::uint32_t low, std::uint32_t width,
                                      int instructions) {
  return picked(view(values), WithinRange{low, width}, instructions);
}

// The features as `keep` writes them, and for the first of them the bits of `among`.
nb::tuple likely_features(const InArray<std::int32_t>& query, const InArray<std::uint16_t>& given, int instructions) {
  LikelyFeatures likely;
  for (const std::int32_t feature : view(query)) likely.add(static_cast<std::uint32_t>(feature));
  std::vector<std::uint8_t> halves(given.size() * sizeof(std::uint16_t) + LikelyFeatures::bytes_beyond, UINT8_MAX);
  if (given.size() > 0) std::memcpy(halves.data(), given.data(), given.size() * sizeof(std::uint16_t));
  std::vector<std::uint32_t> kept(given.size() + LikelyFeatures::beyond);
  kept.resize(likely.keep(halves.data(), given.size(), kept.data(), at_most(instructions)));
  const std::uint64_t among =
      likely.among(halves.data(), std::min(given.size(), LikelyFeatures::most), at_most(instructions));
  return nb::make_tuple(to_numpy(std::move(kept)), among);
}

}  // namespace

void register_picks(nb::module_& module) {
  const int best = static_cast<int>(Instructions::avx512);
  module.def("picked_from", &picked_from, nb::arg("values").noconvert(), nb::arg("limit"),
             nb::arg("instructions") = best,
             "The places of values from a limit on. Of the CPU's instructions those of AVX-512 (2), AVX2 (1) or none "
             "of these (0) are used at most.");
  module.def(
      "picked_within", &picked_within, nb::arg("values").noconvert(), nb::arg("low"), nb::arg("width"),
      nb::arg("instructions") = best,
      "The places of values from `low` on that are below `low + width`; instructions as `picked_from` has them.");
  module.def("likely_features", &likely_features, nb::arg("query").noconvert(), nb::arg("halves").noconvert(),
             nb::arg("instructions") = best,
             "Which of some features, given by their lower 16 bits, a query may have: with their places above them, "
             "and of the first 64 a bit "
             "each; instructions as `picked_from` has them.");
}

}  // namespace vizsla
