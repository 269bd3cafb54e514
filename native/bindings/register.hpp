#pragma once

#include <nanobind/nanobind.h>

namespace vizsla {

void register_strings(nanobind::module_& module);

}  // namespace vizsla
