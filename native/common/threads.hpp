// Work on numbered pieces with a few threads; the pieces do not depend on who does them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vizsla {

// Called between pieces; it stops the work by throwing.
using Poll = std::function<void()>;

// Calls `make_worker()` once a thread, and what it returns with each piece's number. The first exception is rethrown.
template <class MakeWorker>
void share_work(std::size_t pieces, std::size_t threads, const MakeWorker& make_worker, const Poll& poll = {}) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto run = [&] {
    try {
      auto worker = make_worker();
      for (std::size_t piece = next++; piece < pieces; piece = next++) {
        worker(piece);
        if (poll) poll();
      }
    } catch (...) {
      const std::lock_guard guard(failure_lock);
      if (!failure) failure = std::current_exception();
      next = pieces;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(threads, pieces); ++i) others.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vizsla
