// SPDX-License-Identifier: Apache-2.0
// Makes the heaps of spilled (out-of-core) memory at the first block for them, on behalf of the interposed malloc
// and mmap. Until then the process has no threads of Terrace and its whole address space. The requesting thread
// may be any thread in any state.
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "agent/heap/spilled_heap.hpp"
#include "agent/heap/spilled_small.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/standard_stream_guard.hpp"
#include "core/address_space.hpp"
#include "core/rounding.hpp"
#include "observe/coverage/time_samples.hpp"

namespace terrace::agent {

namespace {

constinit std::atomic<bool> g_refused{false};  // the system lacks support
constinit std::mutex g_start_mutex;

// Blocks signals and cancellation of the thread that starts the spilled heap: a signal handler might also
// allocate.
class ScopedAsyncBlock {
 public:
  ScopedAsyncBlock() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals_);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
  }
  ~ScopedAsyncBlock() {
    pthread_setcancelstate(cancel_, nullptr);
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  }
  ScopedAsyncBlock(const ScopedAsyncBlock&) = delete;
  ScopedAsyncBlock& operator=(const ScopedAsyncBlock&) = delete;

 private:
  sigset_t signals_{};
  int cancel_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace

SpilledHeap* start_spilled_heap(const Process& here) noexcept {
  if (!here.make_spilled) return nullptr;
  if (auto* const made = spilled_heap()) return made;
  // Not in a child made by a bare system call: the heap's thread would run in the child.
  if (g_refused.load(std::memory_order_relaxed) || !is_own_process()) return nullptr;
  const observe::RuntimeScope inside;
  const ScopedAsyncBlock undisturbed;
  const std::lock_guard guard(g_start_mutex);
  if (auto* const made = spilled_heap()) return made;
  if (g_refused.load(std::memory_order_relaxed)) return nullptr;
  const StandardStreamGuard taken;
  auto* const made = here.make_spilled();
  g_pointers.spilled.store(made, std::memory_order_release);
  g_refused.store(!made, std::memory_order_relaxed);
  return made;
}

namespace {

// A thread checks the size of the process each time it has allocated this share of the memory limit in small
// blocks, and at most k_max_step bytes.
constexpr std::uint64_t k_step_share = 16;
constexpr std::size_t k_max_step = std::size_t{16} << 20;

// Returns whether the resident memory is at least `bytes`. Avoids reading /proc if the peak (ru_maxrss) is below.
bool is_large(std::uint64_t bytes) noexcept {
  rusage use{};
  if (getrusage(RUSAGE_SELF, &use) == 0 && static_cast<std::uint64_t>(use.ru_maxrss) << 10 < bytes) return false;
  const auto memory = process_memory();
  return memory && memory->resident.value >= bytes;
}

struct LibraryCode {
  std::uint64_t low = 0, high = 0;
};
constinit std::array<LibraryCode, 2> g_c_library{};  // and of the dynamic linker

// Records the code of the C library and the dynamic linker; called by dl_iterate_phdr(3).
int note_c_library(dl_phdr_info* info, std::size_t, void* context) noexcept {
  auto& count = *static_cast<std::size_t*>(context);
  const char* const slash = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
  if (!slash || (std::strncmp(slash, "/libc.so", 8) != 0 && std::strncmp(slash, "/ld-linux", 9) != 0)) return 0;
  for (int i = 0; i < info->dlpi_phnum && count < g_c_library.size(); ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const auto low = info->dlpi_addr + part.p_vaddr;
    g_c_library.at(count++) = {low, low + part.p_memsz};
  }
  return 0;
}

bool is_of_c_library(const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(caller);
  return std::ranges::any_of(
      g_c_library, [address](const LibraryCode& code) { return address - code.low < code.high - code.low; });
}

// Returns spilled_small(), which it makes once the process is large enough. `size`: of the requested block.
SpilledSmall* start_spilled_small(const Process& here, std::size_t size) noexcept {
  if (auto* const made = spilled_small()) return made;
  static constinit thread_local std::size_t allocated __attribute__((tls_model("initial-exec"))) = 0;
  allocated += size;
  if (allocated < std::min<std::uint64_t>(here.spilled_memory / k_step_share, k_max_step)) return nullptr;
  allocated = 0;
  if (!is_large(here.spilled_memory / SpilledSmall::k_resident_divisor)) return nullptr;
  auto* const heap = start_spilled_heap(here);
  if (!heap) return nullptr;
  const ScopedAsyncBlock undisturbed;
  const std::lock_guard guard(g_start_mutex);
  if (auto* const made = spilled_small()) return made;
  auto* const made = new (std::nothrow) SpilledSmall(*heap);
  g_pointers.small.store(made, std::memory_order_release);
  return made;
}

}  // namespace

void find_c_library() noexcept {
  std::size_t count = 0;
  dl_iterate_phdr(note_c_library, &count);
}

void* allocate_small_spilled(std::size_t size, std::size_t alignment, bool zeros, const void* caller) noexcept {
  if (size >= SpilledHeap::k_min || observe::t_thread.inside != 0) return nullptr;
  auto* const here = process();
  if (!here || !here->make_spilled || is_of_c_library(caller)) return nullptr;
  const observe::AgentScope scope;
  void* block = nullptr;
  if (auto* const small = start_spilled_small(*here, size)) {
    if (SpilledSmall::fits(size, alignment))
      block = small->allocate(size, alignment, zeros);
    else if (size > SpilledSmall::k_largest && (block = spilled_heap()->allocate(size, alignment, zeros)))
      apply_plan_preference(*here, *spilled_heap(), block);
  }
  return block;
}

void apply_plan_preference(Process& here, SpilledHeap& heap, const void* block) noexcept {
  if (!here.preference_of) return;
  char name[k_name_capacity];
  heap.set_preference(block, here.preference_of(name_caller(here, name)));
}

void lock_spilled_start() noexcept { g_start_mutex.lock(); }
void unlock_spilled_start() noexcept { g_start_mutex.unlock(); }

}  // namespace terrace::agent
