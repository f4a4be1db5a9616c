// See holding.hpp.
#include "transfer/exchange/holding.hpp"

#include <pthread.h>

namespace terrace::transfer {

namespace {

// Who holds them up goes first: movers that never stop would keep it waiting.
constexpr pthread_rwlock_t k_free = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
constinit pthread_rwlock_t g_lock = k_free;

}  // namespace

Underway::Underway() noexcept { pthread_rwlock_rdlock(&g_lock); }
Underway::~Underway() { pthread_rwlock_unlock(&g_lock); }

void hold_exchanges() noexcept { pthread_rwlock_wrlock(&g_lock); }
void release_exchanges() noexcept { pthread_rwlock_unlock(&g_lock); }

void release_exchanges_in_child() noexcept { g_lock = k_free; }

}  // namespace terrace::transfer
