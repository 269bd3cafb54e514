// Work on numbered pieces with a few threads; the pieces do not depend on the threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace vizsla {

// Called between pieces; it stops the work by throwing.
using Poll = std::function<void()>;

// What a poll throws in a thread that only follows: another one has the reason.
struct Interrupted {};

// More threads than this only wait for each other, whatever a caller asks for.
inline std::size_t most_threads() {
  static const std::size_t most = std::max<std::size_t>(64, 4 * std::size_t{std::thread::hardware_concurrency()});
  return most;
}

// One `share_work` while it runs: the next piece, the first error, and the number of running threads.
class SharedWork {
 public:
  explicit SharedWork(std::size_t pieces) : pieces_(pieces) {}

  template <class MakeWorker>
  void run(const MakeWorker& make_worker, const Poll& poll) {
    try {
      auto worker = make_worker();
      for (std::size_t piece = next_++; piece < pieces_; piece = next_++) {
        worker(piece);
        if (poll) poll();
      }
    } catch (const Interrupted&) {
      next_ = pieces_;
      interrupted_ = true;
    } catch (...) {
      fail();
    }
  }

  template <class MakeWorker>
  void run_in_thread(const MakeWorker& make_worker, const Poll& poll) {
    run(make_worker, poll);
    const std::lock_guard guard(lock_);
    ++done_;
    changed_.notify_one();
  }

  // Waits for the other threads, and still looks up for Ctrl-C meanwhile: their pieces may be long.
  void wait(std::size_t others, const Poll& poll) {
    std::unique_lock guard(lock_);
    while (!changed_.wait_for(guard, std::chrono::milliseconds(50), [&] { return done_ == others; })) {
      guard.unlock();
      try {
        poll();
      } catch (...) {
        fail();
      }
      guard.lock();
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
    if (interrupted_) throw Interrupted{};
  }

 private:
  void fail() {
    const std::lock_guard guard(lock_);
    if (!failure_) failure_ = std::current_exception();
    next_ = pieces_;
  }

  const std::size_t pieces_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> interrupted_{false};
  std::exception_ptr failure_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::size_t done_ = 0;
};

// Calls `make_worker()` once a thread, and what it returns with each piece's number. The first exception is rethrown.
template <class MakeWorker>
void share_work(std::size_t pieces, std::size_t threads, const MakeWorker& make_worker, const Poll& poll = {}) {
  SharedWork work(pieces);
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min({threads, pieces, most_threads()}); ++i)
        others.emplace_back([&] { work.run_in_thread(make_worker, poll); });
    } catch (const std::system_error&) {
      // The system gives no more threads: those that there are do the work.
    }
    work.run(make_worker, poll);
    if (poll && !others.empty()) work.wait(others.size(), poll);
  }
  work.rethrow();
}

}  // namespace vizsla
