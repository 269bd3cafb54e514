// One source, several instruction sets: the loader picks the best copy for the CPU it finds.
#pragma once

#include <cstddef>  // says whether the C library is glibc, whose loader can pick

// Sanitizers instrument the resolver that would run before they are ready, so their builds get the plain copy only.
// Clang (14 was tried) gives the resolver of a header's function to every file that includes it, and the linker refuses
// the second.
#if defined(__clang__)
#define VIZSLA_CAN_CLONE 0
#else
#define VIZSLA_CAN_CLONE 1
#endif
#if defined(__x86_64__) && defined(__GLIBC__) && VIZSLA_CAN_CLONE && !defined(VIZSLA_SANITIZE)
#define VIZSLA_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define VIZSLA_CLONES
#endif
