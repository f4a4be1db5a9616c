// See holding.hpp.
#include "transfer/exchange/holding.hpp"

#include <pthread.h>

namespace terrace::transfer {

namespace {

// Who holds them up goes first: movers that never stop would keep it waiting.
constinit pthread_rwlock_t g_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

}  // namespace

Underway::Underway() noexcept { pthread_rwlock_rdlock(&g_lock); }
Underway::~Underway() { pthread_rwlock_unlock(&g_lock); }

void hold_exchanges() noexcept { pthread_rwlock_wrlock(&g_lock); }
void release_exchanges() noexcept { pthread_rwlock_unlock(&g_lock); }

}  // namespace terrace::transfer
