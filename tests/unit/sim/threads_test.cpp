// Tests several threads in virtual time against closed forms: STREAM by two threads, data on two places by
// Little's law, and that no place ever exceeds its bandwidth.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "world.hpp"

namespace terrace::sim {
namespace {

using observe::MissKind;

constexpr std::uint32_t k_lines = 2048;  // missed in a quantum
constexpr double k_line = 64;

// One quantum of a thread: `fast` and `slow` lines of the two chunks, all of one kind.
observe::Quantum quantum(std::uint32_t thread, std::vector<observe::Miss>& misses, std::uint32_t fast,
                         std::uint32_t slow, MissKind kind) {
  misses.clear();
  for (std::uint32_t i = 0; i < fast + slow; ++i)
    misses.push_back(
        {i < fast ? 0u : 1u, 0, static_cast<std::uint8_t>(kind == MissKind::dependent ? 255 : 0), kind});
  observe::Quantum quantum;
  quantum.thread = thread;
  quantum.accesses = quantum.instructions = 1;
  quantum.misses = misses;
  return quantum;
}

// Returns the time in which `threads` threads have each run `quanta` quanta and met at a barrier.
double time_of(TestWorld& world, std::uint32_t threads, std::uint32_t quanta, std::uint32_t fast,
               std::uint32_t slow, MissKind kind) {
  auto& machine = world.virtual_machine;
  std::vector<observe::Miss> misses;
  std::vector<std::uint32_t> all;
  machine.set_num_alive(threads);
  for (std::uint32_t i = 0; i < threads; ++i) all.push_back(i);
  for (std::uint32_t n = 0; n < quanta; ++n)
    for (const auto thread : all) machine.quantum(quantum(thread, misses, fast, slow, kind));
  machine.set_running(0);
  machine.synchronize(all);
  return machine.now().value;
}

struct TwoPlaces : TestWorld {
  explicit TwoPlaces(const MachineChoice& choice) : TestWorld(test_machine(choice)) {
    add_chunks(1, 1 << 20, 0);
    add_chunks(1, 1 << 20, 1);
  }
};

// Two threads stream: the place limits them if their common demand exceeds its bandwidth, else their own latency.
TEST(VirtualThreads, TwoStreams_ShareTheBandwidth) {
  for (const double prefetch_mlp : {5.0, 12.0, 20.0, 60.0}) {
    MachineChoice choice;
    choice.prefetch_mlp = prefetch_mlp;
    choice.instruction_ns = 0;
    const double alone = k_line * prefetch_mlp / 86e-9;  // bytes/s of one thread by Little's law
    for (const std::uint32_t threads : {1u, 2u, 4u}) {
      TwoPlaces world(choice);
      const double time = time_of(world, threads, 100, k_lines, 0, MissKind::prefetched);
      const double bytes = 100.0 * k_lines * k_line * threads;
      const double expected = std::min(16e9, alone * threads);
      EXPECT_NEAR(bytes / time / expected, 1, 0.02) << threads << " threads, prefetch_mlp " << prefetch_mlp;
    }
  }
}

TEST(VirtualThreads, Chases_Overlap) {
  for (const std::uint32_t threads : {1u, 2u, 4u}) {
    TwoPlaces world({});
    const double time = time_of(world, threads, 50, k_lines, 0, MissKind::dependent);
    EXPECT_NEAR(time / (50.0 * k_lines * 86e-9), 1, 0.02) << threads << " threads";
  }
}

// Half of the lines are on each place: misses take the mean latency, and the bandwidth is mlp lines per mean
// latency.
TEST(VirtualThreads, HalvesOnTwoPlaces_FollowLittlesLaw) {
  MachineChoice choice;
  choice.latency = 3;
  choice.bandwidth = 1;
  choice.mlp = 4;
  choice.instruction_ns = 0;
  for (const std::uint32_t threads : {1u, 2u}) {
    TwoPlaces world(choice);
    const double time = time_of(world, threads, 100, k_lines / 2, k_lines / 2, MissKind::independent);
    const double mean_latency = (86e-9 + 3 * 86e-9) / 2;
    const double expected = 4 * k_line / mean_latency * threads;
    EXPECT_NEAR(100.0 * k_lines * k_line * threads / time / expected, 1, 0.02) << threads << " threads";
  }
}

TEST(VirtualThreads, RandomThreads_NoPlaceExceedsItsBandwidth) {
  std::mt19937 random(3);
  const auto pick = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
  for (int round = 0; round < 30; ++round) {
    MachineChoice choice;
    choice.mlp = 1 + pick(40);
    TwoPlaces world(choice);
    auto& machine = world.virtual_machine;
    const std::uint32_t threads = 2 + pick(3);
    machine.set_num_alive(threads);
    double bytes[2] = {};
    std::vector<observe::Miss> misses;
    for (int n = 0; n < 400; ++n) {
      const std::uint32_t fast = pick(k_lines);
      const std::uint32_t slow = pick(k_lines);
      bytes[0] += fast * k_line;
      bytes[1] += slow * k_line;
      machine.quantum(quantum(pick(threads), misses, fast, slow, MissKind::independent));
    }
    double latest = 0;
    for (std::uint32_t i = 0; i < threads; ++i) {
      machine.set_running(i);
      latest = std::max(latest, machine.now().value);
    }
    // The last thread may use a whole slot of the ring.
    EXPECT_GE(latest + Occupancy::k_slot, bytes[0] / 16e9) << "round " << round;
    EXPECT_GE(latest + Occupancy::k_slot, bytes[1] / 8e9) << "round " << round;
  }
}

// A thread that begins, joins or takes a lock continues no earlier than the other thread.
TEST(VirtualThreads, BeginJoinAndLock_AdvanceTheClock) {
  TwoPlaces world({});
  auto& machine = world.virtual_machine;
  machine.charge({1});
  machine.set_num_alive(2);
  machine.advance_to(1, 0);
  machine.set_running(1);
  EXPECT_EQ(machine.now().value, 1);
  machine.charge({2});
  machine.on_unlock(77);
  machine.charge({4});
  machine.set_running(0);
  EXPECT_EQ(machine.now().value, 1);
  machine.on_lock(77);
  EXPECT_EQ(machine.now().value, 3);
  machine.on_lock(78);
  machine.advance_to(0, 1);
  EXPECT_EQ(machine.now().value, 7);
}

}  // namespace
}  // namespace terrace::sim
