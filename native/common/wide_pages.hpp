// Memory that is read here and there, on wide pages where the system has them: a look-up of a page's place can cost
// more than the read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace vizsla {

// For std::vector: blocks of a page's size and more lie on wide pages.
template <class T>
struct WidePages {
  using value_type = T;

  WidePages() = default;
  template <class Other>
  WidePages(const WidePages<Other>&) {}

  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < page) return static_cast<T*>(::operator new(bytes));
    const std::size_t whole = (bytes + page - 1) / page * page;
    void* block = ::operator new(whole, std::align_val_t(page));
#if defined(__linux__)
    madvise(block, whole, MADV_HUGEPAGE);  // advice: where it is not taken, all is as before
#endif
    return static_cast<T*>(block);
  }

  void deallocate(T* block, std::size_t count) {
    if (count * sizeof(T) < page) return ::operator delete(block);
    ::operator delete(block, std::align_val_t(page));
  }

  template <class Other>
  bool operator==(const WidePages<Other>&) const {
    return true;
  }

 private:
  static constexpr std::size_t page = std::size_t{1} << 21;
};

}  // namespace vizsla
