// Test fixture: ranks of an MPI job as processes that share a ledger, and meet at barriers.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <new>
#include <vector>

#include "core/clock.hpp"
#include "memory/ledger.hpp"
#include "strategy/ranks/rank_group.hpp"
#include "two_places.hpp"

namespace terrace::strategy {

inline constexpr std::uint64_t k_unit = 1 << 20;
inline const machine::Budget k_budget{Bytes{16 * k_unit}, Bytes{1 << 30}};

class SteppedClock final : public Clock {
 public:
  Seconds now() override { return time; }
  void charge(Seconds) override {}
  Seconds time{1};
};

// Memory that all processes of a test share.
struct SharedByRanks {
  explicit SharedByRanks(std::uint32_t number_of_ranks) : num_ranks(number_of_ranks) {
    void* const map = ::mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    content = new (map) Content{};
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&content->all, &attributes, num_ranks);
    pthread_barrier_init(&content->three, &attributes, num_ranks - 1);
  }
  ~SharedByRanks() { ::munmap(content, sizeof(Content)); }
  SharedByRanks(const SharedByRanks&) = delete;
  SharedByRanks& operator=(const SharedByRanks&) = delete;
  struct Content {
    memory::LedgerPage page;
    pthread_barrier_t all, three;
    std::array<std::uint64_t, 4> shares;
    std::array<int, 4> answers;
    std::array<std::atomic<std::uint32_t>, 4> processes;
  };
  std::uint32_t num_ranks;
  Content* content;
};

struct RankProcess {
  RankProcess(SharedByRanks& shared, std::uint32_t number)
      : content(*shared.content),
        ledger(content.page, k_budget),
        group({&ledger, &clock, {k_fast}, k_budget, number}),
        rank(number) {
    content.processes[number] = static_cast<std::uint32_t>(::getpid());
  }
  // Waits until the kernel has ended a rank that was killed; its parent has not waited for it yet.
  void wait_until_dead(std::uint32_t other) const {
    while (true) {
      const auto state = memory::process_state(content.processes[other]);
      if (!state || state->ended) return;
      ::usleep(1000);
    }
  }
  void meet() { pthread_barrier_wait(&content.all); }
  void iterate(std::uint32_t iteration) {
    clock.time += Seconds{0.01};
    group.begin_iteration(iteration);
  }
  SharedByRanks::Content& content;
  SteppedClock clock;
  memory::Ledger ledger;
  RankGroup group;
  std::uint32_t rank;
};

// Runs the body in a process for each rank. Expects that all end normally and without a failed check, except
// `killed`.
inline void run_ranks(SharedByRanks& shared, const std::function<void(RankProcess&)>& body, int killed = -1) {
  std::vector<pid_t> processes(shared.num_ranks);
  for (std::uint32_t number = 0; number < shared.num_ranks; ++number) {
    processes[number] = ::fork();
    if (processes[number] != 0) continue;
    ::alarm(20);  // a process that failed leaves the others at a barrier
    RankProcess rank(shared, number);
    rank.meet();
    body(rank);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  for (std::uint32_t number = 0; number < shared.num_ranks; ++number) {
    int status = 0;
    ::waitpid(processes[number], &status, 0);
    if (static_cast<int>(number) == killed)
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    else
      EXPECT_EQ(status, 0) << "of rank " << number;
  }
}

}  // namespace terrace::strategy
