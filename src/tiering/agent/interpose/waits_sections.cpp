// SPDX-License-Identifier: Apache-2.0
// Interposes OpenMP's mutual exclusion in virtual time: critical sections, atomic updates and locks of libgomp.
#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_set>

#include "agent/interpose/openmp_functions.hpp"
#include "agent/interpose/openmp_team.hpp"
#include "agent/interpose/scheduling.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

// Remembers the sections that a thread has entered, and by which copy of the library: the call that leaves one is
// usually a tail call, whose return address does not identify the copy.
class EnteredSections {
 public:
  // `section`: the address of its name; k_unnamed or k_atomic.
  void enter(const void* section, const OpenMp& openmp) {
    if (count_ < entered_.size()) entered_[count_++] = {section, openmp};
  }
  // Returns the copy by which the section was last entered, or else the caller's.
  OpenMp leave(const void* section, const void* caller) {
    for (std::size_t i = count_; i-- > 0;) {
      if (entered_[i].section != section) continue;
      const OpenMp found = entered_[i].openmp;
      for (--count_; i < count_; ++i) entered_[i] = entered_[i + 1];
      return found;
    }
    return openmp_of(caller);
  }

 private:
  struct Entered {
    const void* section = nullptr;
    OpenMp openmp;
  };
  std::array<Entered, 8> entered_{};  // nested deeper, the caller's address decides
  std::size_t count_ = 0;
};

constexpr char k_unnamed[] = "critical";
constexpr char k_atomic[] = "atomic";

constinit thread_local EnteredSections t_sections __attribute__((tls_model("initial-exec")));

// Critical sections by address. Needs no lock: the scheduler runs one thread at a time.
std::unordered_set<std::uint64_t>& taken_sections() {
  static auto& taken = *new std::unordered_set<std::uint64_t>;
  return taken;
}

// Enters an emulated critical section. Returns false if the calling thread is not scheduled: the library must do
// it.
bool enter_section(std::uint64_t key) {
  if (!is_scheduled()) return false;
  schedule_point();
  while (is_scheduled() && taken_sections().contains(key)) wait_for(key);
  {
    const observe::RuntimeScope inside;
    taken_sections().insert(key);
  }
  on_lock(key);
  return true;
}

// Leaves an emulated critical section. Returns false if the section was entered in the library.
bool leave_section(std::uint64_t key) {
  if (observe::t_thread.inside > 0 || !taken_sections().contains(key)) return false;
  on_unlock(key);
  {
    const observe::RuntimeScope inside;
    taken_sections().erase(key);
  }
  wake(key, 1);
  return true;
}

template <class Lock, class Attempt>
void set_lock(Lock* lock, Attempt attempt) {
  schedule_point();
  while (attempt(lock) == 0 && is_scheduled()) wait_for(key_of(lock));
  on_lock(key_of(lock));
}

template <class Lock, class Unset>
void unset_lock(Lock* lock, Unset unset) {
  on_unlock(key_of(lock));
  unset(lock);
  wake(key_of(lock), 1);
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

TERRACE_EXPORT void GOMP_critical_start() {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void (*)()>("GOMP_critical_start");
  if (!agent::enter_section(openmp.unnamed_section())) next();
  agent::t_sections.enter(agent::k_unnamed, openmp);
}
TERRACE_EXPORT void GOMP_critical_end() {
  const auto openmp = agent::t_sections.leave(agent::k_unnamed, __builtin_return_address(0));
  const auto next = openmp.function<void (*)()>("GOMP_critical_end");
  if (!agent::leave_section(openmp.unnamed_section())) next();
}
TERRACE_EXPORT void GOMP_critical_name_start(void** name) {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void (*)(void**)>("GOMP_critical_name_start");
  if (!agent::enter_section(agent::key_of(name))) next(name);
  agent::t_sections.enter(name, openmp);
}
TERRACE_EXPORT void GOMP_critical_name_end(void** name) {
  const auto openmp = agent::t_sections.leave(name, __builtin_return_address(0));
  const auto next = openmp.function<void (*)(void**)>("GOMP_critical_name_end");
  if (!agent::leave_section(agent::key_of(name))) next(name);
}
TERRACE_EXPORT void GOMP_atomic_start() {
  const auto openmp = agent::openmp_of(__builtin_return_address(0));
  const auto next = openmp.function<void (*)()>("GOMP_atomic_start");
  if (!agent::enter_section(openmp.atomic_section())) next();
  agent::t_sections.enter(agent::k_atomic, openmp);
}
TERRACE_EXPORT void GOMP_atomic_end() {
  const auto openmp = agent::t_sections.leave(agent::k_atomic, __builtin_return_address(0));
  const auto next = openmp.function<void (*)()>("GOMP_atomic_end");
  if (!agent::leave_section(openmp.atomic_section())) next();
}

// Defines the C and Fortran entry points.
#define OMP_LOCK(suffix, kind)                                                                      \
  TERRACE_EXPORT void omp_set_##kind##suffix(void* lock) {                                          \
    const auto openmp = agent::openmp_of(__builtin_return_address(0));                              \
    const auto next = openmp.function<void (*)(void*)>("omp_set_" #kind #suffix);                   \
    const auto attempt = openmp.function<int (*)(void*)>("omp_test_" #kind #suffix);                \
    agent::is_scheduled() ? agent::set_lock(lock, attempt) : next(lock);                            \
  }                                                                                                 \
  TERRACE_EXPORT void omp_unset_##kind##suffix(void* lock) {                                        \
    const auto openmp = agent::openmp_of(__builtin_return_address(0));                              \
    const auto next = openmp.function<void (*)(void*)>("omp_unset_" #kind #suffix);                 \
    agent::is_scheduled() ? agent::unset_lock(lock, next) : next(lock);                             \
  }                                                                                                 \
  TERRACE_EXPORT int omp_test_##kind##suffix(void* lock) {                                          \
    const auto openmp = agent::openmp_of(__builtin_return_address(0));                              \
    const auto next = openmp.function<int (*)(void*)>("omp_test_" #kind #suffix);                   \
    const int taken = next(lock);                                                                   \
    if (agent::is_scheduled()) taken != 0 ? agent::on_lock(agent::key_of(lock)) : agent::backoff(); \
    return taken;                                                                                   \
  }
OMP_LOCK(, lock)
OMP_LOCK(, nest_lock)
OMP_LOCK(_, lock)
OMP_LOCK(_, nest_lock)

}  // extern "C"
