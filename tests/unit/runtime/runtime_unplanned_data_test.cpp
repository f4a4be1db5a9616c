// Tests data that a learned plan does not cover: it stays in fast memory as far as the plan leaves capacity, new
// objects are allocated in the rest, and after the loop the plan no longer applies.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_fixture.hpp"
#include "strategy/following/unplanned_chunks.hpp"

namespace terrace::runtime {
namespace {

// `hot` (4 MiB) and part of `cold` (6 of 16 MiB) fill fast memory before the loop, which uses `late` alone.
struct Leftovers {
  Leftovers() {
    run.runtime.loop_begin("main");
    iterate(8);
  }
  void iterate(int iterations) {
    for (int i = 0; i < iterations; ++i) {
      run.runtime.phase("solve");
      run.sweep(late, 8);
    }
  }
  ObjectId add(std::uint64_t n, Bytes size) {
    return run.runtime.add_object("new", observe::ObjectKind::heap, TestRun::address(n), size);
  }

  TestRun run{{.planner = "unimem", .fast = Bytes{10 * k_mib}, .segments = true}};
  ObjectId late = run.add_late();
};

TEST(UnplannedData, CapacityLeftByThePlan_Stays) {
  Leftovers program;
  auto& run = program.run;
  const auto planned = run.in_fast_memory(program.late);
  EXPECT_GE(planned, 3 * k_mib) << "the rest is read from slow memory beside it";
  const auto others = run.in_fast_memory(run.hot) + run.in_fast_memory(run.cold);
  EXPECT_LE(planned + others, 10 * k_mib);
  EXPECT_GT(planned + others, 10 * k_mib - k_mib / 4) << "less than one chunk is free";
  run.runtime.loop_end();
  run.runtime.finish("exit");
  EXPECT_LE(run.max_held(), 10 * k_mib);
}

TEST(UnplannedData, NewObjects_TakeItsCapacity) {
  Leftovers program;
  auto& run = program.run;
  EXPECT_LT(run.in_fast_memory(program.add(4, Bytes{k_mib})), k_mib) << "there is little room";
  const auto planned = run.in_fast_memory(program.late);
  run.runtime.remove_object(run.hot);
  run.runtime.remove_object(run.cold);
  program.iterate(1);
  EXPECT_EQ(run.in_fast_memory(program.add(5, Bytes{2 * k_mib})), 2 * k_mib);
  // The plan's own capacity is not available to others, even while its data is freed.
  run.runtime.remove_object(program.late);
  const auto before = run.ledger.held(0).value;
  const auto more = run.in_fast_memory(program.add(6, Bytes{16 * k_mib}));
  EXPECT_GT(more, 0U);
  EXPECT_LE(before + more, 10 * k_mib - planned);
}

TEST(UnplannedData, LoopEnds_MayUseThePlansCapacity) {
  Leftovers program;
  auto& run = program.run;
  run.runtime.remove_object(program.late);
  EXPECT_LT(run.in_fast_memory(program.add(4, Bytes{4 * k_mib})), k_mib) << "the plan may need it again";
  run.runtime.loop_end();
  EXPECT_GT(run.in_fast_memory(program.add(5, Bytes{4 * k_mib})), 2 * k_mib);
}

// Capacity is counted in whole chunks: of 36 KiB in chunks of 16 KiB the first two are 32 KiB, not two thirds.
TEST(UnplannedData, PartialChunks_LeaveThePlanWholeChunks) {
  const auto machine = two_places();
  constexpr std::uint64_t k_kib = 1024;
  memory::ChunkTable chunks;
  for (const auto size : {16U, 16U, 4U}) chunks.add(chunks.size() * 16 * k_kib, size * k_kib, 0, 0, 0);
  for (int i = 0; i < 2; ++i) chunks.add((40 + chunks.size() * 8) * k_kib, 8 * k_kib, 1, 0, 0);
  const auto page = std::make_unique<memory::LedgerPage>();
  strategy::Context context;
  context.machine = &machine;
  context.budget = machine::fast_budget(machine, Bytes{40 * k_kib});
  const memory::Ledger ledger(*page, context.budget);
  std::vector<observe::Object> objects(2);
  objects[0] = {0, "planned", observe::ObjectKind::heap, Bytes{36 * k_kib}, Bytes{16 * k_kib}, 0, 3};
  objects[1] = {1, "new", observe::ObjectKind::heap, Bytes{16 * k_kib}, Bytes{8 * k_kib}, 3, 2};
  context.chunks = &chunks;
  context.ledger = &ledger;
  context.objects = &objects;
  Plan plan;
  plan.objects.push_back({"planned", Bytes{36 * k_kib}, 3, false, {{{0, 2}, "fast"}}});
  strategy::UnplannedChunks leftovers(plan, context, {});
  const auto made = leftovers.allocate(objects[1], 0, 2);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->chunks, 1U);
  EXPECT_FALSE(leftovers.allocate(objects[1], 1, 1).has_value());
}

// Memory of another process of the job is no free capacity: using it would take it from the plan.
TEST(UnplannedData, OtherProcesses_KeepTheirCapacity) {
  const auto machine = two_places();
  constexpr std::uint64_t k_kib = 1024;
  void* const shared =
      mmap(nullptr, sizeof(memory::LedgerPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const page = new (shared) memory::LedgerPage{};
  strategy::Context context;
  context.machine = &machine;
  context.budget = machine::fast_budget(machine, Bytes{40 * k_kib});
  int ready[2], finish[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(finish), 0);
  const auto child = fork();
  if (child == 0) {
    memory::Ledger theirs(*page, context.budget);
    const char taken = theirs.take(0, Bytes{24 * k_kib}) ? 1 : 0;
    char byte = 0;
    (void)!write(ready[1], &taken, 1);
    (void)!read(finish[0], &byte, 1);
    _exit(0);
  }
  char taken = 0;
  ASSERT_EQ(read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 1);
  memory::ChunkTable chunks;
  for (ChunkId chunk = 0; chunk < 4; ++chunk) chunks.add(chunk * 8 * k_kib, 8 * k_kib, 0, 0, 0);
  const memory::Ledger ledger(*page, context.budget);
  std::vector<observe::Object> objects(1);
  objects[0] = {0, "old", observe::ObjectKind::heap, Bytes{32 * k_kib}, Bytes{8 * k_kib}, 0, 4};
  context.chunks = &chunks;
  context.ledger = &ledger;
  context.objects = &objects;
  strategy::UnplannedChunks leftovers({}, context, {});
  EXPECT_TRUE(leftovers.retain(0, 0));
  EXPECT_TRUE(leftovers.retain(1, 0));
  EXPECT_FALSE(leftovers.retain(2, 0)) << "24 of 40 KiB are another's";
  ASSERT_EQ(write(finish[1], &taken, 1), 1);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace terrace::runtime
