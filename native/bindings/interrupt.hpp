// Ctrl-C during long native work.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <memory>
#include <thread>

#include "common/threads.hpp"

namespace vizsla {

// Lets the thread that made it ask Python, ten times a second at most, whether a signal came. An exception of the signal's
// handler stops the work. Other threads ask nothing: Python runs handlers in its main thread only.
inline Poll python_signals() {
  using Clock = std::chrono::steady_clock;
  const auto due = std::make_shared<Clock::time_point>(Clock::now());
  return [due, owner = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != owner || Clock::now() < *due) return;
    *due = Clock::now() + std::chrono::milliseconds(100);
    const nanobind::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  };
}

}  // namespace vizsla
