// SPDX-License-Identifier: Apache-2.0
// Implements the process-wide lock by which the agent's interposed fork(2), madvise(2) and mremap(2) wait for page
// exchanges. See exchange_lock.hpp.
#include "transfer/exchange/exchange_lock.hpp"

#include <pthread.h>

#include <cerrno>

namespace terrace::transfer {

namespace {

// Prefers writers: continuous exchanges (readers) would starve suspend_exchanges().
constexpr pthread_rwlock_t k_unlocked = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
constinit pthread_rwlock_t g_lock = k_unlocked;
constinit DetachedPages* g_detached = nullptr;  // head of the list of registered objects; guarded by the lock

}  // namespace

ExchangeScope::ExchangeScope() noexcept { pthread_rwlock_rdlock(&g_lock); }
ExchangeScope::~ExchangeScope() { pthread_rwlock_unlock(&g_lock); }

void DetachedPages::register_self() noexcept {
  pthread_rwlock_wrlock(&g_lock);
  next_ = g_detached;
  g_detached = this;
  pthread_rwlock_unlock(&g_lock);
}

void DetachedPages::unregister_self() noexcept {
  pthread_rwlock_wrlock(&g_lock);
  for (auto** link = &g_detached; *link; link = &(*link)->next_)
    if (*link == this) {
      *link = next_;
      break;
    }
  pthread_rwlock_unlock(&g_lock);
}

void suspend_exchanges(std::uint64_t low, std::uint64_t high) noexcept {
  const int before = errno;
  pthread_rwlock_wrlock(&g_lock);
  for (auto* one = g_detached; one; one = one->next_) one->reattach_range(low, high);
  errno = before;
}

void resume_exchanges() noexcept {
  const int before = errno;
  for (auto* one = g_detached; one; one = one->next_) one->detach_again();
  pthread_rwlock_unlock(&g_lock);
  errno = before;
}

// Drops all registrations: the registered objects' threads and descriptors belong to the parent.
void reset_exchanges_in_child() noexcept {
  g_lock = k_unlocked;
  g_detached = nullptr;
}

}  // namespace terrace::transfer
