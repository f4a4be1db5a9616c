// SPDX-License-Identifier: Apache-2.0
// Interposes POSIX locks, condition variables, semaphores and barriers in virtual time. The locks themselves stay
// the C library's, so that other users see their true state; only waiting is emulated. A thread that finds a lock
// taken waits in the scheduler for the lock's address, and continues at the releasing thread's time.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/interpose/barriers.hpp"
#include "agent/interpose/clock_time.hpp"
#include "agent/interpose/scheduling.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/next.hpp"
#include "core/errno_scope.hpp"
#include "observe/pipeline/loop_events.hpp"

namespace agent = terrace::agent;
using agent::NextFunction;

namespace {

template <class Lock>
std::uint64_t key_of(const Lock* lock) {
  return reinterpret_cast<std::uint64_t>(lock);
}

void test_cancellation() {
  static constinit NextFunction<void (*)()> next{"pthread_testcancel"};
  (*next)();
}

// Acquires the lock by repeated attempts. `busy` is the result of a failed attempt.
template <class Lock, class Attempt>
int lock_scheduled(Lock* lock, int busy, Attempt attempt) {
  agent::schedule_point();
  int error = attempt(lock);
  while (error == busy && agent::is_scheduled()) {
    agent::wait_for(key_of(lock));
    error = attempt(lock);
  }
  if (error == 0) agent::on_lock(key_of(lock));
  return error;
}

// Acquires the lock as above, until an absolute time of the clock.
template <class Lock, class Attempt>
int lock_scheduled_until(Lock* lock, int busy, Attempt attempt, clockid_t clock, const timespec* until) {
  int error = attempt(lock);
  if (error == busy && !agent::is_valid(until)) return EINVAL;
  while (error == busy && agent::is_scheduled()) {
    if (!agent::wait_for(key_of(lock), agent::program_seconds(clock, *until))) return ETIMEDOUT;
    error = attempt(lock);
  }
  if (error == 0) agent::on_lock(key_of(lock));
  return error;
}

template <class Lock, class Unlock>
int unlock_scheduled(Lock* lock, std::uint32_t max_count, Unlock unlock) {
  agent::on_unlock(key_of(lock));
  const int error = unlock(lock);
  if (error == 0) agent::wake(key_of(lock), max_count);
  return error;
}

// Unlocks on behalf of an unscheduled thread, while scheduled threads may wait for the lock.
template <class Lock, class Unlock>
int unlock_unscheduled(Lock* lock, std::uint32_t max_count, Unlock unlock) {
  const int error = unlock(lock);
  if (error == 0 && agent::in_virtual_time()) agent::wake_from_unscheduled(key_of(lock), max_count);
  return error;
}

// Returns whether the calling thread owns the mutex. Relocking is left to the C library, which deadlocks or
// returns EDEADLK, by the mutex's type.
bool is_own(const pthread_mutex_t* mutex) { return mutex->__data.__owner == static_cast<int>(gettid()); }

constinit NextFunction<int (*)(pthread_mutex_t*)> next_mutex_trylock{"pthread_mutex_trylock"};
constinit NextFunction<int (*)(pthread_mutex_t*)> next_mutex_lock{"pthread_mutex_lock"};
constinit NextFunction<int (*)(pthread_mutex_t*)> next_mutex_unlock{"pthread_mutex_unlock"};
constinit NextFunction<int (*)(pthread_rwlock_t*)> next_rwlock_tryrdlock{"pthread_rwlock_tryrdlock"};
constinit NextFunction<int (*)(pthread_rwlock_t*)> next_rwlock_trywrlock{"pthread_rwlock_trywrlock"};
constinit NextFunction<int (*)(pthread_spinlock_t*)> next_spin_trylock{"pthread_spin_trylock"};

[[gnu::noinline]] int lock_mutex(pthread_mutex_t* mutex) {
  if (is_own(mutex)) return (*next_mutex_lock)(mutex);
  return lock_scheduled(mutex, EBUSY, *next_mutex_trylock);
}

[[gnu::noinline]] int unlock_mutex(pthread_mutex_t* mutex) {
  return unlock_scheduled(mutex, 1, *next_mutex_unlock);
}

}  // namespace

extern "C" {

// --- mutexes
// ---------------------------------------------------------------------------------------------------------

TERRACE_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return agent::is_scheduled() ? lock_mutex(mutex) : (*next_mutex_lock)(mutex);
}

TERRACE_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  return agent::is_scheduled() ? unlock_mutex(mutex) : unlock_unscheduled(mutex, 1, *next_mutex_unlock);
}

TERRACE_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  const int error = (*next_mutex_trylock)(mutex);
  if (!agent::is_scheduled()) return error;
  if (error == 0) agent::on_lock(key_of(mutex));
  if (error == EBUSY) agent::backoff();
  return error;
}

TERRACE_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) noexcept {
  static constinit NextFunction<int (*)(pthread_mutex_t*, clockid_t, const timespec*)> next{
      "pthread_mutex_clocklock"};
  if (!agent::is_scheduled() || is_own(mutex)) return (*next)(mutex, clock, until);
  return lock_scheduled_until(mutex, EBUSY, *next_mutex_trylock, clock, until);
}

TERRACE_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  static constinit NextFunction<int (*)(pthread_mutex_t*, const timespec*)> next{"pthread_mutex_timedlock"};
  if (!agent::is_scheduled() || is_own(mutex)) return (*next)(mutex, until);
  return lock_scheduled_until(mutex, EBUSY, *next_mutex_trylock, CLOCK_REALTIME, until);
}

// --- condition variables: emulated by address; the C library's state is not used
// ---------------------------------------------------------------------------------------------------------

TERRACE_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static constinit NextFunction<int (*)(pthread_cond_t*, pthread_mutex_t*)> next{"pthread_cond_wait",
                                                                                 agent::k_condition_version};
  const terrace::observe::ScopedLoopWait waits;
  if (!agent::is_scheduled()) return (*next)(condition, mutex);
  if (const int error = unlock_mutex(mutex)) return error;
  agent::wait_for(key_of(condition));
  lock_mutex(mutex);
  test_cancellation();
  return 0;
}

TERRACE_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                          const timespec* until) {
  static constinit NextFunction<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> next{
      "pthread_cond_clockwait"};
  const terrace::observe::ScopedLoopWait waits;
  if (!agent::is_scheduled()) return (*next)(condition, mutex, clock, until);
  if (!agent::is_valid(until)) return EINVAL;
  if (const int error = unlock_mutex(mutex)) return error;
  const bool woken = agent::wait_for(key_of(condition), agent::program_seconds(clock, *until));
  lock_mutex(mutex);
  test_cancellation();
  return woken ? 0 : ETIMEDOUT;
}

TERRACE_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          const timespec* until) {
  static constinit NextFunction<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)> next{
      "pthread_cond_timedwait", agent::k_condition_version};
  const terrace::observe::ScopedLoopWait waits;
  if (!agent::is_scheduled()) return (*next)(condition, mutex, until);
  // The clock it was initialised with: bit 1 of glibc's __wrefs.
  const bool monotonic = (condition->__data.__wrefs & 2) != 0;
  return pthread_cond_clockwait(condition, mutex, monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, until);
}

TERRACE_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  static constinit NextFunction<int (*)(pthread_cond_t*)> next{"pthread_cond_signal", agent::k_condition_version};
  if (agent::is_scheduled() ? agent::wake(key_of(condition), 1) > 0
                            : agent::wake_from_unscheduled(key_of(condition), 1) > 0)
    return 0;
  return (*next)(condition);
}

TERRACE_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  static constinit NextFunction<int (*)(pthread_cond_t*)> next{"pthread_cond_broadcast",
                                                               agent::k_condition_version};
  if (agent::is_scheduled())
    agent::wake(key_of(condition), agent::k_all_waiters);
  else
    agent::wake_from_unscheduled(key_of(condition), agent::k_all_waiters);
  return (*next)(condition);
}

// --- read-write locks, spin locks, semaphores
// ---------------------------------------------------------------------------------------------------------

TERRACE_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static constinit NextFunction<int (*)(pthread_rwlock_t*)> next{"pthread_rwlock_rdlock"};
  return agent::is_scheduled() ? lock_scheduled(lock, EBUSY, *next_rwlock_tryrdlock) : (*next)(lock);
}

TERRACE_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static constinit NextFunction<int (*)(pthread_rwlock_t*)> next{"pthread_rwlock_wrlock"};
  const bool is_own = lock->__data.__cur_writer == static_cast<int>(gettid());
  if (!agent::is_scheduled() || is_own) return (*next)(lock);
  return lock_scheduled(lock, EBUSY, *next_rwlock_trywrlock);
}

TERRACE_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  static constinit NextFunction<int (*)(pthread_rwlock_t*)> next{"pthread_rwlock_unlock"};
  return agent::is_scheduled() ? unlock_scheduled(lock, agent::k_all_waiters, *next)
                               : unlock_unscheduled(lock, agent::k_all_waiters, *next);
}

TERRACE_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  static constinit NextFunction<int (*)(pthread_rwlock_t*, const timespec*)> next{"pthread_rwlock_timedrdlock"};
  if (!agent::is_scheduled()) return (*next)(lock, until);
  return lock_scheduled_until(lock, EBUSY, *next_rwlock_tryrdlock, CLOCK_REALTIME, until);
}

TERRACE_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  static constinit NextFunction<int (*)(pthread_rwlock_t*, const timespec*)> next{"pthread_rwlock_timedwrlock"};
  if (!agent::is_scheduled()) return (*next)(lock, until);
  return lock_scheduled_until(lock, EBUSY, *next_rwlock_trywrlock, CLOCK_REALTIME, until);
}

TERRACE_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  static constinit NextFunction<int (*)(pthread_spinlock_t*)> next{"pthread_spin_lock"};
  return agent::is_scheduled() ? lock_scheduled(lock, EBUSY, *next_spin_trylock) : (*next)(lock);
}

TERRACE_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  const int error = (*next_spin_trylock)(lock);
  if (!agent::is_scheduled()) return error;
  if (error == 0) agent::on_lock(key_of(lock));
  if (error == EBUSY) agent::backoff();
  return error;
}

TERRACE_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  static constinit NextFunction<int (*)(pthread_spinlock_t*)> next{"pthread_spin_unlock"};
  return agent::is_scheduled() ? unlock_scheduled(lock, 1, *next) : unlock_unscheduled(lock, 1, *next);
}

TERRACE_EXPORT int sem_wait(sem_t* semaphore) {
  static constinit NextFunction<int (*)(sem_t*)> next{"sem_wait"};
  static constinit NextFunction<int (*)(sem_t*)> attempt{"sem_trywait"};
  const terrace::observe::ScopedLoopWait waits;
  if (!agent::is_scheduled()) return (*next)(semaphore);
  const terrace::ErrnoScope errno_scope;
  lock_scheduled(semaphore, -1, *attempt);
  return 0;
}

TERRACE_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  static constinit NextFunction<int (*)(sem_t*, clockid_t, const timespec*)> next{"sem_clockwait"};
  static constinit NextFunction<int (*)(sem_t*)> attempt{"sem_trywait"};
  const terrace::observe::ScopedLoopWait waits;
  if (!agent::is_scheduled()) return (*next)(semaphore, clock, until);
  const int error = [&] {
    const terrace::ErrnoScope errno_scope;
    return lock_scheduled_until(semaphore, -1, *attempt, clock, until);
  }();
  return terrace::return_by_errno(error);
}

TERRACE_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  static constinit NextFunction<int (*)(sem_t*, const timespec*)> next{"sem_timedwait"};
  const terrace::observe::ScopedLoopWait waits;
  if (!agent::is_scheduled()) return (*next)(semaphore, until);
  return sem_clockwait(semaphore, CLOCK_REALTIME, until);
}

TERRACE_EXPORT int sem_post(sem_t* semaphore) noexcept {
  static constinit NextFunction<int (*)(sem_t*)> next{"sem_post"};
  return agent::is_scheduled() ? unlock_scheduled(semaphore, 1, *next) : unlock_unscheduled(semaphore, 1, *next);
}

// --- barriers
// ---------------------------------------------------------------------------------------------------------

TERRACE_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                                        unsigned count) noexcept {
  static constinit NextFunction<int (*)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned)> next{
      "pthread_barrier_init"};
  const int error = (*next)(barrier, attributes, count);
  if (error == 0 && agent::in_virtual_time()) agent::barriers().set(key_of(barrier), count);
  return error;
}

TERRACE_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  static constinit NextFunction<int (*)(pthread_barrier_t*)> next{"pthread_barrier_wait"};
  if (!agent::is_scheduled()) return (*next)(barrier);
  auto* const known = agent::barriers().find(key_of(barrier));
  if (!known) {
    const agent::ScopedBlockingCall blocking_call;
    return (*next)(barrier);
  }
  return known->wait() ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

TERRACE_EXPORT int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  static constinit NextFunction<int (*)(pthread_barrier_t*)> next{"pthread_barrier_destroy"};
  if (agent::in_virtual_time()) agent::barriers().forget(key_of(barrier));
  return (*next)(barrier);
}

}  // extern "C"
