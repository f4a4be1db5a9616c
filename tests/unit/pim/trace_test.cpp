// Tests the trace format, recorders and replays.
#include "pim/trace/trace.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <thread>

#include "brute_force.hpp"
#include "core/error.hpp"
#include "pim/trace/recorder.hpp"
#include "pim/trace/replay.hpp"

namespace terrace::pim {
namespace {

constexpr Geometry k_small{.rows = 64, .columns = 64, .subarrays = 4, .banks = 2, .devices = 2};

constexpr const char* k_good = R"(# what a program asked
terrace-pim-trace 1 devices=2 banks=2 subarrays=4 rows=64 columns=64

a 1 16 1 v = 0 0 0
a 2 3 2 h best in=bank = 0 0 16  # a comment
a 3 8 1 v align=8x2 beside=1 share=bank
a 4 64 9 h = -
g 2 share=subarray
a 5 4 1 v = 0 1 0
a 6 4 1 v = 0 1 4
f 2
a 18446744073709551615 1 1
)";

TEST(PimTrace, FormattedTrace_ParsesToTheSame) {
  std::string text = k_good;
  text.replace(text.find("64 9"), 4, "64 8");
  const auto trace = parse_trace(text, "t");
  EXPECT_EQ(trace.geometry, k_small);
  ASSERT_EQ(trace.operations.size(), 9u);
  const auto& best = trace.operations[1];
  EXPECT_EQ(best.line, 5u);
  EXPECT_EQ(best.id, 2u);
  EXPECT_EQ(best.request.shape, (Shape{3, 2}));
  EXPECT_EQ(best.request.fit, Fit::best);
  EXPECT_EQ(best.request.within, Within::bank);
  EXPECT_EQ(best.outcome->block, (Block{0, 0, 16, {3, 2}}));
  const auto& beside = trace.operations[2];
  EXPECT_EQ(beside.request.dim, Dim::vertical);
  EXPECT_EQ(beside.request.row_alignment, 8u);
  EXPECT_EQ(beside.request.subarray_alignment, 2u);
  EXPECT_EQ(beside.beside, 1u);
  EXPECT_EQ(beside.request.share, Within::bank);
  EXPECT_FALSE(beside.outcome);
  EXPECT_FALSE(trace.operations[3].outcome->block);
  EXPECT_EQ(trace.operations[4].kind, Operation::Kind::group);
  EXPECT_EQ(trace.operations[4].members, 2u);
  EXPECT_EQ(trace.operations[7].kind, Operation::Kind::release);
  const auto written = format_trace(trace);
  EXPECT_EQ(format_trace(parse_trace(written, "again")), written);
  EXPECT_NE(written.find("\na 3 8 1 v align=8x2 beside=1 share=bank\n"), std::string::npos) << written;
}

struct Bad {
  const char* replace;
  const char* with;
  const char* complaint;
};

class BrokenTrace : public ::testing::TestWithParam<Bad> {};

TEST_P(BrokenTrace, Error_IsOneLine) {
  const auto& bad = GetParam();
  std::string text = k_good;
  text.replace(text.find("64 9"), 4, "64 8");
  const auto at = text.find(bad.replace);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(bad.replace).size(), bad.with);
  try {
    parse_trace(text, "t");
    FAIL() << "accepted; expected " << bad.complaint;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_EQ(std::string(error.what()), bad.complaint);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BrokenTrace,
    ::testing::Values(
        Bad{"terrace-pim-trace 1", "a 1 2 3",
            "t:2: this is no trace of allocations; begin it with 'terrace-pim-trace 1 devices=1 banks=8 "
            "subarrays=16 rows=1024 columns=65536'"},
        Bad{"-trace 1", "-trace 2", "t:2: this trace has version 2; this Terrace reads version 1"},
        Bad{" rows=64", " rows=0", "t:2: rows: '0' is no number from 1 to 4294967295"},
        Bad{" rows=64", "", "t:2: rows: there are 0; there must be at least 1"},
        Bad{" rows=64", " row=64",
            "t:2: 'row=64' is no dimension; write for example 'terrace-pim-trace 1 devices=1 banks=8 "
            "subarrays=16 rows=1024 columns=65536'"},
        Bad{"a 1 16 1 v = 0 0 0", "x 1",
            "t:4: 'x' is no operation; those are a (allocate), g (group) and f (free)"},
        Bad{"a 1 16 1 v", "a 0 16 1 v", "t:4: block: '0' is no number from 1 to 18446744073709551615"},
        Bad{"a 1 16 1 v", "a 1 16x 1 v", "t:4: rows: '16x' is no number from 1 to 4294967295"},
        Bad{"a 1 16 1 v = 0 0 0", "a 1 16", "t:4: subarrays: missing; add it"},
        Bad{"a 1 16 1 v = 0 0 0", "a 1 65 1",
            "t:4: 65 rows x 1 subarrays were requested, but a device has 64 x 8; request fewer"},
        Bad{"3 2 h best in=bank", "3 5 h best in=bank",
            "t:5: 3 rows x 5 subarrays were requested, but a bank has 64 x 4; request fewer"},
        Bad{"in=bank", "in=banc", "t:5: in: 'banc' is none of subarray, bank and device"},
        Bad{"best", "worst",
            "t:5: 'worst' is no option; those are h, v, first, best, in=, align=, beside=, share= and, last, = "
            "followed "
            "by the outcome"},
        Bad{"= 0 0 16", "= 2 0 16",
            "t:5: a block there does not lie inside of 2 devices x 2 banks x 4 subarrays x 64 rows x 64 columns; "
            "correct this line, or the device in the first line"},
        Bad{"= 0 0 16", "= 0 0 62",
            "t:5: a block there does not lie inside of 2 devices x 2 banks x 4 subarrays x 64 rows x 64 columns; "
            "correct this line, or the device in the first line"},
        Bad{"= 0 0 16", "= 0 0 16 4", "t:5: '4' is one word too many; remove it"},
        Bad{"= 0 0 16", "= 0", "t:5: subarray: missing; add it"},
        Bad{"align=8x2", "align=8x0", "t:6: subarrays to align to: '0' is no number from 1 to 4294967295"},
        Bad{"beside=1", "beside=9", "t:6: block 9 has not been allocated; that line must come first"},
        Bad{"a 4 64 8", "a 3 64 8", "t:7: a second block is called 3; give it another number"},
        Bad{"g 2", "g 9", "t:8: a group of 9 blocks; a group has at most 8"},
        Bad{"g 2", "g 3", "t:11: 'f' stands where the group of line 8 has 1 more allocations; add them first"},
        Bad{"share=subarray", "in=subarray",
            "t:8: 'in=subarray' is no option of a group; write for example 'g 2 share=subarray'"},
        Bad{"a 5 4 1 v", "a 5 4 1 v best",
            "t:9: a request of a group has a best fit or a block beside it, which groups do not support; "
            "allocate it alone"},
        Bad{"a 5 4 1 v", "a 5 4 1 v beside=1", "t:9: a block of a group has no 'beside'; remove it"},
        Bad{"f 2", "f 2\nf 2", "t:12: block 2 was released before; remove this line"},
        Bad{"f 2", "f 4", "t:11: block 4 found no room; remove this line"},
        Bad{"a 18446744073709551615 1 1", "g 1",
            "t:12: the group of line 12 has 1 allocations fewer than it says; add them, or say so many less"}));

TEST(PimTrace, EmptyFile_IsInvalid) {
  EXPECT_THROW(parse_trace("", "t"), Error);
  EXPECT_THROW(parse_trace("\n# nothing\n", "t"), Error);
  EXPECT_THROW(read_trace("/nonexistent/trace"), Error);
}

Request random_request(std::mt19937& random) {
  Request request;
  request.shape = {1 + static_cast<std::uint32_t>(random() % 12), 1 + static_cast<std::uint32_t>(random() % 3)};
  request.dim = random() % 2 == 0 ? Dim::horizontal : Dim::vertical;
  request.fit = random() % 2 == 0 ? Fit::first : Fit::best;
  if (random() % 4 == 0) request.row_alignment = 4;
  if (random() % 4 == 0) request.within = Within::bank;
  return request;
}

// Allocates, groups, requests neighbours, and releases at about the same rate.
void run_program(Recorder& recorder, unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::vector<Handle> live;
  for (int i = 0; i < steps; ++i) {
    const auto what = random() % 8;
    if (what < 3 && !live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      EXPECT_EQ(recorder.release(live.back()), Released::done);
      live.pop_back();
    } else if (what == 3) {
      std::vector requests{random_request(random), random_request(random)};
      for (auto& request : requests) request.fit = Fit::first;  // blocks of a group have no other
      for (const auto handle : recorder.allocate_group(requests, Within::bank)) live.push_back(handle);
    } else {
      auto request = random_request(random);
      if (what == 4 && !live.empty()) {
        request.beside = live[random() % live.size()];
        request.share = Within::bank;
      }
      if (const auto handle = recorder.allocate(request)) live.push_back(handle);
    }
  }
}

TEST(PimReplay, SameDevice_ReproducesOutcomes) {
  std::ostringstream text;
  Allocator recorded(k_small);
  Recorder recorder(recorded, text);
  run_program(recorder, 7, 3000);
  const auto trace = parse_trace(text.str(), "recording");
  Allocator again(k_small, 2);
  const auto summary = replay(trace, again);
  EXPECT_EQ(summary.differ, 0u);
  EXPECT_EQ(summary.compared, summary.allocations);
  EXPECT_GT(summary.failures, 0u) << "the program must fill the device at times";
  EXPECT_GT(summary.releases, 500u);
  EXPECT_EQ(summary.in_use(), k_small.units() - recorded.free_units());
  EXPECT_EQ(again.free_units(), recorded.free_units());
  EXPECT_GE(summary.peak, summary.in_use());
  for (const auto& [id, live] : summary.live) EXPECT_EQ(again.block(live.handle), live.block) << id;
}

TEST(PimReplay, OperationLimit_StopsAtPeak) {
  std::ostringstream text;
  Allocator recorded(k_small);
  Recorder recorder(recorded, text);
  run_program(recorder, 8, 500);
  const auto trace = parse_trace(text.str(), "recording");
  Allocator whole(k_small), part(k_small);
  std::uint64_t seen = 0;
  std::size_t last = 0;
  const auto all = replay(trace, whole, [&](const ReplaySummary& so_far) {
    seen = std::max(seen, so_far.in_use());
    EXPECT_GT(so_far.operations, last);
    last = so_far.operations;
  });
  EXPECT_EQ(last, all.operations);
  EXPECT_EQ(all.peak, seen);
  const auto fullest = replay(trace, part, {}, all.peak_operations);
  EXPECT_EQ(fullest.in_use(), all.peak);
  EXPECT_EQ(fullest.operations, all.peak_operations);
}

TEST(PimReplay, DifferentOutcome_IsReported) {
  constexpr const char* k_text =
      "terrace-pim-trace 1 banks=1 subarrays=2 rows=8 columns=8\n"
      "a 1 8 1 v = 0 1 0\n"
      "a 2 8 1 v = 0 1 0\n"
      "a 3 8 1 v = -\n"
      "a 4 1 1 v beside=1\n"
      "f 1\n"
      "f 2\n";
  const auto trace = parse_trace(k_text, "t");
  Allocator allocator(trace.geometry);
  const auto summary = replay(trace, allocator);
  EXPECT_EQ(summary.operations, 6u);
  EXPECT_EQ(summary.compared, 3u);
  EXPECT_EQ(summary.failures, 2u);
  EXPECT_EQ(summary.peak, 16u);
  EXPECT_EQ(summary.peak_operations, 2u);
  EXPECT_EQ(summary.in_use(), 0u);
  ASSERT_EQ(summary.differ, 1u);
  EXPECT_EQ(summary.differences[0].line, 2u);
  EXPECT_EQ(describe(summary.differences[0].recorded), "device 0, subarray 1, row 0");
  EXPECT_EQ(describe(summary.differences[0].replayed), "device 0, subarray 0, row 0");
}

TEST(PimReplay, SmallerDevice_CountsFailures) {
  const auto trace = parse_trace(
      "terrace-pim-trace 1 banks=1 subarrays=4 rows=8 columns=8\n"
      "a 1 8 4 h\n"
      "a 2 1 1 v beside=1 share=device\n"
      "g 2 share=bank\na 3 1 1\na 4 1 3\n"
      "a 5 2 2 h\n"
      "f 1\nf 5\n",
      "t");
  Allocator allocator({.rows = 8, .columns = 8, .subarrays = 2, .banks = 1, .devices = 1});
  const auto summary = replay(trace, allocator);
  EXPECT_EQ(summary.failures, 4u);
  EXPECT_EQ(summary.releases, 2u);
  EXPECT_EQ(summary.peak, 4u);
  EXPECT_EQ(allocator.free_units(), 16u);
}

// Whatever threads do concurrently, in the recorded order no block overlaps a live one.
TEST(PimRecorder, SeveralThreads_WriteConsistentHistory) {
  std::ostringstream text;
  Allocator allocator(k_small);
  Recorder recorder(allocator, text);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&recorder, t] { run_program(recorder, 100 + t, 1500); });
  }
  const auto trace = parse_trace(text.str(), "recording");
  BruteForce bitmap(k_small);
  std::unordered_map<std::uint64_t, Block> live;
  for (const auto& operation : trace.operations) {
    if (operation.kind == Operation::Kind::release) {
      bitmap.mark(live.at(operation.id), false);
      live.erase(operation.id);
    } else if (operation.kind == Operation::Kind::allocate && operation.outcome->block) {
      ASSERT_TRUE(bitmap.is_free(*operation.outcome->block)) << "line " << operation.line;
      bitmap.mark(*operation.outcome->block, true);
      live.emplace(operation.id, *operation.outcome->block);
    }
  }
  EXPECT_EQ(bitmap.free_units(), allocator.free_units());
}

TEST(PimRecorder, RefusedRequest_IsNotRecorded) {
  std::ostringstream text;
  Allocator allocator(k_small), other(k_small, 2);
  Recorder recorder(allocator, text);
  const auto before = text.str();
  EXPECT_THROW(recorder.allocate({.shape = {65, 1}}), Error);
  EXPECT_EQ(recorder.release({}), allocator.release({}));
  const auto foreign = other.allocate({.shape = {1, 1}});
  EXPECT_EQ(recorder.release(foreign), Released::foreign);
  EXPECT_EQ(text.str(), before);
  const auto block = recorder.allocate({.shape = {1, 1}});
  EXPECT_EQ(recorder.release(block), Released::done);
  EXPECT_EQ(recorder.release(block), Released::already);
  EXPECT_EQ(text.str(), before + "a 1 1 1 h = 0 0 0\nf 1\n");
}

}  // namespace
}  // namespace terrace::pim
