// SPDX-License-Identifier: Apache-2.0
// Blocks fork(2), madvise(2) and mremap(2) while pages are detached by userfaultfd(2), which these calls would
// lose or resurrect: a child of fork would read zeros in place of detached pages, pages freed by madvise would
// return with their old content, and those of a moved range would stay behind.
//
// A process-wide read-write lock: exchanges are readers; the agent's interposed calls are writers and have
// priority.
#pragma once

#include <cstdint>

namespace terrace::transfer {

// Holds the lock shared while pages are being exchanged; thread-safe, several threads may hold one.
class ExchangeScope {
 public:
  ExchangeScope() noexcept;
  ~ExchangeScope();
  ExchangeScope(const ExchangeScope&) = delete;
  ExchangeScope& operator=(const ExchangeScope&) = delete;
};

// Base of objects that keep pages detached beyond one exchange (page_sentinels.hpp). While exchanges are suspended
// their pages are attached.
class DetachedPages {
 public:
  DetachedPages() = default;
  virtual ~DetachedPages() = default;
  DetachedPages(const DetachedPages&) = delete;
  DetachedPages& operator=(const DetachedPages&) = delete;
  // Called by the thread that suspends exchanges, before and after its system call.
  virtual void reattach_range(std::uint64_t low, std::uint64_t high) noexcept = 0;  // pages in [low, high)
  virtual void detach_again() noexcept = 0;

 protected:
  // The object is called between register_self() and unregister_self().
  void register_self() noexcept;
  void unregister_self() noexcept;

 private:
  friend void suspend_exchanges(std::uint64_t low, std::uint64_t high) noexcept;
  friend void resume_exchanges() noexcept;
  DetachedPages* next_ = nullptr;
};

// Suspends exchanges around a system call of the calling thread: waits until no exchange is in progress and all
// detached pages in [low, high) are attached. Preserves errno.
void suspend_exchanges(std::uint64_t low = 0, std::uint64_t high = ~std::uint64_t{0}) noexcept;
void resume_exchanges() noexcept;
// Replaces resume_exchanges() in a child of fork, where the lock's owner has another thread id.
void reset_exchanges_in_child() noexcept;

}  // namespace terrace::transfer
