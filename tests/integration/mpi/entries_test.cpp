// SPDX-License-Identifier: Apache-2.0
// Tests the entries of the layer with a library that has a few functions of MPI (fake_mpi.c). It is the layer's
// listener itself, and prints the name of each check that fails. Runs on each architecture of the layer.
#include <dlfcn.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "agent/mpi/call_events.hpp"

extern "C" {
std::int64_t MPI_Rget_accumulate(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 std::int64_t, std::int64_t, std::int64_t);
std::int64_t mpi_rget_accumulate_(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                  std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                  std::int64_t, std::int64_t, std::int64_t, std::int64_t);
int MPI_Comm_rank(std::int64_t comm, int* rank);
int MPI_Barrier(std::int64_t comm);
int MPI_Reduce_local(void (*function)(void*), void* argument);
[[gnu::weak]] int MPI_Send_c();
}

namespace {

using namespace terrace::agent;

std::atomic<long> g_begun{0}, g_ended{0};
thread_local MpiCall t_last{};
thread_local std::array<std::uint64_t, 14> t_arguments{};
bool g_is_listening = true;

void on_begin(const MpiCall* call) {
  ++g_begun;
  t_last = *call;
  for (std::size_t i = 0; i < t_arguments.size(); ++i) t_arguments[i] = mpi_argument(*call, i);
}
void on_end(const MpiCall* call) {
  ++g_ended;
  t_last.result = call->result;
}
constexpr MpiListener k_listener{&on_begin, &on_end};

int g_num_failures = 0;
void check(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++g_num_failures;
}

std::int64_t checksum(int count) {
  std::uint64_t sum = 0;  // wraps
  for (int i = 1; i <= count; ++i) sum = sum * 31 + static_cast<std::uint64_t>(i) * 1'000'000'007;
  return static_cast<std::int64_t>(sum);
}
constexpr std::int64_t v(int i) { return i * std::int64_t{1'000'000'007}; }

// Returns how many calls began.
template <class Body>
long count_calls(Body&& body) {
  const long before = g_begun;
  body();
  return g_begun - before;
}

void test_arguments() {
  check(MPI_Rget_accumulate(v(1), v(2), v(3), v(4), v(5), v(6), v(7), v(8), v(9), v(10), v(11), v(12), v(13)) ==
            checksum(13),
        "13 arguments and the result pass");
  check(mpi_rget_accumulate_(v(1), v(2), v(3), v(4), v(5), v(6), v(7), v(8), v(9), v(10), v(11), v(12), v(13),
                             v(14)) == checksum(14),
        "14 arguments and the result pass");
  if (!g_is_listening) return;
  bool is_equal = true;
  for (std::size_t i = 0; i < t_arguments.size(); ++i)
    is_equal = is_equal && t_arguments[i] == static_cast<std::uint64_t>(v(static_cast<int>(i) + 1));
  check(is_equal, "the listener reads 14 arguments");
  check(t_last.result == checksum(14), "the listener reads the result");
  check(t_last.language == MpiLanguage::k_fortran, "the language is Fortran");
  check(std::string(terrace_mpi_function_name(t_last.function)) == "Rget_accumulate", "the name");
  check(t_last.function_class == MpiClass::k_nonblocking, "the class");
}

[[gnu::noinline]] void test_call_site() {
  int rank = 0;
  MPI_Comm_rank(42, &rank);
  check(rank == 42, "an output argument arrives");
  if (!g_is_listening) return;
  Dl_info site, here;
  check(dladdr(t_last.call_site, &site) && dladdr(reinterpret_cast<void*>(&check), &here) &&
            site.dli_fbase == here.dli_fbase,
        "the call site lies in the program");
  const auto frame = reinterpret_cast<std::uintptr_t>(t_last.frame);
  const auto local = reinterpret_cast<std::uintptr_t>(&rank);
  check(frame <= local && local - frame < 4096, "the frame is the caller's stack pointer");
}

void test_nested() {
  const long calls = count_calls([] { check(MPI_Barrier(1) == 0, "the barrier returns"); });
  check(calls == (g_is_listening ? 1 : 0), "nested calls are not reported");
}

std::jmp_buf g_jump;
[[gnu::noinline]] void abandon_by_jump() {
  MPI_Reduce_local([](void*) { std::longjmp(g_jump, 1); }, nullptr);
}
[[gnu::noinline]] void call_at_depth(int depth) {
  volatile char padding[512];
  for (auto& one : padding) one = static_cast<char>(depth);
  if (depth > 0) {
    call_at_depth(depth - 1);
  } else {
    int rank = 0;
    MPI_Comm_rank(1, &rank);
  }
  padding[0] = padding[1];
}

void test_jump() {
  if (setjmp(g_jump) == 0) abandon_by_jump();
  int rank = 0;
  check(count_calls([&] { MPI_Comm_rank(1, &rank); }) == (g_is_listening ? 1 : 0),
        "a call after longjmp is reported");
  if (setjmp(g_jump) == 0) abandon_by_jump();
  check(count_calls([] { call_at_depth(8); }) == (g_is_listening ? 1 : 0),
        "a deeper call after longjmp is reported");
}

void test_exception() {
  bool is_caught = false;
  try {
    MPI_Reduce_local([](void*) { throw std::runtime_error("passes"); }, nullptr);
  } catch (const std::runtime_error&) {
    is_caught = true;
  }
  check(is_caught, "an exception passes");
  check(count_calls([] { call_at_depth(8); }) == (g_is_listening ? 1 : 0),
        "a call after an exception is reported");
}

void test_backtrace() {
  std::vector<const void*> frames;
  MPI_Reduce_local(
      [](void* to) {
        _Unwind_Backtrace(
            [](_Unwind_Context* context, void* into) {
              static_cast<std::vector<const void*>*>(into)->push_back(
                  reinterpret_cast<const void*>(_Unwind_GetIP(context)));
              return _URC_NO_REASON;
            },
            to);
      },
      &frames);
  bool is_found = !g_is_listening;
  for (const void* one : frames) is_found = is_found || one == t_last.call_site;
  check(is_found && frames.size() >= 5, "a backtrace from inside finds the caller");
}

void test_threads() {
  constexpr int k_num_threads = 4, k_num_calls = 10000;
  const long calls = count_calls([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < k_num_threads; ++i)
      threads.emplace_back([] {
        for (int k = 0; k < k_num_calls; ++k) MPI_Barrier(k);
      });
    for (auto& one : threads) one.join();
  });
  check(calls == (g_is_listening ? k_num_threads * k_num_calls : 0), "each thread's calls are reported");
}

void test_absent() {
  const auto initialized = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "MPI_Initialized"));
  int flag = 7, error = 7;
  check(initialized && initialized(&flag) == 0 && flag == 0, "MPI_Initialized without MPI");
  const auto finalized = reinterpret_cast<void (*)(int*, int*)>(dlsym(RTLD_DEFAULT, "mpi_finalized_"));
  flag = 7;
  finalized(&flag, &error);
  check(flag == 0 && error == 0, "mpi_finalized_ without MPI");
  const auto fence = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_DEFAULT, "MPI_Win_fence"));
  check(fence(0, 0) != 0 && fence(0, 0) != 0, "an absent function returns an error");
  const auto send =
      reinterpret_cast<void (*)(int*, int*, int*, int*, int*, int*, int*)>(dlsym(RTLD_DEFAULT, "mpi_send_f08_"));
  send(&flag, &flag, &flag, &flag, &flag, &flag, &error);
  check(error != 0, "an absent Fortran procedure sets IERROR");
  check(MPI_Send_c == nullptr, "a weak reference to an absent function is null");
}

void test_real() {
  using Query = int (*)(std::int64_t, int*);
  const auto real = reinterpret_cast<Query>(terrace_mpi_real("PMPI_Comm_rank"));
  int rank = 0;
  const long calls =
      count_calls([&] { check(real && real(9, &rank) == 0 && rank == 9, "the real function works"); });
  check(calls == 0, "the real function is not reported");
  check(terrace_mpi_real("MPI_Win_fence") == nullptr, "an absent function has no real one");
  check(terrace_mpi_function_name(10000) == nullptr, "no name beyond the table");
}

}  // namespace

const MpiListener* terrace::agent::terrace_mpi_listener() noexcept {
  return g_is_listening ? &k_listener : nullptr;
}

// With an argument the program has no listener.
int main(int argc, char**) {
  g_is_listening = argc == 1;
  test_arguments();
  test_call_site();
  test_nested();
  test_jump();
  test_exception();
  test_backtrace();
  test_threads();
  test_absent();
  test_real();
  // Three calls were abandoned, and have no end.
  check(g_begun - g_ended == (g_is_listening ? 3 : 0), "each call ends that returns");
  std::printf("%ld calls, %d failures\n", g_begun.load(), g_num_failures);
  return g_num_failures == 0 ? 0 : 1;
}
