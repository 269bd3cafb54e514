// Product quantization for Python.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/hits.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "common/checks.hpp"
#include "common/instructions.hpp"
#include "pq/book.hpp"
#include "pq/codes.hpp"
#include "pq/search.hpp"

namespace vizsla {

namespace {

using Floats = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;

PqBook book_of(const Floats& queries, const std::optional<Floats>& rotation, const Cube& centroids) {
  PqBook book{};
  book.dim = queries.shape(1);
  book.parts = centroids.shape(0);
  book.width = centroids.shape(1);
  book.count = centroids.shape(2);
  book.centroids = centroids.data();
  require(book.parts > 0 && book.width > 0 && book.parts <= 4096, "centroids must have from 1 to 4096 sub-spaces");
  require(book.count == 16 || book.count == 256, "centroids must be 16 or 256 a sub-space");
  require(book.dim > 0 && book.dim <= book.wide(), "queries must not be wider than all sub-spaces");
  if (rotation) {
    require(rotation->shape(0) == book.wide() && rotation->shape(1) == book.dim,
            "rotation must fit queries and centroids");
    book.rotation = rotation->data();
  }
  return book;
}

PqCodes codes_of(const Bytes& array, std::size_t items, const PqBook& book) {
  PqCodes codes{};
  codes.data = array.data();
  codes.items = items;
  codes.parts = book.parts;
  codes.halves = book.count == 16;
  require(items <= INT32_MAX, "there must be fewer than 2^31 items");
  require(array.ndim() == 3 && (!codes.halves || book.parts % 2 == 0), "codes must be blocks × bytes × 64 or 1");
  codes.side = array.shape(2);
  require(codes.side == PqCodes::lanes || codes.side == 1, "codes must be blocks × bytes × 64 or 1");
  require(array.shape(0) == codes.blocks() && array.shape(1) == codes.row_bytes(),
          "codes must be those of all items and sub-spaces");
  return codes;
}

template <class T>
void check_below(std::span<const T> numbers, std::size_t limit, const char* otherwise) {
  for (const T number : numbers) require(number >= 0 && static_cast<std::size_t>(number) < limit, otherwise);
}

nb::object pq_tables(Floats queries, std::optional<Floats> rotation, Cube centroids) {
  const PqBook book = book_of(queries, rotation, centroids);
  RawArray<float> room(queries.shape(0) * book.table_size());
  float* table = room.data();
  const Poll poll = python_signals();
  {
    nb::gil_scoped_release unlocked;
    PqTables tables(book);
    for (std::size_t i = 0; i < queries.shape(0); ++i) {
      tables.fill(queries.data() + i * book.dim, table + i * book.table_size());
      poll();
    }
  }
  return room.take();
}

nb::object pq_pairs(Floats queries, std::optional<Floats> rotation, Cube centroids, Bytes codes, std::size_t count,
                    InArray<std::int64_t> rows, InArray<std::int32_t> items) {
  const PqBook book = book_of(queries, rotation, centroids);
  const PqCodes coded = codes_of(codes, count, book);
  require(rows.size() == items.size(), "there must be a query for each item");
  RawArray<float> room(items.size());
  float* scores = room.data();
  constexpr std::size_t pairs_a_look = 1 << 12;
  const Poll poll = python_signals();
  {
    nb::gil_scoped_release unlocked;
    check_below(view(rows), queries.shape(0), "rows must be below the number of queries");
    check_below(view(items), coded.items, "items must be below the number of items");
    PqTables tables(book);
    std::vector<float> table(book.table_size());
    std::int64_t filled = -1;
    for (std::size_t pair = 0; pair < items.size(); ++pair) {
      const std::int64_t row = rows.data()[pair];
      if (row != filled || pair % pairs_a_look == 0) poll();
      if (row != filled) tables.fill(queries.data() + static_cast<std::size_t>(row) * book.dim, table.data());
      filled = row;
      scores[pair] = coded.sum(table.data(), static_cast<std::size_t>(items.data()[pair]));
    }
  }
  return room.take();
}

nb::tuple pq_search(Floats queries, std::optional<Floats> rotation, Cube centroids, Bytes codes, std::size_t count,
                    std::size_t k, std::optional<InArray<std::int32_t>> numbers, std::size_t threads,
                    int instructions) {
  const PqBook book = book_of(queries, rotation, centroids);
  const PqCodes coded = codes_of(codes, count, book);
  require(k > 0 && threads > 0, "k and threads must be above 0");
  require(instructions >= 0 && instructions <= static_cast<int>(Instructions::avx512_vbmi),
          "instructions must be from 0 to 3");
  const ItemSelection chosen{coded.items, numbers ? view(*numbers) : std::span<const std::int32_t>(), !numbers};
  k = std::min(k, std::max<std::size_t>(1, chosen.size()));
  std::vector<std::vector<Hit>> answers;
  std::size_t reads = 0;
  {
    const Poll poll = python_signals();
    nb::gil_scoped_release unlocked;
    check_below(chosen.numbers, coded.items, "numbers must be below the number of items");
    const auto descent = std::adjacent_find(chosen.numbers.begin(), chosen.numbers.end(), std::greater_equal<>());
    require(descent == chosen.numbers.end(), "numbers must ascend");
    PqSearch search(book, coded, chosen, k, instructions_here(static_cast<Instructions>(instructions)));
    answers = search.run(queries.data(), queries.shape(0), threads, poll);
    reads = search.reads();
  }
  return joined_hits(answers, reads);
}

}  // namespace

void register_pq(nb::module_& module) {
  module.def("pq_tables", &pq_tables, nb::arg("queries").noconvert(), nb::arg("rotation").noconvert().none(),
             nb::arg("centroids").noconvert(),
             "Each query's inner product with every centroid, as bytes of float32. Centroids are sub-spaces × width × "
             "16 or 256.");
  module.def("pq_pairs", &pq_pairs, nb::arg("queries").noconvert(), nb::arg("rotation").noconvert().none(),
             nb::arg("centroids").noconvert(), nb::arg("codes").noconvert(), nb::arg("count"),
             nb::arg("rows").noconvert(), nb::arg("items").noconvert(),
             "The score of each query row with its item, as bytes of float32.");
  module.def(
      "pq_search", &pq_search, nb::arg("queries").noconvert(), nb::arg("rotation").noconvert().none(),
      nb::arg("centroids").noconvert(), nb::arg("codes").noconvert(), nb::arg("count"), nb::arg("k"),
      nb::arg("numbers").noconvert().none(), nb::arg("threads"),
      nb::arg("instructions") = static_cast<int>(Instructions::avx512_vbmi),
      "The best k items of each query, among all or those with the given numbers: bytes of int64 offsets, int32 items "
      "and float32 scores, and how often the codes were read. Of the CPU's instructions those of AVX-512 with VBMI "
      "(3), AVX-512 (2), "
      "AVX2 (1) or none of these (0) are used at most.");
}

}  // namespace vizsla
