// Tests the hooks with code that the compiler instrumented: its accesses are traced, atomics are atomic, calls are
// recorded, and the interposed memory functions behave like the C library's.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "instrumented.hpp"
#include "observe/pipeline/shadow_stack.hpp"
#include "observe/threads/thread.hpp"
#include "recording.hpp"

namespace terrace::observe::test {
namespace {

// Traces this thread's accesses to its pipeline during a scope.
class Followed : public Bench {
 public:
  explicit Followed(std::size_t bytes) : Bench(bytes) {
    register_thread();
    t_thread.set_pipeline(pipeline.get());
  }
  ~Followed() {
    t_thread.set_pipeline(nullptr);
    unregister_thread();
  }
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;
  // Stops tracing: the test's own accesses are not the program's.
  const RecordingSink& stop() {
    t_thread.set_pipeline(nullptr);
    pipeline->flush();
    return sink;
  }
};

TEST(Hooks, InstrumentedLoop_EveryElementTraced) {
  constexpr std::size_t n = 1 << 16;
  Followed followed(3 * n * 8);
  auto* a = followed.as<double>();
  triad(a, a + n, a + 2 * n, n);
  const auto& sink = followed.stop();
  EXPECT_EQ(sink.accesses, 3 * n);
  EXPECT_EQ(sink.fetched(), 3 * n / 8);
  EXPECT_EQ(sink.count(MissKind::independent), 9u);  // three lines of each array train its stream
  EXPECT_EQ(sink.hits[0] + sink.hits[1] + sink.fetched(), 3 * n);
}

TEST(Hooks, InstrumentedChase_MissesAreDependent) {
  constexpr std::size_t nodes = 1 << 14;
  Followed followed(nodes * 64);
  std::vector<std::uint32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (std::size_t i = 0; i < nodes; ++i) {
    *reinterpret_cast<void**>(followed.as<char>() + order[i] * 64) =
        followed.as<char>() + order[(i + 1) % nodes] * 64;
  }
  void* const first = followed.as<char>() + order[0] * 64;
  EXPECT_EQ(chase(first, nodes), first);
  EXPECT_GE(followed.stop().share(MissKind::dependent), 0.99);
}

TEST(Hooks, AllSizesAndKinds_AreTraced) {
  Followed followed(4096);
  touch_all_sizes(followed.as<char>());
  followed.pipeline->flush();
  EXPECT_EQ(followed.sink.accesses, 8u);
  unaligned(followed.as<char>() + 64);
  followed.pipeline->flush();
  EXPECT_EQ(followed.sink.accesses, 10u);
  volatiles(followed.as<int>());
  followed.pipeline->flush();
  EXPECT_EQ(followed.sink.accesses, 13u);
  copy_constant(followed.as<char>() + 1024, followed.as<char>() + 2048);
  followed.pipeline->flush();
  EXPECT_EQ(followed.sink.accesses, 15u) << "one line each";
  Virtual object;
  call_virtual(object);
  EXPECT_EQ(followed.stop().accesses, 17u);
}

TEST(Hooks, Atomics_HaveTheirEffect) {
  alignas(16) std::uint64_t memory[2] = {};
  Followed followed(4096);
  EXPECT_EQ(atomics(reinterpret_cast<std::uint8_t*>(memory)), 252);
  EXPECT_EQ(atomics(reinterpret_cast<std::uint16_t*>(memory)), 252);
  EXPECT_EQ(atomics(reinterpret_cast<std::uint32_t*>(memory)), 252u);
  EXPECT_EQ(atomics(memory), 252u);
  EXPECT_TRUE(atomics(reinterpret_cast<Wide*>(memory)) == 252u);
  EXPECT_TRUE(compare_exchange_orders(reinterpret_cast<std::uint32_t*>(memory)));
  EXPECT_GT(followed.stop().accesses, 5u * 16);
}

TEST(Hooks, ConcurrentAtomics_LoseNoUpdate) {
  constexpr int k_threads = 4, k_times = 20000;
  alignas(16) static Wide wide;
  static std::uint64_t narrow;
  wide = 0;
  narrow = 0;
  std::vector<std::thread> threads;
  threads.reserve(k_threads);
  for (int i = 0; i < k_threads; ++i) threads.emplace_back([] { add_many(&narrow, &wide, k_times); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(narrow, std::uint64_t{k_threads} * k_times);
  EXPECT_TRUE(wide == ((Wide{1} << 64) + 1) * k_threads * k_times);
}

std::vector<std::uint64_t> seen;
void look() {
  seen.assign(64, 0);
  seen.resize(capture_calls(seen.data(), seen.size()));
}

TEST(Hooks, FunctionHooks_MaintainCallStack) {
  Followed followed(4096);
  nest(1, look);
  ASSERT_EQ(seen.size(), 1u);
  nest(4, look);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0], seen[1]) << "the recursive call has one call site";
  EXPECT_EQ(seen[1], seen[2]);
  EXPECT_NE(seen[2], seen[3]) << "the outermost was called from here";
  EXPECT_EQ(t_thread.depth, 0u);
}

TEST(Hooks, LongjmpAndExceptions_UnwindCallStack) {
  Followed followed(4096);
  jump_and_look(look);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(t_thread.depth, 0u);
  throw_and_look(look);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(t_thread.depth, 0u);
}

TEST(Hooks, InsideRuntime_NothingTraced) {
  Followed followed(4096);
  const auto before = untraced_accesses();
  {
    const RuntimeScope inside;
    touch_all_sizes(followed.as<char>());
  }
  EXPECT_EQ(untraced_accesses() - before, 8u);
  EXPECT_EQ(followed.stop().accesses, 0u);
}

char* handler_memory = nullptr;
void on_alarm(int) { touch_all_sizes(handler_memory); }

TEST(Hooks, SignalHandlers_InterruptSafely) {
  constexpr std::size_t n = 1 << 15;
  Followed followed(3 * n * 8);
  handler_memory = followed.as<char>();
  struct sigaction action = {}, before = {};
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, &before);
  const itimerval often = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, nullptr);
  auto* a = followed.as<double>();
  for (int i = 0; i < 20; ++i) triad(a, a + n, a + 2 * n, n);
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  const auto& sink = followed.stop();
  EXPECT_EQ(t_thread.inside, 0u);
  EXPECT_GE(static_cast<double>(sink.accesses), 0.99 * 20 * 3 * n);
  // Accesses of handlers that interrupted the runtime were dropped as a whole, or counted.
  EXPECT_EQ(sink.hits[0] + sink.hits[1] + sink.fetched(), sink.accesses);
}

// --- the memory functions --------------------------------------------------------------------------------------

// Hides a value from the optimiser.
void* (*volatile call_memcpy)(void*, const void*, std::size_t) = std::memcpy;
void* (*volatile call_memmove)(void*, const void*, std::size_t) = std::memmove;
void* (*volatile call_memset)(void*, int, std::size_t) = std::memset;

// Before any constructor has run: the C library's functions are not resolved yet.
char early[64];
void before_constructors(int, char**, char**) {
  for (int i = 0; i < 64; ++i) early[i] = static_cast<char>(i);
  std::memmove(early + 1, early, 20);
  std::memmove(early + 30, early + 32, 20);
  std::memset(early + 60, 9, 3);
  std::memcpy(early + 52, early + 40, 8);
}
__attribute__((section(".preinit_array"), used)) void (*preinit)(int, char**, char**) = before_constructors;

TEST(Interposers, BeforeConstructors_CopiesWork) {
  char expected[64];
  for (int i = 0; i < 64; ++i) expected[i] = static_cast<char>(i);
  for (int i = 20; i > 0; --i) expected[i] = expected[i - 1];
  for (int i = 30; i < 50; ++i) expected[i] = expected[i + 2];
  for (int i = 60; i < 63; ++i) expected[i] = 9;
  for (int i = 0; i < 8; ++i) expected[52 + i] = expected[40 + i];
  for (int i = 0; i < 64; ++i) ASSERT_EQ(early[i], expected[i]) << i;
}

TEST(Interposers, Results_EqualCLibrary) {
  std::mt19937_64 random(2);
  std::vector<unsigned char> ours(5000), expected(5000);
  for (int i = 0; i < 3000; ++i) {
    for (std::size_t k = 0; k < ours.size(); ++k) ours[k] = expected[k] = static_cast<unsigned char>(k * 7 + i);
    const std::size_t size = random() % 2000, from = random() % 3000, to = random() % 3000;
    switch (random() % 3) {
      case 0: {
        const std::vector<unsigned char> copy(expected.begin() + static_cast<long>(from),
                                              expected.begin() + static_cast<long>(from + size));
        std::copy(copy.begin(), copy.end(), expected.begin() + static_cast<long>(to));
        ASSERT_EQ(call_memmove(&ours[to], &ours[from], size), &ours[to]);
        break;
      }
      case 1:
        std::fill_n(expected.begin() + static_cast<long>(to), size, static_cast<unsigned char>(i));
        ASSERT_EQ(call_memset(&ours[to], i, size), &ours[to]);
        break;
      default:
        if (from + size > to && to + size > from) continue;
        std::copy_n(expected.begin() + static_cast<long>(from), size, expected.begin() + static_cast<long>(to));
        ASSERT_EQ(call_memcpy(&ours[to], &ours[from], size), &ours[to]);
        break;
    }
    ASSERT_EQ(ours, expected);
  }
}

TEST(Interposers, Copies_TraceSourceAndTarget) {
  Followed followed(1 << 16);
  char* at = followed.as<char>();
  call_memcpy(at, at + 32768, 6400);
  call_memset(at + 8192, 1, 640);
  call_memmove(at + 16384, at + 16384, 0);
  const auto& sink = followed.stop();
  EXPECT_EQ(sink.accesses, 100u + 100u + 10u);
}

// --- names ----------------------------------------------------------------------------------------------------

TEST(Names, ExportedSymbols_EqualSymbolMap) {
  std::set<std::string> defined;
  FILE* const nm = popen(TERRACE_NM " --defined-only --extern-only --format=posix " TERRACE_HOOK_OBJECTS, "r");
  ASSERT_NE(nm, nullptr);
  char name[512];
  char type = 0;
  char line[1024];
  while (fgets(line, sizeof line, nm) != nullptr) {
    if (sscanf(line, "%511s %c", name, &type) == 2 && type == 'T' && strncmp(name, "_Z", 2) != 0)
      defined.insert(name);
  }
  ASSERT_EQ(pclose(nm), 0);
  std::set<std::string> listed;
  std::ifstream map(TERRACE_SOURCE_DIR "/src/tiering/observe/hooks/hooks.map.txt");
  for (std::string entry; std::getline(map, entry);) listed.insert(entry);
  EXPECT_EQ(defined, listed);
  EXPECT_TRUE(listed.contains("__tsan_read8") && listed.contains("memcpy"));
}

}  // namespace
}  // namespace terrace::observe::test
