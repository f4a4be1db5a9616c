// Tests hints in a run on the simulator: data with reference counts is in fast memory from its allocation or from
// the loop's begin, is profiled where it is, and never exceeds the budget.
#include <gtest/gtest.h>

#include <algorithm>

#include "observe/program_events.hpp"
#include "runtime_fixture.hpp"
#include "strategy/files/hints_file.hpp"

namespace terrace::runtime {
namespace {

using What = observe::ProgramHint::What;

RunChoice choice(const std::string& hints, const std::string& planner = "auto") {
  RunChoice choice;
  choice.planner = planner;
  choice.hints = strategy::parse_hints(hints, "h.toml");
  return choice;
}

std::uint64_t in_fast(TestRun& run, ObjectId object) {
  std::uint64_t size = 0;
  for (ChunkId chunk = 0; chunk < run.chunks.size(); ++chunk)
    if (run.chunks[chunk].object == object && run.chunks[chunk].place.load() == 0) size += run.chunks[chunk].size;
  return size;
}

std::vector<std::string> notes(TestRun& run) {
  std::vector<std::string> texts;
  for (const auto& note : run.records<profile::NoteRecord>()) texts.push_back(note.text);
  return texts;
}

// Returns the maximum of the bytes in the fast place over all moves, in their order: never more than the budget.
void expect_within_budget(TestRun& run) {
  std::int64_t held = 0;
  for (const auto& record : run.records<profile::ObjectRecord>())
    for (std::uint32_t chunk = 0; chunk < record.object.chunks; ++chunk)
      if (record.places[chunk] == 0)
        held += static_cast<std::int64_t>(std::min(
            record.object.chunk_size.value, record.object.size.value - chunk * record.object.chunk_size.value));
  std::vector<profile::Move> moves;
  for (const auto& record : run.records<profile::MovesRecord>())
    moves.insert(moves.end(), record.moves.begin(), record.moves.end());
  for (const auto& record : run.records<profile::TransfersRecord>())
    for (const auto& transfer : record.transfers) {
      EXPECT_FALSE(transfer.refused);
      const auto to = moves.at(transfer.move).to;
      held += (to == 0 ? 1 : 0) * static_cast<std::int64_t>(transfer.size.value);
      EXPECT_LE(held, static_cast<std::int64_t>(run.choice.fast.value));
      held -= (transfer.from == 0 ? 1 : 0) * static_cast<std::int64_t>(transfer.size.value);
    }
  EXPECT_EQ(held, static_cast<std::int64_t>(run.ledger.held(0).value));
}

TEST(RuntimeHints, MostReferencedData_IsAllocatedInFastMemory) {
  TestRun run(choice("[values]\nniter = 40\n[refs]\nhot = \"8*65536*niter\"\n"));
  EXPECT_EQ(in_fast(run, run.hot), 4 * k_mib);
  EXPECT_EQ(in_fast(run, run.cold), 0U) << "what has no count takes no room from what has";
  run.iterate(40);
  // The first iteration moves 32 MiB at 16 GB/s and 16 MiB at 4 GB/s, the best that later ones reach.
  double first = 0;
  for (const auto& phase : run.records<profile::PhaseRecord>())
    if (phase.iteration == 0) first += (phase.ended - phase.begun).value;
  const double fast = 32 * static_cast<double>(k_mib) / 16e9 + 16 * static_cast<double>(k_mib) / 4e9;
  EXPECT_NEAR(first, fast, 0.01 * fast);
  // It was profiled at its place.
  const auto iterations = run.records<profile::IterationRecord>();
  ASSERT_EQ(iterations.size(), 1U);
  EXPECT_EQ(iterations[0].places.at(0), 0);
  EXPECT_EQ(iterations[0].places.back(), 1);
  expect_within_budget(run);
}

TEST(RuntimeHints, LoopBegin_CorrectsEarlierPlacement) {
  TestRun run(choice("[refs]\nhot = 1000\ncold = 100\nlate = 5000\n"));
  const auto late = run.add_late();
  EXPECT_EQ(in_fast(run, run.hot), 4 * k_mib);
  EXPECT_EQ(in_fast(run, run.cold), k_mib);
  EXPECT_EQ(in_fast(run, late), 0U) << "nothing moves before the loop";
  const auto before = run.vm.now();
  run.runtime.loop_begin("main");
  // The 5 MiB with the largest sum of references: late's four, and one of hot's.
  EXPECT_EQ(in_fast(run, late), 4 * k_mib);
  EXPECT_EQ(in_fast(run, run.hot), k_mib);
  EXPECT_EQ(in_fast(run, run.cold), 0U);
  // 4 MiB out and 4 MiB in, at the 4 GB/s of the slower place, were waited for.
  EXPECT_GE((run.vm.now() - before).value, 8 * static_cast<double>(k_mib) / 4e9);
  run.runtime.finish("exit");
  expect_within_budget(run);
}

TEST(RuntimeHints, HintsAfterAllocation_PlaceAtTheLoopsBegin) {
  RunChoice plain;
  TestRun run(plain);
  EXPECT_EQ(run.runtime.on_hint({What::references, "cold", "2*nnz", 0}), "");
  EXPECT_EQ(run.runtime.on_hint({What::value, "nnz", {}, 1000}), "");
  EXPECT_NE(run.runtime.on_hint({What::references, "cold", "2*", 0}), "");
  run.runtime.loop_begin("main");
  EXPECT_EQ(in_fast(run, run.cold), 5 * k_mib) << "as much of it as there is room for";
  run.runtime.finish("exit");
  expect_within_budget(run);
  const auto texts = notes(run);
  EXPECT_EQ(std::ranges::count(texts, "initial placement by reference counts: 'cold' 2000, 5MiB in fast"), 1);
}

// If first touch placed data before the hints, objects without counts are evicted.
TEST(RuntimeHints, ObjectsWithoutCounts_AreEvictedAsFarAsNeeded) {
  TestRun run;
  EXPECT_EQ(in_fast(run, run.hot), 4 * k_mib);
  EXPECT_EQ(in_fast(run, run.cold), k_mib);
  const auto late = run.add_late();
  EXPECT_EQ(run.runtime.on_hint({What::references, "late", "7", 0}), "");
  run.runtime.loop_begin("main");
  EXPECT_EQ(in_fast(run, late), 4 * k_mib);
  EXPECT_EQ(in_fast(run, run.cold), 0U) << "made last, so it leaves first";
  EXPECT_EQ(in_fast(run, run.hot), k_mib);
  run.runtime.finish("exit");
  expect_within_budget(run);
}

TEST(RuntimeHints, UnknownValue_IsReportedAndItsObjectIgnored) {
  TestRun run(choice("[refs]\nhot = \"2*nnz*niter\"\ncold = 3\n"));
  run.runtime.loop_begin("main");
  EXPECT_EQ(in_fast(run, run.hot), 0U);
  EXPECT_EQ(in_fast(run, run.cold), 5 * k_mib);
  run.runtime.finish("exit");
  const auto texts = notes(run);
  EXPECT_EQ(std::ranges::count(texts,
                               "hints: the references of 'hot', 2*nnz*niter, are not known: nnz has no "
                               "value; it takes no part in the initial placement"),
            1);
}

TEST(RuntimeHints, UnknownNames_AreReportedWithTheNearestName) {
  TestRun run(choice("[values]\nn = 1\n[refs]\nhott = \"1\"\n[[phase]]\nname = \"solved\"\nuses = [\"cold\"]\n"));
  run.iterate(2);
  const auto texts = notes(run);
  for (const char* text :
       {"hints: there was no object 'hott'; did you mean 'hot'?",
        "hints: there was no phase 'solved'; did you mean 'solve'?", "hints: no expression takes the value 'n'"})
    EXPECT_EQ(std::ranges::count(texts, text), 1) << text;
}

TEST(RuntimeHints, BaselinesAndPlans_IgnoreCountsWithANote) {
  TestRun run(choice("[refs]\nhot = 1\n", "slow-only"));
  run.iterate(2);
  EXPECT_EQ(in_fast(run, run.hot), 0U);
  EXPECT_EQ(notes(run), std::vector<std::string>{
                            "hints: the planner 'slow-only' places data its own way; reference counts and "
                            "directives are ignored"});
  auto planned = choice("[refs]\ncold = 1\n");
  planned.plan.emplace();
  planned.plan->objects.push_back({"hot", Bytes{4 * k_mib}, 1, false, {{{0, 1}, "fast"}}});
  TestRun obeying(planned);
  obeying.iterate(2);
  EXPECT_EQ(in_fast(obeying, obeying.hot), 4 * k_mib);
  EXPECT_EQ(in_fast(obeying, obeying.cold), 0U);
}

// Its data is where the first loop's plan has it, which is based on more than the counts.
TEST(RuntimeHints, SecondLoop_KeepsTheFirstLoopsPlacement) {
  TestRun run(choice("[refs]\ncold = 1\n"));
  EXPECT_EQ(in_fast(run, run.cold), 5 * k_mib);
  run.runtime.loop_begin("main");
  for (int i = 0; i < 40; ++i) {
    run.runtime.phase("solve");
    run.sweep(run.hot, 8);
    run.runtime.phase("output");
    run.sweep(run.cold, 1);
  }
  run.runtime.loop_end();
  const auto hot = in_fast(run, run.hot), cold = in_fast(run, run.cold);
  EXPECT_GT(hot, 3 * k_mib);
  run.runtime.loop_begin("again");
  EXPECT_EQ(in_fast(run, run.hot), hot);
  EXPECT_EQ(in_fast(run, run.cold), cold);
  run.runtime.finish("exit");
}

}  // namespace
}  // namespace terrace::runtime
