// Tests of record encoding: round trips, a layout that is stable across versions, and robust decoding: any bytes
// give a record or Error{corrupt}.
#include "profile/records.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace terrace::profile {
namespace {

template <class Record>
std::vector<std::byte> encoded(const Record& record) {
  BlobWriter out;
  encode(out, record);
  return {out.bytes().begin(), out.bytes().end()};
}

template <class Record>
Record decoded(std::span<const std::byte> bytes) {
  BlobReader in(bytes);
  Record record;
  decode(in, record);
  return record;
}

RunRecord example_run() {
  return {4711,
          1,
          1'763'690'000'000'000'000,
          "node \"7\"",
          "/home/u/cg",
          {"cg", "", "-n 1\n"},
          "virtual",
          "simulate",
          "unimem",
          "fast=64MiB",
          1,
          12.5,
          {1e-6},
          true,
          "instructions",
          "9 runs of 19ms"};
}

CoverageRecord example_reach() {
  CoverageRecord record;
  record.sample_period = {4e-3};
  record.not_sampled = "no \"reason\"";
  record.code = {{"/home/u/cg", true, {7}, {1}}, {"", false, {0.25}, {}}};
  record.heap = 1e9;
  record.heap_uncovered = 1.5e8;
  record.objects = {{9, {1 << 20}}};
  return record;
}

ObjectRecord example_object() {
  ObjectRecord record;
  auto& object = record.object;
  object.id = 9;
  object.name = "fields_.u";
  object.kind = observe::ObjectKind::common;
  object.size = {1 << 20};
  object.chunk_size = {4096};
  object.first_chunk = 77;
  object.chunks = 256;
  object.live = false;
  record.at = {0.5};
  record.places = {0, 1};
  record.address = 0x7f1234567000;
  return record;
}

IterationRecord example_iteration() {
  IterationRecord record;
  record.exact = true;
  record.iteration.number = 3;
  record.iteration.phases = {
      {"smooth", {0.25}, {0.125}, 1000, 10, {0.0625}, 17, {{0, 1, 2, 3, 4, 5}, {7, 0.5, 0.25, 1e300, 0, 0}}},
      {"", {0}, {0}, 0, 0, {0}, 0, {}},
  };
  record.places = {0, 0, 1, k_no_place};
  record.anew = true;
  return record;
}

PlanRecord example_plan() {
  PlanRecord record;
  record.at = {1.5};
  record.why = "after the first iteration";
  record.plan.planner = "global";
  record.plan.budget = {"hbm=16GiB"};
  record.plan.phases = {"a", "b"};
  record.plan.objects = {{"x", {4096}, 1, true, {{{0, 1}, "hbm"}}}};
  record.plan.moves = {{0, {0, 1}, "ddr", 0, 1, false, {0.5}, {0.25}}};
  record.plan.predicted = {2};
  return record;
}

TEST(Records, RunRecord_RoundTrips) {
  const auto wanted = example_run();
  const auto read = decoded<RunRecord>(encoded(wanted));
  EXPECT_EQ(read.process, wanted.process);
  EXPECT_EQ(read.parent, wanted.parent);
  EXPECT_EQ(read.started_unix_ns, wanted.started_unix_ns);
  EXPECT_EQ(read.host, wanted.host);
  EXPECT_EQ(read.program, wanted.program);
  EXPECT_EQ(read.arguments, wanted.arguments);
  EXPECT_EQ(read.backend, wanted.backend);
  EXPECT_EQ(read.mode, wanted.mode);
  EXPECT_EQ(read.planner, wanted.planner);
  EXPECT_EQ(read.budget, wanted.budget);
  EXPECT_EQ(read.initiator, wanted.initiator);
  EXPECT_EQ(read.cores, wanted.cores);
  EXPECT_EQ(read.sample_interval, wanted.sample_interval);
  EXPECT_TRUE(read.core_time_fitted);
  EXPECT_EQ(read.progress, wanted.progress);
  EXPECT_EQ(read.core_time_from, wanted.core_time_from);
  EXPECT_EQ(read.rank, wanted.rank);
  EXPECT_EQ(read.ranks, wanted.ranks);
  // Missing in journals of the previous versions: the source of core times, rank and number of ranks.
  const auto bytes = encoded(wanted);
  const auto field = 3 * sizeof(std::uint32_t) + wanted.core_time_from.size();
  const auto older = decoded<RunRecord>(std::span(bytes).first(bytes.size() - field));
  EXPECT_EQ(older.progress, wanted.progress);
  EXPECT_EQ(older.core_time_from, "");
}

TEST(Records, ObjectRecord_RoundTrips) {
  const auto wanted = example_object();
  const auto read = decoded<ObjectRecord>(encoded(wanted));
  EXPECT_EQ(read.object.id, 9U);
  EXPECT_EQ(read.object.name, "fields_.u");
  EXPECT_EQ(read.object.kind, observe::ObjectKind::common);
  EXPECT_EQ(read.object.size, Bytes{1 << 20});
  EXPECT_EQ(read.object.chunk_size, Bytes{4096});
  EXPECT_EQ(read.object.first_chunk, 77U);
  EXPECT_EQ(read.object.chunks, 256U);
  EXPECT_FALSE(read.object.live);
  EXPECT_EQ(read.at, Seconds{0.5});
  EXPECT_EQ(read.places, wanted.places);
  EXPECT_EQ(read.address, 0x7f1234567000U);
}

TEST(Records, IterationRecord_RoundTrips) {
  const auto wanted = example_iteration();
  const auto read = decoded<IterationRecord>(encoded(wanted));
  EXPECT_TRUE(read.exact);
  EXPECT_TRUE(read.anew);
  EXPECT_EQ(read.iteration.number, 3U);
  EXPECT_EQ(read.places, wanted.places);
  ASSERT_EQ(read.iteration.phases.size(), 2U);
  for (std::size_t p = 0; p < 2; ++p) {
    const auto& a = wanted.iteration.phases[p];
    const auto& b = read.iteration.phases[p];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.time, b.time);
    EXPECT_EQ(a.core, b.core);
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.samples_with_access, b.samples_with_access);
    EXPECT_EQ(a.bandwidth_time, b.bandwidth_time);
    EXPECT_EQ(a.unowned_lines, b.unowned_lines);
    ASSERT_EQ(a.cells.size(), b.cells.size());
    for (std::size_t c = 0; c < a.cells.size(); ++c) {
      EXPECT_EQ(a.cells[c].chunk, b.cells[c].chunk);
      EXPECT_EQ(a.cells[c].read_lines, b.cells[c].read_lines);
      EXPECT_EQ(a.cells[c].write_lines, b.cells[c].write_lines);
      EXPECT_EQ(a.cells[c].exposure, b.cells[c].exposure);
      EXPECT_EQ(a.cells[c].samples, b.cells[c].samples);
      EXPECT_EQ(a.cells[c].line_squares, b.cells[c].line_squares);
      EXPECT_EQ(a.cells[c].streamed_lines, b.cells[c].streamed_lines);
      EXPECT_EQ(a.cells[c].streamed_exposure, b.cells[c].streamed_exposure);
    }
  }
}

TEST(Records, MovesRecord_RoundTrips) {
  const MovesRecord two{{{}, {1, 2, 3, 4, 5, 6, {7}, {8}, {9}}}};
  const auto back = decoded<MovesRecord>(encoded(two));
  EXPECT_EQ(encoded(back), encoded(two));
  ASSERT_EQ(back.moves.size(), 2U);
  const auto& read = back.moves[1];
  EXPECT_EQ(read.object, 1U);
  EXPECT_EQ(read.chunks, 3U);
  EXPECT_EQ(read.need, 5U);
  EXPECT_EQ(read.to, 6U);
  EXPECT_EQ(read.size, Bytes{7});
  EXPECT_EQ(read.cost, Seconds{9});
}

void expect_equal(const std::vector<Transfer>& read, const std::vector<Transfer>& wanted) {
  ASSERT_EQ(read.size(), wanted.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].move, wanted[i].move);
    EXPECT_EQ(read[i].iteration, wanted[i].iteration);
    EXPECT_EQ(read[i].from, wanted[i].from);
    EXPECT_EQ(read[i].refused, wanted[i].refused);
    EXPECT_EQ(read[i].size, wanted[i].size);
    EXPECT_EQ(read[i].asked, wanted[i].asked);
    EXPECT_EQ(read[i].begun, wanted[i].begun);
    EXPECT_EQ(read[i].done, wanted[i].done);
    EXPECT_EQ(read[i].waited, wanted[i].waited);
  }
}

// Returns a value that sometimes equals that of the previous transfer, as is common in journals.
TEST(Records, RandomTransfers_RoundTrip) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    TransfersRecord record;
    Transfer one;
    for (auto left = random() % 40; left > 0; --left) {
      const auto other = [&](auto& value, auto wanted) {
        if (random() % 2 == 0) value = static_cast<std::remove_reference_t<decltype(value)>>(wanted);
      };
      one.move += 1;
      one.begun = one.done;
      other(one.move, random());
      other(one.iteration, random());
      other(one.from, random() % 3);
      one.refused = random() % 4 == 0;
      other(one.size.value, random());
      other(one.asked.value, static_cast<double>(random()));
      other(one.begun.value, static_cast<double>(random()));
      other(one.done.value, static_cast<double>(random()));
      one.waited = {random() % 3 == 0 ? 0.5 : 0.0};
      record.transfers.push_back(one);
    }
    expect_equal(decoded<TransfersRecord>(encoded(record)).transfers, record.transfers);
  }
}

TEST(Records, ConsecutiveTransfers_TakeNineBytes) {
  TransfersRecord record;
  for (std::uint32_t i = 0; i < 100; ++i)
    record.transfers.push_back({i, 3, 1, false, {4096}, {1.0}, {2.0 + i}, {3.0 + i}, {}});
  EXPECT_LE(encoded(record).size(), 9 * record.transfers.size() + 48);
}

TEST(Records, PlanRecord_RoundTrips) {
  const auto read = decoded<PlanRecord>(encoded(example_plan()));
  EXPECT_EQ(read.at, Seconds{1.5});
  EXPECT_EQ(read.why, "after the first iteration");
  EXPECT_EQ(read.plan.planner, "global");
  ASSERT_EQ(read.plan.objects.size(), 1U);
  EXPECT_TRUE(read.plan.objects[0].pinned);
  ASSERT_EQ(read.plan.moves.size(), 1U);
  EXPECT_EQ(read.plan.moves[0].to, "ddr");
}

TEST(Records, SmallRecords_RoundTrip) {
  EXPECT_EQ(decoded<ObjectEndRecord>(encoded(ObjectEndRecord{5, {2}})).object, 5U);
  EXPECT_EQ(decoded<LoopRecord>(encoded(LoopRecord{"main", {2}})).name, "main");
  const auto loop_end = decoded<LoopEndRecord>(encoded(LoopEndRecord{{2}, 15, 3}));
  EXPECT_EQ(loop_end.iterations, 15U);
  EXPECT_EQ(loop_end.observed, 3U);
  const auto phase = decoded<PhaseRecord>(encoded(PhaseRecord{1, 2, "p", {3}, {4}, {5}, false}));
  EXPECT_EQ(phase.waited, Seconds{5});
  EXPECT_FALSE(phase.observed);
  const auto core_time = decoded<CoreTimeRecord>(encoded(CoreTimeRecord{"p", {2e-10}}));
  EXPECT_EQ(core_time.phase, "p");
  EXPECT_EQ(core_time.instruction, Seconds{2e-10});
  EXPECT_EQ(decoded<NoteRecord>(encoded(NoteRecord{"warning", "text", {1}})).text, "text");
  const auto counters =
      decoded<CountersRecord>(encoded(CountersRecord{1, 2, 3, 4, 5, {6}, {7}, {8}, {9}, {10}, {11}}));
  EXPECT_EQ(counters.dropped, 5U);
  EXPECT_EQ(counters.stalled, Seconds{9});
  EXPECT_EQ(counters.charged, Seconds{11});
  const auto mpi =
      decoded<MpiRecord>(encoded(MpiRecord{{{"Send", 1, {2}, 3, 4}},
                                           {{5, 6, 7, 8}, {MpiMessages::k_other, 0, 9}},
                                           {{"MPICH 4.0.2", "cells", "the cells", "hbm0", 10, 11, 12}}}));
  ASSERT_EQ(mpi.functions.size(), 1u);
  EXPECT_EQ(mpi.functions[0].name, "Send");
  EXPECT_EQ(mpi.functions[0].calls, 1u);
  EXPECT_EQ(mpi.functions[0].time, Seconds{2});
  EXPECT_EQ(mpi.functions[0].sent, 3u);
  EXPECT_EQ(mpi.functions[0].received, 4u);
  ASSERT_EQ(mpi.messages.size(), 2u);
  EXPECT_EQ(mpi.messages[0].peer, 5);
  EXPECT_EQ(mpi.messages[0].size_class, 6);
  EXPECT_EQ(mpi.messages[0].messages, 7u);
  EXPECT_EQ(mpi.messages[0].bytes, 8u);
  EXPECT_EQ(mpi.messages[1].peer, MpiMessages::k_other);
  ASSERT_EQ(mpi.objects.size(), 1u);
  EXPECT_EQ(mpi.objects[0].library, "MPICH 4.0.2");
  EXPECT_EQ(mpi.objects[0].kind, "cells");
  EXPECT_EQ(mpi.objects[0].object, "the cells");
  EXPECT_EQ(mpi.objects[0].place, "hbm0");
  EXPECT_EQ(mpi.objects[0].objects, 10u);
  EXPECT_EQ(mpi.objects[0].bytes, 11u);
  EXPECT_EQ(mpi.objects[0].elsewhere, 12u);
  const auto loops = decoded<LoopsRecord>(encoded(LoopsRecord{{{"main:54", true, 0.1, 0.9, 1, 6, "why"}, {}}}));
  ASSERT_EQ(loops.loops.size(), 2u);
  EXPECT_EQ(loops.loops[0].name, "main:54");
  EXPECT_TRUE(loops.loops[0].is_taken);
  EXPECT_EQ(loops.loops[0].begins_at, 0.1);
  EXPECT_EQ(loops.loops[0].share, 0.9);
  EXPECT_EQ(loops.loops[0].visits, 1u);
  EXPECT_EQ(loops.loops[0].turns, 6u);
  EXPECT_EQ(loops.loops[0].verdict, "why");
  const auto levels = decoded<LevelsRecord>(encoded(LevelsRecord{{{"L2", 1, {2}, {3}}, {"dram", 4, {5}, {}}}}));
  ASSERT_EQ(levels.levels.size(), 2U);
  EXPECT_EQ(levels.levels[0].miss, Seconds{3});
  EXPECT_EQ(levels.levels[1].name, "dram");
  EXPECT_EQ(levels.levels[1].accesses, 4);
  const auto spilled = decoded<SpillRecord>(encoded(
      SpillRecord{7, {1}, {{2}, {3}, 4, 5, 6, 7, 8, {9}, {10}, {11}, {12}, {13}, {14}, {15}, {16}, {17}, {18}}}));
  EXPECT_EQ(spilled.iteration, 7U);
  EXPECT_EQ(spilled.account.written, Bytes{3});
  EXPECT_EQ(spilled.account.touches, 8U);
  EXPECT_EQ(spilled.account.kernel_paged, Bytes{13});
  EXPECT_EQ(spilled.account.min_time, Seconds{16});
  EXPECT_EQ(spilled.account.predicted, Seconds{17});
  EXPECT_EQ(spilled.account.measured, Seconds{18});
  EXPECT_EQ(decoded<EndRecord>(encoded(EndRecord{{3}, "exit"})).how, "exit");
  EXPECT_EQ(decoded<MachineRecord>(encoded(MachineRecord{std::string("a\0b", 3)})).blob, std::string("a\0b", 3));
  EXPECT_EQ(decoded<CalibrationRecord>(encoded(CalibrationRecord{"xyz"})).blob, "xyz");
}

TEST(Records, CoverageRecord_RoundTrips) {
  const auto read = decoded<CoverageRecord>(encoded(example_reach()));
  EXPECT_EQ(encoded(read), encoded(example_reach()));
  EXPECT_EQ(read.not_sampled, "no \"reason\"");
  ASSERT_EQ(read.code.size(), 2U);
  EXPECT_TRUE(read.code[0].hooks);
  EXPECT_EQ(read.code[1].in_loop, Seconds{0.25});
  EXPECT_EQ(read.heap_uncovered, 1.5e8);
  ASSERT_EQ(read.objects.size(), 1U);
  EXPECT_EQ(read.objects[0].size.value, 1U << 20);
}

// Journals outlive the version that wrote them: these bytes must always decode to these values.
TEST(Records, EncodedBytes_AreUnchanged) {
  const auto bytes = encoded(PhaseRecord{1, 2, "ab", {1.0}, {2.0}, {0.5}});
  const std::array<unsigned char, 39> layout = {1,   0, 0, 0,    2, 0, 0, 0,    2,    0, 0,    0,    'a',
                                                'b', 0, 0, 0,    0, 0, 0, 0xf0, 0x3f, 0, 0,    0,    0,
                                                0,   0, 0, 0x40, 0, 0, 0, 0,    0,    0, 0xe0, 0x3f, 1};
  EXPECT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span(layout))));
}

TEST(Records, ShortRecord_LeavesNewFieldsAtDefaults) {
  const auto bytes = encoded(PhaseRecord{1, 2, "ab", {1.0}, {2.0}, {0.5}});
  const auto older = decoded<PhaseRecord>(std::span(bytes).first(bytes.size() - sizeof(double) - sizeof(bool)));
  EXPECT_EQ(older.ended, Seconds{2.0});
  EXPECT_EQ(older.waited, Seconds{0});
  EXPECT_TRUE(older.observed);
  // A record that ends within a field is damaged.
  EXPECT_THROW(decoded<PhaseRecord>(std::span(bytes).first(bytes.size() - 2)), Error);
}

TEST(Records, LongRecord_IgnoresUnknownFields) {
  auto bytes = encoded(LoopRecord{"main", {2}});
  bytes.resize(bytes.size() + 100, std::byte{0xff});
  EXPECT_EQ(decoded<LoopRecord>(bytes).name, "main");
}

template <class Record>
void survive(const Record& record, std::mt19937& random) {
  const auto good = encoded(record);
  for (int i = 0; i < 2000; ++i) {
    auto bytes = good;
    bytes.resize(random() % (bytes.size() + 1));
    for (std::size_t flips = random() % 4; flips > 0 && !bytes.empty(); --flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    try {
      const auto read = decoded<Record>(bytes);
      EXPECT_EQ(encoded(decoded<Record>(encoded(read))), encoded(read));  // any decoded record is a valid value
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::corrupt);
    }
  }
}

TEST(Records, DamagedBytes_DecodeOrThrow) {
  std::mt19937 random(11);
  survive(example_run(), random);
  survive(example_iteration(), random);
  survive(example_plan(), random);
  survive(example_object(), random);
  survive(example_reach(), random);
}

}  // namespace
}  // namespace terrace::profile
