// See holding.hpp.
#include "transfer/exchange/exchange_lock.hpp"

#include <pthread.h>

#include <cerrno>

namespace terrace::transfer {

namespace {

// Who holds them up goes first: movers that never stop would keep it waiting.
constexpr pthread_rwlock_t k_unlocked = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
constinit pthread_rwlock_t g_lock = k_unlocked;
constinit DetachedPages* g_detached = nullptr;  // the first of a list; guarded by the lock

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

// Those who put pages aside are threads of the parent, and so are their files.
void reset_exchanges_in_child() noexcept {
  g_lock = k_unlocked;
  g_detached = nullptr;
}

}  // namespace terrace::transfer
