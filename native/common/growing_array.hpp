// An array of plain values that grows by realloc: large blocks are remapped, not copied, so that building an array of
// many gigabytes does not need twice its memory at the moment of growth, as std::vector does.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace vizsla {

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  GrowingArray(GrowingArray&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~GrowingArray() { std::free(values_); }

  std::size_t size() const { return size_; }
  T* data() { return values_; }
  const T* data() const { return values_; }
  T& operator[](std::size_t i) { return values_[i]; }
  const T& operator[](std::size_t i) const { return values_[i]; }

  void push_back(T value) {
    if (size_ == capacity_) reserve(size_ + 1);
    values_[size_++] = value;
  }

  void append(const T* values, std::size_t count) {
    if (count > capacity_ - size_) reserve(size_ + count);
    if (count > 0) std::memcpy(values_ + size_, values, count * sizeof(T));
    size_ += count;
  }

  // Room for `count` values at the end, which `take` makes part of the array.
  T* room(std::size_t count) {
    if (count > capacity_ - size_) reserve(size_ + count);
    return values_ + size_;
  }
  void take(std::size_t count) { size_ += count; }

  void clear() { size_ = 0; }

  // Forgets the values from `size` on and gives their memory back.
  void shrink(std::size_t size) {
    size_ = size;
    if (T* smaller = static_cast<T*>(std::realloc(values_, (size > 0 ? size : 1) * sizeof(T)))) {
      values_ = smaller;
      capacity_ = size > 0 ? size : 1;
    }
  }

 private:
  void reserve(std::size_t wanted) {
    const std::size_t capacity = wanted > 2 * capacity_ ? wanted + 16 : 2 * capacity_;
    T* larger = static_cast<T*>(std::realloc(values_, capacity * sizeof(T)));
    if (larger == nullptr) throw std::bad_alloc();
    values_ = larger;
    capacity_ = capacity;
  }

  T* values_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace vizsla
