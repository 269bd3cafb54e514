// One source, several instruction sets: the loader picks the best copy for the CPU it finds.
#pragma once

// Sanitizers instrument the resolver that would run before they are ready, so their builds get the plain copy only.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(VIZSLA_SANITIZE)
#define VIZSLA_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define VIZSLA_CLONES
#endif
