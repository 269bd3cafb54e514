// How numpy arrays cross the border: contiguous, typed, checked once; results are owned by a capsule.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace vizsla {

namespace nb = nanobind;

template <class T>
using InArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using OutArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
std::span<const T> view(const InArray<T>& array) {
  return {array.data(), array.size()};
}

template <class T>
OutArray<T> to_numpy(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  std::vector<T>* raw = owned.release();
  nb::capsule owner(raw, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return OutArray<T>(raw->data(), {raw->size()}, owner);
}

}  // namespace vizsla
