// How numpy arrays cross the border: contiguous, typed, checked once; results are owned by a capsule.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/growing_array.hpp"

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

template <class T>
OutArray<T> to_numpy(GrowingArray<T>&& values) {
  auto owned = std::make_unique<GrowingArray<T>>(std::move(values));
  GrowingArray<T>* raw = owned.release();
  nb::capsule owner(raw, [](void* p) noexcept { delete static_cast<GrowingArray<T>*>(p); });
  return OutArray<T>(raw->data(), {raw->size()}, owner);
}

// A bytes object to be filled: numpy.frombuffer makes an array of it faster than an array can be exported.
template <class T>
class RawArray {
 public:
  explicit RawArray(std::size_t size)
      : bytes_(nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size * sizeof(T))))) {
    if (!bytes_.is_valid()) throw nb::python_error();
  }
  T* data() { return reinterpret_cast<T*>(PyBytes_AS_STRING(bytes_.ptr())); }
  nb::object take() { return std::move(bytes_); }

 private:
  nb::object bytes_;
};

}  // namespace vizsla
