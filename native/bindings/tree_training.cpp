// Clustering items into a tree and training its layers, for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "tree/clustering.hpp"
#include "tree/layer.hpp"

namespace vizsla {

namespace {

using Offsets = InArray<std::int64_t>;
using Columns = InArray<std::int32_t>;
using Values = InArray<float>;
using DenseMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

TreeShape shape_of(const std::vector<Offsets>& layers) {
  TreeShape shape;
  for (const Offsets& layer : layers) shape.push_back(view(layer));
  return shape;
}

template <class Rows>
std::vector<std::int32_t> cluster(const Rows& rows, const std::vector<Offsets>& layers, const ClusterOptions& options,
                                  std::size_t threads) {
  const TreeShape shape = shape_of(layers);
  check_shape(shape, rows.size());
  if (options.iterations < 1) throw std::invalid_argument("iterations must be at least 1");
  if (options.starts < 1) throw std::invalid_argument("starts must be at least 1");
  return TreeClustering<Rows>(rows, shape, options, threads, python_signals()).run();
}

OutArray<std::int32_t> cluster_sparse(Offsets offsets, Columns columns, Values values, std::size_t width,
                                      std::vector<Offsets> layers, int iterations, int starts, std::size_t sample,
                                      std::uint64_t seed, std::size_t threads) {
  std::vector<std::int32_t> places;
  {
    nb::gil_scoped_release unlocked;
    const CsrView matrix{view(offsets), view(columns), view(values), width};
    check_csr(matrix, "vectors");
    if (matrix.values.size() != matrix.columns.size()) throw std::invalid_argument("vectors: values are needed");
    places = cluster(SparseRows(matrix), layers, {iterations, starts, sample, seed}, threads);
  }
  return to_numpy(std::move(places));
}

OutArray<std::int32_t> cluster_dense(DenseMatrix vectors, std::vector<Offsets> layers, int iterations, int starts,
                                     std::size_t sample, std::uint64_t seed, std::size_t threads) {
  std::vector<std::int32_t> places;
  {
    nb::gil_scoped_release unlocked;
    const std::span<const float> values(vectors.data(), vectors.size());
    if (vectors.shape(0) > INT32_MAX || vectors.shape(1) == 0)
      throw std::invalid_argument("vectors: the shape is not usable");
    for (const float value : values)
      if (!std::isfinite(value)) throw std::invalid_argument("vectors: every value must be finite");
    places = cluster(DenseRows(values, vectors.shape(1)), layers, {iterations, starts, sample, seed}, threads);
  }
  return to_numpy(std::move(places));
}

LossKind loss_named(const std::string& name) {
  if (name == "squared_hinge") return LossKind::squared_hinge;
  if (name == "hinge") return LossKind::hinge;
  if (name == "logistic") return LossKind::logistic;
  throw std::invalid_argument("loss: unknown name");
}

void check_problem(const LayerProblem& problem) {
  check_csr(problem.x, "X");
  check_csr(problem.labels, "labels");
  check_csr(problem.reached, "reached");
  if (problem.x.values.size() != problem.x.columns.size()) throw std::invalid_argument("X: values are needed");
  if (problem.labels.rows() != problem.x.rows() || problem.reached.rows() != problem.x.rows())
    throw std::invalid_argument("X, labels and reached must have as many rows");
  detail::check_offsets(problem.child_offsets, problem.labels.width, "child_offsets");
  if (problem.child_offsets.size() != problem.reached.width + 1)
    throw std::invalid_argument("child_offsets: one more than there are parents is needed");
  for (const float weight : problem.labels.values)
    if (!(weight > 0)) throw std::invalid_argument("labels: every weight must be above 0");
}

void check_options(const SolverOptions& solver, const PruneOptions& prune) {
  if (!(solver.cost > 0) || !std::isfinite(solver.cost)) throw std::invalid_argument("cost must be above 0");
  if (!std::isfinite(solver.bias)) throw std::invalid_argument("bias must be finite");
  if (!(solver.tolerance > 0)) throw std::invalid_argument("tolerance must be above 0");
  if (solver.epochs < 1) throw std::invalid_argument("epochs must be at least 1");
  if (!(prune.threshold >= 0)) throw std::invalid_argument("threshold must not be below 0");
}

nb::tuple train_layer_py(Offsets x_offsets, Columns x_columns, Values x_values, std::size_t width,
                         Offsets label_offsets, Columns label_columns, Values label_values, Offsets reached_offsets,
                         Columns reached_columns, Offsets child_offsets, const std::string& loss, float cost,
                         float bias, float tolerance, int epochs, float threshold, std::size_t max_nonzeros,
                         std::uint64_t seed, std::size_t threads) {
  LayerWeights layer;
  {
    nb::gil_scoped_release unlocked;
    if (child_offsets.size() == 0) throw std::invalid_argument("child_offsets: must begin with 0");
    const std::span<const std::int64_t> children = view(child_offsets);
    if (children.back() < 0) throw std::invalid_argument("child_offsets: must not descend");
    const std::size_t count = static_cast<std::size_t>(children.back());
    const LayerProblem problem{{view(x_offsets), view(x_columns), view(x_values), width},
                               {view(label_offsets), view(label_columns), view(label_values), count},
                               {view(reached_offsets), view(reached_columns), {}, children.size() - 1},
                               children};
    const SolverOptions solver{loss_named(loss), cost, bias, tolerance, epochs, seed};
    const PruneOptions prune{threshold, max_nonzeros};
    check_problem(problem);
    check_options(solver, prune);
    layer = train_layer(problem, solver, prune, threads, python_signals());
  }
  return nb::make_tuple(to_numpy(std::move(layer.offsets)), to_numpy(std::move(layer.features)),
                        to_numpy(std::move(layer.values)), to_numpy(std::move(layer.epochs)));
}

}  // namespace

void register_tree_training(nb::module_& module) {
  using namespace nb::literals;
  module.def("cluster_sparse", &cluster_sparse, "offsets"_a, "columns"_a, "values"_a, "width"_a, "layers"_a,
             "iterations"_a, "starts"_a, "sample"_a, "seed"_a, "threads"_a,
             "The item at each place of a tree of this shape, like items together.");
  module.def("cluster_dense", &cluster_dense, "vectors"_a, "layers"_a, "iterations"_a, "starts"_a, "sample"_a, "seed"_a,
             "threads"_a, "The item at each place of a tree of this shape, like items together.");
  module.def("train_layer", &train_layer_py, "x_offsets"_a, "x_columns"_a, "x_values"_a, "width"_a, "label_offsets"_a,
             "label_columns"_a, "label_values"_a, "reached_offsets"_a, "reached_columns"_a, "child_offsets"_a, "loss"_a,
             "cost"_a, "bias"_a, "tolerance"_a, "epochs"_a, "threshold"_a, "max_nonzeros"_a, "seed"_a, "threads"_a,
             "A layer's weights by child: offsets, features, values; and the epochs each child took.");
}

}  // namespace vizsla
