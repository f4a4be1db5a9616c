// Memory over a file begins with the first block for it: until then the process has its own threads alone, and all
// of its address space. Whoever asks for that block may be any thread, in any place.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "agent/heap/spilled_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/low_files.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

constinit std::atomic<bool> g_refused{false};  // the system lacks what it takes
constinit std::mutex g_beginning;

// No handler runs in this thread, which may ask for a block as well; and pthread_cancel(3) is not heard.
class Undisturbed {
 public:
  Undisturbed() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals_);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
  }
  ~Undisturbed() {
    pthread_setcancelstate(cancel_, nullptr);
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  sigset_t signals_{};
  int cancel_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace

SpilledHeap* begin_spilled(const Process& here) noexcept {
  if (!here.make_spilled) return nullptr;
  if (auto* const made = spilled_heap()) return made;
  // A child that shares or copies the memory without a call of ours would have the thread in itself.
  if (g_refused.load(std::memory_order_relaxed) || !is_own_process()) return nullptr;
  const observe::Inside inside;
  const Undisturbed undisturbed;
  const std::lock_guard guard(g_beginning);
  if (auto* const made = spilled_heap()) return made;
  if (g_refused.load(std::memory_order_relaxed)) return nullptr;
  const LowFilesTaken taken;
  auto* const made = here.make_spilled();
  g_standing.spilled.store(made, std::memory_order_release);
  g_refused.store(!made, std::memory_order_relaxed);
  return made;
}

void lock_beginning() noexcept { g_beginning.lock(); }
void unlock_beginning() noexcept { g_beginning.unlock(); }

}  // namespace terrace::agent
