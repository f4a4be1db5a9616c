// Tests transfers that are submitted before they are due, in virtual time, exact to the digit.
#include <gtest/gtest.h>

#include <array>

#include "world.hpp"

namespace terrace::sim {
namespace {

constexpr std::uint32_t k_chunk_size = 1u << 20;
constexpr double k_copy_time = k_chunk_size / 1e9;

// A mover that copies 1e9 bytes per second from slow to fast memory.
class DueWorld : public TestWorld {
 public:
  explicit DueWorld(std::uint32_t cores = 1) : TestWorld(test_machine({.copy = 1e9, .cores = cores})) {}
  // Core time only.
  void compute(double seconds, std::uint32_t thread = 0) {
    virtual_machine.quantum({thread, 0, static_cast<std::uint64_t>(seconds / 0.25e-9), {}, {}});
  }
  ChunkId add(std::uint32_t count) { return add_chunks(count, k_chunk_size, 1); }
  transfer::Ticket ask(ChunkId chunk, double due, double rate = 0) {
    return virtual_machine.submit({chunk, 0, {{due}, rate}});
  }
};

TEST(DueTransfer, InsideAQuantum_BeginsWhenDue) {
  DueWorld world;
  const auto chunk = world.add(1);
  const double due = 0.7e-3;
  world.ask(chunk, due);
  world.compute(3e-3);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].asked.value, 0);
  EXPECT_EQ(results[0].begun.value, due);
  EXPECT_NEAR(results[0].done.value, due + k_copy_time, 1e-15);
  EXPECT_NEAR(world.now(), 3e-3, 1e-15) << "the program notices nothing of it";
}

TEST(DueTransfer, BetweenQuanta_BeginsWhenDue) {
  DueWorld world;
  const auto chunks = world.add(2);
  world.ask(chunks, 0.7e-3);
  world.virtual_machine.charge({1e-3});  // the program does not run
  world.ask(chunks + 1, 2.5e-3);
  world.compute(1e-3);
  world.virtual_machine.charge({4e-3});
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].begun.value, 0.7e-3);
  EXPECT_EQ(results[1].begun.value, 2.5e-3);
  EXPECT_NEAR(results[1].done.value, 2.5e-3 + k_copy_time, 1e-15);
}

// A long transfer delays the next; one that is due late delays those behind it.
TEST(DueTransfer, LaterOnes_KeepTheOrderOfSubmission) {
  DueWorld world;
  const auto chunks = world.add(3);
  world.ask(chunks, 1e-3);
  world.ask(chunks + 1, 1.5e-3);
  world.ask(chunks + 2, 0);
  world.compute(10e-3);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i].chunk, chunks + i);
    EXPECT_NEAR(results[i].begun.value, 1e-3 + i * k_copy_time, 1e-15);
  }
}

TEST(DueTransfer, Hastened_BeginsAtOnce) {
  DueWorld world;
  const auto chunks = world.add(2);
  world.ask(chunks, transfer::k_never.value);
  world.ask(chunks + 1, transfer::k_never.value);
  world.compute(5e-3);
  EXPECT_EQ(world.chunks[chunks].place, 1);
  const auto hastened = world.now();
  world.virtual_machine.expedite_pending();
  world.compute(5e-3);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].begun.value, hastened);
  EXPECT_NEAR(results[1].begun.value, hastened + k_copy_time, 1e-15);
}

// A transfer that is waited for begins at once; later ones keep their due times.
TEST(DueTransfer, WaitedFor_BeginsAtOnce) {
  DueWorld world;
  const auto chunks = world.add(3);
  world.ask(chunks, 50e-3);
  const auto second = world.ask(chunks + 1, 60e-3);
  world.ask(chunks + 2, 70e-3);
  world.compute(1e-3);
  world.virtual_machine.wait(second);
  EXPECT_NEAR(world.now(), 1e-3 + 2 * k_copy_time, 1e-12);
  world.compute(80e-3);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[2].begun.value, 70e-3);
}

TEST(DueTransfer, OwnRate_AppliesUnlessHastened) {
  DueWorld world;
  const auto chunks = world.add(3);
  world.ask(chunks, 0, 0.5);
  world.ask(chunks + 1, 0);
  world.virtual_machine.limit_rate(0.25);
  world.compute(10e-3);
  auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_NEAR(results[0].done.value, 2 * k_copy_time, 1e-12);
  EXPECT_NEAR(results[1].done.value, 6 * k_copy_time, 1e-12);
  world.virtual_machine.limit_rate(1);
  world.ask(chunks + 2, 0, 0.5);
  world.compute(k_copy_time);  // half of the copy
  world.virtual_machine.expedite_pending();
  world.compute(10e-3);
  results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR((results[0].done - results[0].begun).value, 1.5 * k_copy_time, 1e-12);
}

TEST(DueTransfer, ObjectFreedBefore_IsRefused) {
  DueWorld world;
  const auto chunks = world.add(2);
  world.ask(chunks, 1e-3);
  world.ask(chunks + 1, 2e-3);
  world.virtual_machine.forget(chunks, 1);
  world.compute(5e-3);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].refused);
  EXPECT_EQ(results[1].begun.value, 2e-3);
}

// An access to the sentinel traps at the end of its quantum and starts all transfers that wait for it, and those
// before them; later ones wait for their own sentinels.
TEST(DueTransfer, SentinelAccessed_Begins) {
  const Seconds trap{4e-6};
  TestWorld world(
      test_machine({.instruction_ns = 0.25, .copy = 1e9, .copier = {.name = "trapping", .trap = trap}}));
  const auto chunks = world.add_chunks(6, k_chunk_size, 1);
  const ChunkId first = chunks + 3, second = chunks + 4, other = chunks + 5;
  const auto ask_for = [&](ChunkId chunk, ChunkId sentinel) {
    world.virtual_machine.submit({chunk, 0, {transfer::k_never, 0, sentinel}});
  };
  const auto touch = [&](ChunkId chunk) {
    const observe::Miss miss{chunk, 0, 0, observe::MissKind::prefetched};
    world.virtual_machine.quantum({0, 1, 40'000'000, {}, {&miss, 1}});  // 10 ms and a line
  };
  ask_for(chunks, first);
  ask_for(chunks + 1, first);
  ask_for(chunks + 2, second);
  touch(other);
  EXPECT_EQ(world.chunks[chunks].place, 1);
  const auto before = world.now();
  EXPECT_EQ(world.virtual_machine.account().stalled.value, 0);
  touch(first);
  const auto touched = world.now();
  EXPECT_NEAR(touched - before, before + trap.value, 1e-12) << "a quantum as long as the first, and a trap";
  EXPECT_NEAR(world.virtual_machine.account().stalled.value, trap.value, 1e-15);
  touch(first);  // no longer a sentinel
  touch(second);
  const auto touched_second = world.now();
  EXPECT_NEAR(world.virtual_machine.account().stalled.value, 2 * trap.value, 1e-15);
  touch(other);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].begun.value, touched);
  EXPECT_NEAR(results[1].begun.value, touched + k_copy_time, 1e-15);
  EXPECT_EQ(results[2].begun.value, touched_second);
}

// The first thread whose clock passes the due time begins the transfer, at that time.
TEST(DueTransfer, SeveralThreads_BeginsWhenDue) {
  for (const std::array<std::uint32_t, 2> order : {std::array<std::uint32_t, 2>{0, 1}, {1, 0}}) {
    DueWorld world(4);
    world.virtual_machine.set_num_alive(2);
    const auto chunk = world.add(1);
    const double due = 0.7e-3;
    world.ask(chunk, due);
    for (int i = 0; i < 4; ++i)
      for (const auto thread : order) world.compute(1e-3, thread);
    const auto results = world.virtual_machine.completions();
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].begun.value, due);
    EXPECT_NEAR(results[0].done.value, due + k_copy_time, 1e-12);
  }
}

}  // namespace
}  // namespace terrace::sim
