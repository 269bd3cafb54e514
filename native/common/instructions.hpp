// Which instructions the CPU has, of those that kernels are written for.
#pragma once

#include <algorithm>

namespace vizsla {

// Each has those before it. AVX2 stands for FMA too, AVX-512 for its parts F and BW.
enum class Instructions { plain, avx2, avx512, avx512_vbmi };

namespace detail {

inline Instructions instructions_of_the_cpu() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Instructions::plain;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw")) return Instructions::avx2;
  return __builtin_cpu_supports("avx512vbmi") ? Instructions::avx512_vbmi : Instructions::avx512;
#else
  return Instructions::plain;
#endif
}

}  // namespace detail

// What to use here: the best there is, or at most what a test asks for.
inline Instructions instructions_here(Instructions most = Instructions::avx512_vbmi) {
  static const Instructions best = detail::instructions_of_the_cpu();
  return std::min(best, most);
}

}  // namespace vizsla
