// The program of interposition_test: `subject WHAT` does one thing, and prints what the test compares.
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <terrace/unimem.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

double big_table[5000];
namespace field {
float velocity[9000];
}
const char* g_not_used = nullptr;

namespace {

__attribute__((noinline)) void* xmalloc(std::size_t size) {
  void* const block = std::malloc(size);
  if (!block) std::abort();
  return block;
}

__attribute__((noinline)) void keep(void* block) { asm volatile("" : : "r"(block) : "memory"); }

// The tests look for these lines in names of objects.
int names() {
  void* const direct = std::malloc(100'000);        // LINE direct
  void* const wrapped = xmalloc(200'000);           // LINE wrapped
  std::vector<double> vector(50'000);               // LINE vector
  auto array = std::make_unique<int[]>(60'000);     // LINE array
  void* zeroed = std::calloc(1000, 300);            // LINE zeroed
  void* aligned = std::aligned_alloc(4096, 65536);  // LINE aligned
  void* resized = std::realloc(nullptr, 70'000);    // LINE resized
  char* copied = strdup(std::string(90'000, 'x').c_str());
  for (void* block : {direct, wrapped, zeroed, aligned, resized, static_cast<void*>(copied)}) {
    keep(block);
    std::free(block);
  }
  keep(vector.data());
  keep(array.get());
  return 0;
}

int small() {
  for (int i = 0; i < 1000; ++i) std::free(std::malloc(static_cast<std::size_t>(i) * 16));
  return 0;
}

int family() {
  // Contents survive every reallocation across the limit between small and large blocks.
  auto* block = static_cast<unsigned char*>(std::malloc(100));
  std::size_t had = 100;
  std::memset(block, 7, had);
  for (const std::size_t size :
       {16383UL, 16384UL, 20000UL, 5UL, 1UL << 20, 3UL << 20, 100'000UL, 16385UL, 4097UL}) {
    block = static_cast<unsigned char*>(std::realloc(block, size));
    for (std::size_t i = 0; i < std::min(had, size); ++i)
      if (block[i] != 7) return std::printf("lost byte %zu of %zu\n", i, size), 1;
    std::memset(block, 7, size);
    had = size;
  }
  std::free(block);
  errno = 0;
  void* const none = std::malloc(SIZE_MAX / 2);
  std::printf("%s %d\n", none ? "got it" : "refused", errno == ENOMEM);
  errno = EBADF;
  std::free(std::malloc(50'000));
  std::printf("errno kept %d\n", errno == EBADF);
  void* aligned = nullptr;
  std::printf("%d %d %d\n", posix_memalign(&aligned, 3, 50'000) == EINVAL,
              posix_memalign(&aligned, 1 << 22, 50'000),
              reinterpret_cast<std::uintptr_t>(aligned) % (1 << 22) == 0);
  std::free(aligned);
  std::free(nullptr);
  std::printf("%d\n", std::realloc(std::malloc(50'000), 0) == nullptr);
  auto* const fresh = static_cast<unsigned char*>(std::malloc(50'000));
  std::memset(fresh, 1, 50'000);
  std::free(fresh);
  auto* const zero = static_cast<unsigned char*>(std::calloc(5, 10'000));
  bool clean = true;
  for (int i = 0; i < 50'000; ++i) clean &= zero[i] == 0;
  std::printf("calloc %s\n", clean ? "zero" : "dirty");
  std::free(zero);
  return 0;
}

int mappings() {
  constexpr std::size_t k_size = 64 * 4096;
  const auto map = [](std::size_t size, int protection) {
    return static_cast<char*>(mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  };
  char* const whole = map(k_size, PROT_READ | PROT_WRITE);  // LINE mapping
  munmap(whole, 8 * 4096);
  munmap(whole + 16 * 4096, 8 * 4096);
  auto* const moved = static_cast<char*>(mremap(whole + 24 * 4096, 40 * 4096, 200 * 4096, MREMAP_MAYMOVE));
  moved[199 * 4096] = 1;
  munmap(moved, 200 * 4096);
  munmap(whole, k_size);
  map(k_size, PROT_NONE);
  return 0;
}

int api() {
  std::printf("active %d\n", terrace_active());
  void* const named = terrace_malloc("mine", 100'000);
  std::memset(named, 1, 100'000);
  std::printf("where %s\n", terrace_where(named) ? terrace_where(named) : "unknown");
  terrace_loop_begin("main");
  terrace_phase("one");
  terrace_phase("two");
  terrace_loop_end();
  std::printf("object %d\n", terrace_object("table", big_table, sizeof big_table));
  std::printf("forget %d\n", terrace_forget(big_table));
  std::printf("again %d\n", terrace_forget(big_table));
  std::printf("small %d %d\n", terrace_object("small", big_table, 8), terrace_last_error()[0] != '\0');
  std::printf("null %d %d\n", terrace_object(nullptr, big_table, 8), terrace_malloc("empty", 0) == nullptr);
  std::printf("hints %d %d %d\n", terrace_value("n", 2), terrace_refs("mine", "2*n"),
              terrace_depends("one", "mine", 0));
  std::printf("wrong %d %d\n", terrace_refs("wrong", ""), terrace_refs("mine", nullptr));
  terrace_free(named);
  std::printf("unimem %d\n", unimem_init());
  unimem_start();
  unimem_free(unimem_malloc(20'000, "theirs"));
  unimem_end();
  std::printf("seconds %d\n", terrace_seconds() >= 0);
  return 0;
}

void* thread_body(void*) {
  void* const block = std::malloc(40'000);
  keep(block);
  return block;
}

int threads() {
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, thread_body, nullptr);
    void* block = nullptr;
    pthread_join(thread, &block);
    std::free(block);
  }
  return 0;
}

int clocks() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  std::printf("monotonic %ld.%09ld\n", time.tv_sec, time.tv_nsec);
  clock_gettime(CLOCK_REALTIME, &time);
  std::printf("realtime %ld.%09ld\n", time.tv_sec, time.tv_nsec);
  timeval day{};
  gettimeofday(&day, nullptr);
  std::printf("day %ld.%06ld\n", day.tv_sec, day.tv_usec);
  std::printf("time %ld\n", static_cast<long>(::time(nullptr)));
  std::printf("clock %ld\n", static_cast<long>(clock()));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("usage %ld.%06ld\n", usage.ru_utime.tv_sec, usage.ru_utime.tv_usec);
  usleep(2000);
  return 0;
}

int stack() {
  int here = 0;
  std::printf("%zu\n", reinterpret_cast<std::uintptr_t>(&here) % 4096);
  return 0;
}

int ending(const std::string& how, char** words) {
  std::printf("ending\n");
  std::fflush(stdout);
  char* const empty[] = {nullptr};
  char* const again[] = {words[0], const_cast<char*>("stack"), nullptr};
  if (how == "_exit") _exit(3);
  if (how == "quick_exit") std::quick_exit(3);
  if (how == "exit") std::exit(3);
  if (how == "abort") std::abort();
  if (how == "exec") execve(words[0], again, empty);
  if (how == "execl") execl(words[0], words[0], "stack", nullptr);
  if (how == "noexec") execl("/does/not/exist", "no", nullptr);
  if (how == "vfork") {
    const pid_t child = vfork();
    if (child == 0) {
      execve("/does/not/exist", again, empty);
      _exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      std::free(std::malloc(100'000));
      std::exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  if (how == "spawn") {
    pid_t child = 0;
    posix_spawn(&child, words[0], nullptr, nullptr, again, empty);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  return 6;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const std::map<std::string, int (*)()> all{{"names", names},       {"small", small}, {"family", family},
                                             {"mappings", mappings}, {"api", api},     {"threads", threads},
                                             {"clocks", clocks},     {"stack", stack}};
  big_table[count] = field::velocity[count] = 1;
  const auto found = all.find(what);
  return found != all.end() ? found->second() : ending(what, words);
}
