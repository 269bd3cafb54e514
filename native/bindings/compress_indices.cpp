// Stream compaction and the feature filter by themselves, so that tests can compare instruction sets.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/register.hpp"
#include "common/checks.hpp"
#include "common/compress_indices.hpp"
#include "common/instructions.hpp"
#include "tree/feature_bloom.hpp"

namespace vizsla {

namespace {

Instructions at_most(int instructions) {
  require(instructions >= 0 && instructions <= static_cast<int>(Instructions::avx512),
          "instructions must be from 0 to 2");
  return static_cast<Instructions>(instructions);
}

template <class Number, class Wanted>
OutArray<std::uint32_t> picked(std::span<const Number> values, const Wanted& wanted, int instructions) {
  std::vector<std::uint32_t> places(values.size() + compress_slack);
  places.resize(compress_indices(values, wanted, places.data(), at_most(instructions)));
  return to_numpy(std::move(places));
}

OutArray<std::uint32_t> indices_from(const InArray<float>& values, float limit, int instructions) {
  return picked(view(values), FromLimit{limit}, instructions);
}

OutArray<std::uint32_t> indices_within(const InArray<std::int32_t>& values, std::uint32_t low, std::uint32_t width,
                                       int instructions) {
  return picked(view(values), WithinRange{low, width}, instructions);
}

// The features as `keep` writes them, and for the first of them the bits of `among`.
nb::tuple feature_bloom(const InArray<std::int32_t>& query, const InArray<std::uint16_t>& given, int instructions) {
  FeatureBloom likely;
  for (const std::int32_t feature : view(query)) likely.add(static_cast<std::uint32_t>(feature));
  std::vector<std::uint8_t> halves(given.size() * sizeof(std::uint16_t) + FeatureBloom::bytes_beyond, UINT8_MAX);
  if (given.size() > 0) std::memcpy(halves.data(), given.data(), given.size() * sizeof(std::uint16_t));
  std::vector<std::uint32_t> kept(given.size() + FeatureBloom::beyond);
  kept.resize(likely.keep(halves.data(), given.size(), kept.data(), at_most(instructions)));
  const std::uint64_t among =
      likely.among(halves.data(), std::min(given.size(), FeatureBloom::most), at_most(instructions));
  return nb::make_tuple(to_numpy(std::move(kept)), among);
}

}  // namespace

void register_compress_indices(nb::module_& module) {
  const int best = static_cast<int>(Instructions::avx512);
  module.def("indices_from", &indices_from, nb::arg("values").noconvert(), nb::arg("limit"),
             nb::arg("instructions") = best,
             "The places of values from a limit on. Of the CPU's instructions those of AVX-512 (2), AVX2 (1) or none "
             "of these (0) are used at most.");
  module.def(
      "indices_within", &indices_within, nb::arg("values").noconvert(), nb::arg("low"), nb::arg("width"),
      nb::arg("instructions") = best,
      "The places of values from `low` on that are below `low + width`; instructions as `indices_from` has them.");
  module.def("feature_bloom", &feature_bloom, nb::arg("query").noconvert(), nb::arg("halves").noconvert(),
             nb::arg("instructions") = best,
             "Which of some features, given by their lower 16 bits, a query may have: with their places above them, "
             "and of the first 64 a bit "
             "each; instructions as `indices_from` has them.");
}

}  // namespace vizsla
