// See holding.hpp.
#include "transfer/exchange/holding.hpp"

#include <pthread.h>

#include <cerrno>

namespace terrace::transfer {

namespace {

// Who holds them up goes first: movers that never stop would keep it waiting.
constexpr pthread_rwlock_t k_free = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
constinit pthread_rwlock_t g_lock = k_free;
constinit Aside* g_aside = nullptr;  // the first of a list; guarded by the lock

}  // namespace

Underway::Underway() noexcept { pthread_rwlock_rdlock(&g_lock); }
Underway::~Underway() { pthread_rwlock_unlock(&g_lock); }

void Aside::join() noexcept {
  pthread_rwlock_wrlock(&g_lock);
  next_ = g_aside;
  g_aside = this;
  pthread_rwlock_unlock(&g_lock);
}

void Aside::leave() noexcept {
  pthread_rwlock_wrlock(&g_lock);
  for (auto** at = &g_aside; *at; at = &(*at)->next_)
    if (*at == this) {
      *at = next_;
      break;
    }
  pthread_rwlock_unlock(&g_lock);
}

void hold_exchanges(std::uint64_t low, std::uint64_t high) noexcept {
  const int before = errno;
  pthread_rwlock_wrlock(&g_lock);
  for (auto* one = g_aside; one; one = one->next_) one->put_back(low, high);
  errno = before;
}

void release_exchanges() noexcept {
  const int before = errno;
  for (auto* one = g_aside; one; one = one->next_) one->put_aside();
  pthread_rwlock_unlock(&g_lock);
  errno = before;
}

// Those who put pages aside are threads of the parent, and so are their files.
void release_exchanges_in_child() noexcept {
  g_lock = k_free;
  g_aside = nullptr;
}

}  // namespace terrace::transfer
