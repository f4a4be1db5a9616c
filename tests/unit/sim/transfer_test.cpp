// Tests transfers in virtual time against closed forms: alone, concurrent with a program, in order, within the
// budget.
#include <gtest/gtest.h>

#include <array>

#include "machine/example.hpp"
#include "world.hpp"

namespace terrace::sim {
namespace {

constexpr PlaceId k_fast = 0;
constexpr PlaceId k_slow = 1;
constexpr std::uint32_t k_mib = 1u << 20;

// Runs a quantum of `seconds` of core time without misses.
void compute(TestWorld& world, double seconds) {
  world.virtual_machine.quantum({0, 0, static_cast<std::uint64_t>(seconds / 0.25e-9), {}, {}});
}

// Misses `lines` lines of the chunk, prefetched: 64 bytes of bandwidth each.
void read_lines(TestWorld& world, ChunkId chunk, std::size_t lines) {
  const std::vector<observe::Miss> misses(lines, {chunk, 0, 0, observe::MissKind::prefetched});
  world.virtual_machine.quantum({0, lines, lines, {}, misses});
}

TEST(Transfer, Alone_TakesSizeOverCopyBandwidth) {
  for (const double copy : {0.0, 1e9, 5e9}) {
    TestWorld world(test_machine({.copy = copy}));
    const auto chunk = world.add_chunks(1, 16 * k_mib, k_slow);
    const auto ticket = world.virtual_machine.submit({chunk, k_fast});
    EXPECT_FALSE(world.virtual_machine.done(ticket));
    EXPECT_EQ(world.chunks[chunk].place, k_slow);
    world.virtual_machine.wait(ticket);
    EXPECT_TRUE(world.virtual_machine.done(ticket));
    EXPECT_EQ(world.chunks[chunk].place, k_fast);
    const double bandwidth = copy > 0 ? copy : 8e9;  // not stated: the slow memory's read bandwidth
    EXPECT_NEAR(world.now(), 16 * k_mib / bandwidth, 1e-15);
    EXPECT_NEAR(world.virtual_machine.account().waited.value, world.now(), 1e-15);
  }
}

TEST(Transfer, BehindComputation_CostsNothing) {
  TestWorld world(test_machine({.copy = 1e9}));
  const auto chunk = world.add_chunks(1, k_mib, k_slow);
  const auto ticket = world.virtual_machine.submit({chunk, k_fast});
  compute(world, 0.5e-3);
  EXPECT_FALSE(world.virtual_machine.done(ticket));
  compute(world, 1.5e-3);
  EXPECT_TRUE(world.virtual_machine.done(ticket));
  EXPECT_NEAR(world.now(), 2e-3, 1e-12);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].done.value, k_mib / 1e9, 1e-12) << "at the instant of completion, not a quantum later";
  EXPECT_EQ(results[0].size.value, k_mib);
  EXPECT_EQ(results[0].from, k_slow);
  EXPECT_EQ(results[0].to, k_fast);
  EXPECT_TRUE(world.virtual_machine.completions().empty());
}

TEST(Transfer, Wait_CostsOnlyTheRest) {
  TestWorld world(test_machine({.copy = 1e9}));
  const auto chunk = world.add_chunks(1, k_mib, k_slow);
  const auto ticket = world.virtual_machine.submit({chunk, k_fast});
  compute(world, 0.25e-3);
  world.virtual_machine.charge({0.25e-3});
  world.virtual_machine.wait(ticket);
  EXPECT_NEAR(world.now(), k_mib / 1e9, 1e-12);
  EXPECT_NEAR(world.virtual_machine.account().waited.value, k_mib / 1e9 - 0.5e-3, 1e-12);
  world.virtual_machine.wait(ticket);  // a second wait takes no time
  EXPECT_NEAR(world.now(), k_mib / 1e9, 1e-12);
}

// A program saturates the memory that a copy reads: each gets half, and together they use all of it.
TEST(Transfer, SaturatedMemory_IsSharedEqually) {
  TestWorld world(test_machine({.bandwidth = 0.5, .instruction_ns = 0, .prefetch_mlp = 1000}));
  const auto data = world.add_chunks(1, 64 * k_mib, k_slow);
  const auto moved = world.add_chunks(1, 16 * k_mib, k_slow);
  world.virtual_machine.submit({moved, k_fast});
  const std::size_t lines = 64 * k_mib / 64;
  read_lines(world, data, lines);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].done.value, 16 * k_mib / 4e9, 1e-12);
  EXPECT_NEAR(world.now(), (64 + 16) * k_mib / 8e9, 1e-12);
}

// Free copies: the new place serves the program from the start, and the copy costs nothing.
TEST(Transfer, FreeCopies_TakeNeitherTimeNorBandwidth) {
  TestWorld world(test_machine({.bandwidth = 0.5, .instruction_ns = 0, .prefetch_mlp = 1000}));
  world.virtual_machine.make_copies_free();
  const auto moved = world.add_chunks(1, 64 * k_mib, k_slow);
  const auto stays = world.add_chunks(1, 64 * k_mib, k_slow);
  world.virtual_machine.wait(world.virtual_machine.submit({moved, k_fast}));
  EXPECT_EQ(world.chunks[moved].place, k_fast);
  EXPECT_LT(world.now(), 1e-100);
  world.virtual_machine.submit({stays, k_fast});
  read_lines(world, stays, 64 * k_mib / 64);
  EXPECT_NEAR(world.now(), 64 * k_mib / 16e9, 1e-12);
}

// A copy slower than half of the memory leaves the rest to the program.
TEST(Transfer, SlowCopier_LeavesTheRestToTheProgram) {
  TestWorld world(test_machine({.bandwidth = 0.5, .instruction_ns = 0, .prefetch_mlp = 1000, .copy = 1e9}));
  const auto data = world.add_chunks(1, 64 * k_mib, k_slow);
  const auto moved = world.add_chunks(1, k_mib, k_slow);
  world.virtual_machine.submit({moved, k_fast});
  read_lines(world, data, 64 * k_mib / 64);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].done.value, k_mib / 1e9, 1e-12);
  EXPECT_NEAR(world.now(), (64 + 1) * k_mib / 8e9, 1e-12);
}

// A program that leaves part of the memory idle is not slowed down by a copy that uses it.
TEST(Transfer, LatencyBoundProgram_IsNotSlowedDown) {
  TestWorld world(test_machine({.bandwidth = 0.5, .instruction_ns = 0, .prefetch_mlp = 5}));
  const auto data = world.add_chunks(1, 64 * k_mib, k_slow);
  const auto moved = world.add_chunks(1, k_mib, k_slow);
  const std::size_t lines = 64 * k_mib / 64;
  const double alone = static_cast<double>(lines) * 86e-9 / 5;  // 3.7 GB/s of 8
  world.virtual_machine.submit({moved, k_fast});
  read_lines(world, data, lines);
  EXPECT_NEAR(world.now(), alone, 1e-12);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].done.value, k_mib / (8e9 - 64 * 5 / 86e-9), 1e-12);
}

// Limited to a quarter of its speed, the copy leaves three quarters of the memory to a program that could use all
// of it.
TEST(Transfer, RateLimit_LeavesTheRestToTheProgram) {
  TestWorld world(test_machine({.bandwidth = 0.5, .instruction_ns = 0, .prefetch_mlp = 1000}));
  const auto data = world.add_chunks(1, 64 * k_mib, k_slow);
  const auto moved = world.add_chunks(1, 4 * k_mib, k_slow);
  world.virtual_machine.limit_rate(0.25);
  world.virtual_machine.submit({moved, k_fast});
  read_lines(world, data, 64 * k_mib / 64);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].done.value, 4 * k_mib / 2e9, 1e-12);
  EXPECT_NEAR(world.now(), (64 + 4) * k_mib / 8e9, 1e-12) << "nothing of the memory is lost";
}

// A change of the rate limit takes effect on the running copy; a wait runs at full speed.
TEST(Transfer, RateLimitChanges_TakeEffectInFlight) {
  TestWorld world(test_machine({.copy = 1e9}));
  const auto chunk = world.add_chunks(1, 4 * k_mib, k_slow);
  const auto ticket = world.virtual_machine.submit({chunk, k_fast});
  world.virtual_machine.limit_rate(0.5);
  compute(world, 1e-3);  // 0.5 MB
  world.virtual_machine.limit_rate(0.1);
  world.virtual_machine.charge({1e-3});  // 0.1 MB
  world.virtual_machine.limit_rate(1);
  compute(world, 1e-3);  // 1 MB
  world.virtual_machine.limit_rate(0.01);
  world.virtual_machine.wait(ticket);
  EXPECT_NEAR(world.now(), 3e-3 + (4 * k_mib - 1.6e6) / 1e9, 1e-12);
}

// The chunk in flight is served by its old place until the copy is complete, and by the new one from that instant
// on.
TEST(Transfer, Completion_SplitsTheQuantum) {
  TestWorld world(test_machine({.bandwidth = 1, .latency = 4, .instruction_ns = 0, .copy = 1e9}));
  const auto chunk = world.add_chunks(1, k_mib, k_slow);
  const double copy_time = k_mib / 1e9;
  // Dependent misses on the chunk: 344 ns each in slow memory, 86 ns in fast memory. n of them take the copy's
  // time on the slow side, as many again follow on the fast side.
  const auto n = static_cast<std::size_t>(copy_time / 344e-9);
  const std::vector<observe::Miss> misses(2 * n, {chunk, 0, 255, observe::MissKind::dependent});
  world.virtual_machine.submit({chunk, k_fast});
  world.virtual_machine.quantum({0, 2 * n, 2 * n, {}, misses});
  const double served = copy_time / 344e-9;  // misses until the copy is complete
  EXPECT_NEAR(world.now(), copy_time + (static_cast<double>(2 * n) - served) * 86e-9, 1e-12);
  EXPECT_EQ(world.chunks[chunk].place, k_fast);
}

TEST(Transfer, SeveralTransfers_RunInTheOrderOfSubmission) {
  TestWorld world(test_machine({.copy = 1e9}));
  const auto first = world.add_chunks(4, k_mib, k_slow);
  std::vector<transfer::Ticket> tickets;
  for (const auto i : {2u, 0u, 3u, 1u}) tickets.push_back(world.virtual_machine.submit({first + i, k_fast}));
  world.virtual_machine.wait(tickets[2]);
  EXPECT_TRUE(world.virtual_machine.done(tickets[0]));
  EXPECT_TRUE(world.virtual_machine.done(tickets[1]));
  EXPECT_FALSE(world.virtual_machine.done(tickets[3]));
  world.virtual_machine.wait(tickets[3]);
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(results[i].ticket, tickets[i]);
    EXPECT_EQ(results[i].asked.value, 0);
    EXPECT_NEAR(results[i].begun.value, static_cast<double>(i) * k_mib / 1e9, 1e-12);
    EXPECT_NEAR(results[i].done.value, static_cast<double>(i + 1) * k_mib / 1e9, 1e-12);
  }
}

TEST(Transfer, Promotion_UsesTheCapacityOfTheDemotionBefore) {
  TestWorld world(test_machine(), {{k_mib}, {64u * k_mib}});
  const auto out = world.add_chunks(1, k_mib, k_fast);
  const auto in = world.add_chunks(1, k_mib, k_slow);
  world.virtual_machine.submit({out, k_slow});
  const auto ticket = world.virtual_machine.submit({in, k_fast});
  EXPECT_EQ(world.ledger.held(k_slow).value, 2u * k_mib)
      << "the move out has taken its room, the move in none yet";
  world.virtual_machine.wait(ticket);
  for (const auto& result : world.virtual_machine.completions()) EXPECT_FALSE(result.refused);
  EXPECT_EQ(world.chunks[in].place, k_fast);
  EXPECT_EQ(world.chunks[out].place, k_slow);
  EXPECT_EQ(world.ledger.held(k_fast).value, k_mib);
  EXPECT_EQ(world.ledger.held(k_slow).value, k_mib);
}

TEST(Transfer, CapacityMissing_WaitsUntilTheProgramFreesSome) {
  TestWorld world(test_machine({.copy = 1e9}), {{k_mib}, {64u * k_mib}});
  world.add_chunks(1, k_mib, k_fast);
  const auto in = world.add_chunks(1, k_mib, k_slow);
  const auto ticket = world.virtual_machine.submit({in, k_fast});
  compute(world, 1e-3);
  EXPECT_FALSE(world.virtual_machine.done(ticket));
  world.ledger.give(k_fast, {k_mib});  // the program frees the other chunk
  compute(world, 2e-3);
  EXPECT_TRUE(world.virtual_machine.done(ticket));
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_FALSE(results[0].refused);
  EXPECT_NEAR(results[0].begun.value, 1e-3, 1e-12);
}

TEST(Transfer, WaitForImpossibleCapacity_Refuses) {
  TestWorld world(test_machine(), {{k_mib}, {64u * k_mib}});
  world.add_chunks(1, k_mib, k_fast);
  const auto blocked = world.add_chunks(1, k_mib, k_slow);
  const auto first = world.virtual_machine.submit({blocked, k_fast});
  const auto behind = world.virtual_machine.submit({blocked, k_slow});  // already there: nothing to do
  EXPECT_FALSE(world.virtual_machine.done(behind)) << "in order: the first one keeps its turn";
  world.virtual_machine.wait(behind);
  EXPECT_TRUE(world.virtual_machine.done(first));
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].refused);
  EXPECT_FALSE(results[1].refused);
  EXPECT_EQ(world.now(), 0);
  EXPECT_EQ(world.chunks[blocked].place, k_slow);
}

TEST(Transfer, ImpossibleTransfers_AreRefused) {
  TestWorld world(test_machine(), {{k_mib}, {64u * k_mib}});
  const auto large = world.add_chunks(1, 2 * k_mib, k_slow);
  const auto freed = world.add_chunks(1, k_mib / 2, k_slow);
  world.chunks[freed].live = false;
  for (const auto& request : std::vector<transfer::TransferRequest>{
           {large, k_fast}, {freed, k_fast}, {large, 9}, {ChunkId{77}, k_fast}}) {
    EXPECT_TRUE(world.virtual_machine.done(world.virtual_machine.submit(request)));
  }
  const auto results = world.virtual_machine.completions();
  ASSERT_EQ(results.size(), 4u);
  for (const auto& result : results) EXPECT_TRUE(result.refused);
  EXPECT_EQ(world.ledger.held(k_fast).value, 0u);
}

TEST(Transfer, Forget_CancelsQueuedAndWaitsForRunning) {
  TestWorld world(test_machine({.copy = 1e9}));
  const auto first = world.add_chunks(3, k_mib, k_slow);
  const auto running = world.virtual_machine.submit({first, k_fast});
  const auto queued = world.virtual_machine.submit({first + 1, k_fast});
  const auto other = world.virtual_machine.submit({first + 2, k_fast});
  world.virtual_machine.forget(first, 2);
  EXPECT_TRUE(world.virtual_machine.done(running));
  EXPECT_TRUE(world.virtual_machine.done(queued));
  EXPECT_FALSE(world.virtual_machine.done(other));
  EXPECT_NEAR(world.now(), k_mib / 1e9, 1e-12);
  EXPECT_EQ(world.chunks[first].place, k_fast);
  EXPECT_EQ(world.chunks[first + 1].place, k_slow);
}

TEST(FirstTouch, UnboundData_GoesToTheHomePlace) {
  TestWorld world;
  const auto chunk = world.add_chunks(1, k_mib, k_no_place);
  EXPECT_EQ(world.virtual_machine.where(chunk), k_no_place);
  read_lines(world, chunk, 10);
  EXPECT_EQ(world.virtual_machine.where(chunk), k_slow);
  EXPECT_EQ(world.chunks[chunk].place, k_slow);
  EXPECT_EQ(world.ledger.held(k_slow).value, k_mib);
}

TEST(FirstTouch, BoundData_StaysAtItsPlace) {
  TestWorld world;
  const auto first = world.add_chunks(3, k_mib, k_no_place);
  EXPECT_TRUE(world.virtual_machine.bind(first, 2, k_fast));
  EXPECT_EQ(world.virtual_machine.where(first), k_no_place) << "not touched yet";
  read_lines(world, first, 10);
  EXPECT_EQ(world.virtual_machine.where(first), k_fast);
  EXPECT_EQ(world.chunks[first + 1].place, k_fast);
  EXPECT_EQ(world.chunks[first + 2].place, k_no_place);
  EXPECT_FALSE(world.virtual_machine.bind(first + 2, 1, 9));
}

TEST(FirstTouch, UnreachablePlace_IsNotUsed) {
  auto parts = machine::example_parts();
  std::erase_if(parts.paths, [](const machine::Path& path) { return path.initiator == 0 && path.place == 2; });
  parts.domains[0].places.clear();
  parts.places[2].domain = 1;  // the CXL memory belongs to the other domain, which alone has a path to it
  TestWorld world{machine::Machine(parts)};
  const auto chunk = world.chunks.add(0, 4096, 0, 1, k_no_place);
  EXPECT_FALSE(world.virtual_machine.bind(chunk, 1, 2));
  EXPECT_FALSE(world.virtual_machine.bind(chunk, 1, 0)) << "another domain";
  EXPECT_TRUE(world.virtual_machine.bind(chunk, 1, 3));
  world.virtual_machine.submit({chunk, 2});
  world.virtual_machine.submit({chunk, 0});
  for (const auto& result : world.virtual_machine.completions()) EXPECT_TRUE(result.refused);
  EXPECT_EQ(world.chunks[chunk].place, 3);
}

TEST(FirstTouch, HomeFull_UsesAnotherPlaceOfTheDomain) {
  TestWorld world(test_machine(), {{4u * k_mib}, {k_mib}});
  const auto first = world.add_chunks(7, k_mib, k_no_place);
  for (std::uint32_t i = 0; i < 7; ++i) read_lines(world, first + i, 1);
  EXPECT_EQ(world.chunks[first].place, k_slow);
  EXPECT_EQ(world.chunks[first + 1].place, k_fast);
  EXPECT_EQ(world.ledger.held(k_slow).value, k_mib) << "never over budget, whatever the program does";
  EXPECT_EQ(world.ledger.held(k_fast).value, 4u * k_mib);
}

}  // namespace
}  // namespace terrace::sim
