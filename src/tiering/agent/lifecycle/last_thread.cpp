// SPDX-License-Identifier: Apache-2.0
// Watches /proc/self/task for the end of the program's threads, and then ends the process. pthread_create(3)
// starts the watch with the first thread of Terrace's own. See last_thread.hpp.
//
// The watch thread checks whether the main thread has ended, and then whether threads other than Terrace's are
// left. It unshares its file descriptors, so that the program's descriptor numbers stay unaffected. A second
// thread, which shares the program's descriptors, calls exit(0). It is made only when the main thread has ended
// through the C library.
#include "agent/lifecycle/last_thread.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "agent/lifecycle/in_process.hpp"
#include "core/internal_thread.hpp"
#include "core/system_time.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

constexpr long k_second = 1'000'000'000;  // nanoseconds
constexpr long k_soon = 20'000'000;       // polling interval after the end of the main thread
constexpr std::string_view k_of_the_kernel[] = {"iou-wrk-", "iou-sqp-"};  // io_uring's threads

constinit std::atomic<bool> g_watches{false};
constinit std::mutex g_mutex;  // guards the next three
constinit bool g_can_wake = false;
constinit bool g_main_left = false;
sigset_t g_signals;  // blocked by the main thread when it ended
sem_t g_wake;        // wakes the watch thread
sem_t g_exit;        // wakes the thread that calls exit()
constinit std::atomic<bool> g_can_exit{false};
constinit std::atomic<bool> g_is_over{false};  // the watch thread is to end
pthread_t g_looking;

int open_at(int folder, const char* path, int flags) noexcept {
  return static_cast<int>(syscall(SYS_openat, folder, path, flags | O_RDONLY | O_CLOEXEC));
}

// Contents of /proc/self/task/NUMBER/stat.
struct ThreadStatus {
  bool is_managed = false;
  bool has_ended = false;
};

// Returns false if there is no such thread.
bool read_task(int tasks, const char* number, ThreadStatus& task) noexcept {
  char path[64] = {};
  char text[1024] = {};
  std::strncat(path, number, 32);
  std::strcat(path, "/stat");
  const int file = open_at(tasks, path, 0);
  if (file < 0) return false;
  const auto got = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  if (got <= 0) return false;
  const std::string_view line(text, static_cast<std::size_t>(got));
  const auto begin = line.find('(');
  const auto end = line.rfind(')');  // a name may have parentheses
  if (end == line.npos || begin >= end || end + 2 >= line.size()) return false;
  const auto name = line.substr(begin + 1, end - begin - 1);
  task.is_managed = name.starts_with(k_thread_name_prefix);
  for (const auto prefix : k_of_the_kernel) task.is_managed = task.is_managed || name.starts_with(prefix);
  task.has_ended = line[end + 2] == 'Z' || line[end + 2] == 'X';
  return true;
}

struct DirectoryEntry {  // as getdents64(2) has it
  std::uint64_t number;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t type;
  char name[1];
};

// Returns whether a thread of the program still runs; true if that is unknown. `tasks`: /proc/self/task.
bool others_are_left(int tasks) noexcept {
  alignas(DirectoryEntry) char entries[4096];
  if (syscall(SYS_lseek, tasks, 0L, SEEK_SET) != 0) return true;
  for (;;) {
    const auto got = syscall(SYS_getdents64, tasks, entries, sizeof entries);
    if (got < 0) return true;
    if (got == 0) return false;
    for (long at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      at += entry->size;
      ThreadStatus task;
      if (entry->name[0] == '.' || !read_task(tasks, entry->name, task)) continue;
      if (!task.is_managed && !task.has_ended) return true;
    }
  }
}

void wait_at_most(long nanoseconds) noexcept {
  const auto until = add_ns(read_clock(CLOCK_REALTIME), nanoseconds);
  while (sem_timedwait(&g_wake, &until) != 0 && errno == EINTR) {
  }
}

bool main_left() noexcept {
  const std::lock_guard guard(g_mutex);
  return g_main_left;
}

// Runs the watch thread. If the main thread has ended by the bare system call, no exit handlers run, and the
// status is that of the last thread: 0, as the C library passes.
void* look(void*) {
  observe::t_thread.enter_runtime();
  if (syscall(SYS_unshare, CLONE_FILES) == 0) syscall(SYS_close_range, 0U, ~0U, 0U);
  const int tasks = open_at(AT_FDCWD, "/proc/self/task", O_DIRECTORY);
  const auto name = std::to_string(getpid());
  for (ThreadStatus main; tasks >= 0 && !g_is_over;
       wait_at_most(main.has_ended || main_left() ? k_soon : k_second)) {
    if (g_is_over || !read_task(tasks, name.c_str(), main) || !main.has_ended || others_are_left(tasks)) continue;
    if (!main_left()) syscall(SYS_exit_group, 0);
    if (!g_can_exit) _exit(0);  // the thread for exit() could not be created
    sem_post(&g_exit);
    break;
  }
  return nullptr;
}

// Calls exit(0) outside Terrace, because exit handlers are the program's code.
void* call_exit(void*) {
  observe::t_thread.enter_runtime();
  while (sem_wait(&g_exit) != 0) {
  }
  observe::register_thread();
  observe::t_thread.leave_runtime();
  pthread_sigmask(SIG_SETMASK, &g_signals, nullptr);
  std::exit(0);
}

// Requires: g_mutex is held.
void prepare_exit() noexcept {
  pthread_t thread{};
  g_can_exit = start_signal_masked_thread(thread, "terrace/exit", call_exit, nullptr);
  if (g_can_exit) pthread_detach(thread);
  sem_post(&g_wake);
}

// Runs when the main thread ends by pthread_exit(3) or cancellation; not when main() returns or exit() is called.
void main_leaves(void*) {
  if (!process() || !is_own_process()) return;
  const observe::RuntimeScope inside;
  const std::lock_guard guard(g_mutex);
  g_main_left = true;
  pthread_sigmask(SIG_SETMASK, nullptr, &g_signals);
  if (g_can_wake) prepare_exit();
}

}  // namespace

void note_main_thread() noexcept {
  static pthread_key_t key{};
  sem_init(&g_exit, 0, 0);
  sem_init(&g_wake, 0, 0);
  if (pthread_key_create(&key, main_leaves) == 0) pthread_setspecific(key, &key);
}

// start_signal_masked_thread() creates a thread and so calls this function recursively.
void note_own_thread() noexcept {
  if (!is_own_process() || g_watches.exchange(true)) return;
  if (!start_signal_masked_thread(g_looking, "terrace/watch", look, nullptr)) return g_watches.store(false);
  const std::lock_guard guard(g_mutex);
  g_can_wake = true;
  if (g_main_left) prepare_exit();
}

void end_own_thread_watch() noexcept {
  {
    const std::lock_guard guard(g_mutex);
    if (!g_can_wake || g_main_left) return;
    g_can_wake = false;
  }
  g_is_over.store(true);
  sem_post(&g_wake);
  pthread_join(g_looking, nullptr);
}

}  // namespace terrace::agent
