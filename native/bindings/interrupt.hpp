// Ctrl-C during long native work.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "common/threads.hpp"

namespace vizsla {

// Lets the thread that made it ask Python, ten times a second at most, whether a signal came. An exception of the
// signal's handler stops the work. Other threads ask nothing, since Python runs handlers in its main thread only: they
// follow.
inline Poll python_signals() {
  using Clock = std::chrono::steady_clock;
  struct State {
    Clock::time_point due = Clock::now();
    std::atomic<bool> stopped{false};
  };
  return [state = std::make_shared<State>(), owner = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != owner) {
      if (state->stopped.load(std::memory_order_relaxed)) throw Interrupted{};
      return;
    }
    if (Clock::now() < state->due) return;
    state->due = Clock::now() + std::chrono::milliseconds(100);
    const nanobind::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() == 0) return;
    state->stopped = true;
    throw nanobind::python_error();
  };
}

// The same for work that looks up after each of so many pieces; a single one is too short to ask for.
inline Poll signals_between(std::size_t pieces) { return pieces > 1 ? python_signals() : Poll(); }

}  // namespace vizsla
