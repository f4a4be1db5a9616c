// One process of the stress: at random it allocates, touches, moves and frees, through the provider, the mover and
// the ledger that a program under Terrace has; a third of its steps allocate by intent. It checks the data that
// it has written, and counts damaged ones.
#pragma once

#include <chrono>
#include <random>
#include <vector>

#include "memory/ledger.hpp"
#include "memory/provider.hpp"
#include "memory/region_space.hpp"
#include "stress_account.hpp"
#include "stress_intents.hpp"
#include "transfer/move_queue.hpp"

namespace terrace::tests {

class SteadyClock final : public Clock {
 public:
  Seconds now() override {
    return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
  }
  void charge(Seconds) override {}

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class StressWorker {
 public:
  StressWorker(const machine::Machine& machine, memory::Ledger& ledger, StressIntents& intents,
               std::uint64_t seed);
  ~StressWorker() { free_all(); }
  StressWorker(const StressWorker&) = delete;
  StressWorker& operator=(const StressWorker&) = delete;

  // A few steps; the caller looks at the time in between.
  void work(StressReport& report);
  // Waits for what moves, touches every page, and counts what is where.
  void count(StressReport& report);
  // Nothing is left afterwards, and what was counted begins anew.
  void free_all();

 private:
  struct Object {
    unsigned char* data = nullptr;
    ChunkId first = 0;
    std::uint32_t chunks = 0;
    std::vector<std::uint32_t> written;  // by page: the number that it begins with
  };

  void allocate(StressReport& report);
  bool bind_run(ChunkId first, std::uint32_t count, bool eager);
  void touch(Object& object, std::size_t first, std::size_t count, StressReport& report);
  void move(StressReport& report);
  void make_whole(const Object& object, StressReport& report);
  void release(std::size_t index);
  void collect(StressReport& report);
  std::size_t below(std::size_t limit) { return random_() % limit; }

  const machine::Machine& machine_;
  SteadyClock clock_;
  memory::Ledger& ledger_;
  StressIntents& intents_;
  memory::RegionSpace space_;
  memory::ChunkTable chunks_;
  memory::NumaProvider provider_{machine_, chunks_};
  transfer::MoveQueue mover_{machine_, chunks_, ledger_, clock_};
  std::vector<Object> objects_;
  std::uint64_t pending_ = 0;  // transfers whose results have not been collected
  std::uint64_t end_ = 0;      // of all addresses that were ever used
  std::mt19937_64 random_;
};

}  // namespace terrace::tests
