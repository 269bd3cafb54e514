// Memory that is asked for before it is needed.
#pragma once

#include <cstddef>
#include <cstdint>

// For functions that do nothing but ask memory for something. GCC takes them for functions without effect and leaves
// out the calls, unless they have become a part of their callers before it looks.
#define VIZSLA_PREFETCHES [[gnu::always_inline]]

namespace vizsla {

// Asks for all cache lines of some bytes.
VIZSLA_PREFETCHES inline void prefetch_lines(const void* begin, std::size_t bytes) {
  constexpr std::size_t line = 64;
  const char* at = static_cast<const char*>(begin);
  const char* const end = at + bytes;
  for (at -= reinterpret_cast<std::uintptr_t>(at) % line; at < end; at += line) __builtin_prefetch(at);
}

}  // namespace vizsla
