// Tests the tracer in QEMU on a program with exactly known accesses, and on one of another instruction set.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "run_program.hpp"
#include "tracer/trace_misses.hpp"
#include "tracer/trace_reader.hpp"

namespace terrace::test {
namespace {

using tracer::TraceKind;

constexpr std::uint64_t k_words = 65536;
constexpr std::uint64_t k_stride = 16;
constexpr std::uint64_t k_copied = 100000;
constexpr std::uint64_t k_rounds = 3;

struct TracedData {
  Outcome outcome;
  std::string file;
  std::uint64_t table = 0, halves = 0, block = 0;
};

bool has_qemu(const std::string& isa) { return run_program("command -v qemu-" + isa).status == 0; }

TracedData trace(const std::string& name, const std::string& options, const std::string& arguments = "") {
  TracedData traced;
  traced.file = std::string(TERRACE_SCRATCH) + "/" + name + ".trace";
  traced.outcome =
      run_program("qemu-" TERRACE_ISA " -plugin " TERRACE_PLUGIN ",out=" + traced.file + options +
                  " -E LD_PRELOAD=" TERRACE_TRACED_LIBRARY " " TERRACE_TRACED_PROGRAM " " + arguments);
  std::istringstream(traced.outcome.output) >> std::hex >> traced.table >> traced.halves >> traced.block;
  return traced;
}

class Tracer : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_qemu(TERRACE_ISA)) GTEST_SKIP() << "qemu-" TERRACE_ISA " is not installed (Debian: qemu-user)";
  }
};

TEST_F(Tracer, Trace_OfAProgram_HasEveryAccessAndEvent) {
  const auto traced = trace("every", "");
  ASSERT_EQ(traced.outcome.status, 5);
  auto reader = tracer::TraceReader::open(traced.file);
  EXPECT_EQ(reader.header().isa, TERRACE_ISA);
  EXPECT_EQ(reader.header().program, TERRACE_TRACED_PROGRAM);
  std::uint64_t code_low = 0;
  std::uint64_t code_high = 0;
  bool in_loop = false;
  std::map<std::pair<bool, bool>, std::uint64_t> bytes;  // of the table in the loop: by memory functions, stored
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
  bool after = false;
  std::map<std::uint32_t, std::set<std::uint64_t>> half_lines;
  std::vector<std::string> names;
  std::uint64_t block_size = 0;
  bool released = false;
  tracer::TraceRecord record;
  while (reader.next(record)) {
    switch (record.kind) {
      case TraceKind::code:
        code_low = record.address;
        code_high = record.address + record.size;
        break;
      case TraceKind::allocate:
        if (record.address == traced.block) block_size = record.size;
        break;
      case TraceKind::release:
        released = released || record.address == traced.block;
        break;
      case TraceKind::loop_begin:
        in_loop = true;
        names.emplace_back(record.text);
        break;
      case TraceKind::phase:
        names.emplace_back(record.text);
        break;
      case TraceKind::loop_end:
        in_loop = false;
        after = true;
        break;
      case TraceKind::access:
        if (record.address - traced.halves < 2 * 8192) half_lines[record.thread].insert(record.address);
        if (record.address - traced.table >= k_words * 8) break;
        if (in_loop) {
          bytes[{record.pc >= code_low && record.pc < code_high, record.flag}] += record.size;
        } else {
          (after ? bytes_after : bytes_before) += record.size;
        }
        break;
      default:
        break;
    }
  }
  EXPECT_TRUE(reader.ending().whole) << reader.ending().reason;
  EXPECT_EQ(bytes_before, k_words * 8);
  EXPECT_EQ(bytes_after, 0u);  // the child's accesses are not the program's
  constexpr auto k_swept = k_rounds * k_words / k_stride * 8;
  EXPECT_EQ((bytes[{false, false}]), k_swept);
  EXPECT_EQ((bytes[{false, true}]), k_swept);
  EXPECT_EQ((bytes[{true, false}]), k_rounds * k_copied);
  EXPECT_EQ((bytes[{true, true}]), 0u);
  EXPECT_EQ(block_size, 2 * k_copied);
  EXPECT_TRUE(released);
  ASSERT_EQ(names.size(), 1 + 2 * k_rounds);
  EXPECT_EQ(names[0], "main");
  EXPECT_EQ(names[1], "sweep");
  EXPECT_EQ(names[2], std::string("a phase whose name is longer than what a call can carry").substr(0, 40));
  // Two threads, and each byte in 64 of its half.
  ASSERT_EQ(half_lines.size(), 2u);
  for (const auto& [thread, lines] : half_lines) {
    EXPECT_GT(thread, 0u);
    EXPECT_EQ(lines.size(), 8192u / 64);
  }
}

TEST_F(Tracer, Misses_OfATrace_EqualAHandCount) {
  const auto traced = trace("misses", ",only=loop");
  ASSERT_EQ(traced.outcome.status, 5);
  auto reader = tracer::TraceReader::open(traced.file);
  tracer::TraceMissesOptions options;
  // Far smaller than a sweep: each line of a sweep or copy comes from memory.
  options.caches.levels = {{"l1", Bytes{4096}, 8, false, {}}, {"l2", Bytes{32768}, 16, true, {}}};
  const auto misses = find_misses(reader, options);
  EXPECT_TRUE(misses.loops_only);
  bool found_table = false;
  bool found_block = false;
  for (const auto& object : misses.objects) {
    if (object.about.name == "table") {
      found_table = true;
      EXPECT_EQ(object.lines[0], k_rounds * k_words / k_stride);
      EXPECT_EQ(object.lines[1], k_rounds * ((k_copied + 63) / 64));
      EXPECT_EQ(object.lines[2], 0u);
    }
    if (object.about.size == 2 * k_copied) {
      found_block = true;
      EXPECT_TRUE(object.about.name.starts_with("main traced.c:")) << object.about.name;
      EXPECT_EQ(object.lines[1], k_rounds * ((k_copied + 63) / 64));
    }
  }
  EXPECT_TRUE(found_table);
  EXPECT_TRUE(found_block);
}

TEST_F(Tracer, Trace_AtItsLimit_StopsAndTheProgramContinues) {
  const auto traced = trace("limit", ",limit=20000");
  EXPECT_EQ(traced.outcome.status, 5);
  auto reader = tracer::TraceReader::open(traced.file);
  tracer::TraceRecord record;
  while (reader.next(record)) {
  }
  EXPECT_TRUE(reader.ending().whole);
  EXPECT_TRUE(reader.ending().limited);
}

TEST_F(Tracer, Trace_OfAKilledProgram_IsKept) {
  const auto traced = trace("killed", "", "die");
  EXPECT_EQ(traced.outcome.status, 128 + 9);
  auto reader = tracer::TraceReader::open(traced.file);
  tracer::TraceRecord record;
  std::uint64_t accesses = 0;
  while (reader.next(record)) accesses += record.kind == TraceKind::access ? 1 : 0;
  EXPECT_GT(accesses, k_words / 2);
  EXPECT_FALSE(reader.ending().whole);
  EXPECT_TRUE(reader.ending().reason.starts_with("truncated: ")) << reader.ending().reason;
}

TEST_F(Tracer, Options_Unknown_AreRefused) {
  EXPECT_NE(trace("refused", ",frobnicate=1").outcome.status, 5);
  EXPECT_NE(trace("refused", ",limit=many").outcome.status, 5);
  EXPECT_NE(run_program("qemu-" TERRACE_ISA " -plugin " TERRACE_PLUGIN " " TERRACE_TRACED_PROGRAM).status, 5);
}

// A static program for AArch64, written by hand: 1000 loads of 8 bytes, 64 bytes apart.
std::string aarch64_program() {
  constexpr std::uint64_t k_text = 0x400000;
  constexpr std::uint64_t k_data = 0x500000;
  constexpr std::array<std::uint32_t, 8> k_code{
      0xd2a00a00,  // movz x0, #0x50, lsl #16
      0xd2807d01,  // movz x1, #1000
      0xf8440402,  // ldr x2, [x0], #64
      0xf1000421,  // subs x1, x1, #1
      0x54ffffc1,  // b.ne two back
      0xd2800ba8,  // movz x8, #93 (exit)
      0xd2800000,  // movz x0, #0
      0xd4000001,  // svc #0
  };
  std::string file;
  const auto put = [&](std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) file.push_back(static_cast<char>(value >> (8 * i)));
  };
  constexpr std::uint64_t k_headers = 64 + 2 * 56;
  file.append(
      "\x7f"
      "ELF\2\1\1\0\0\0\0\0\0\0\0\0",
      16);
  put(2, 2), put(183, 2), put(1, 4);  // executable, AArch64
  put(k_text + k_headers, 8), put(64, 8), put(0, 8), put(0, 4);
  put(64, 2), put(56, 2), put(2, 2), put(64, 2), put(0, 2), put(0, 2);
  const auto segment = [&](std::uint64_t flags, std::uint64_t low, std::uint64_t in_file, std::uint64_t size) {
    put(1, 4), put(flags, 4), put(0, 8), put(low, 8), put(low, 8), put(in_file, 8), put(size, 8), put(4096, 8);
  };
  const auto text_bytes = k_headers + k_code.size() * 4;
  segment(5, k_text, text_bytes, text_bytes);
  segment(6, k_data, 0, 64 * 1000);
  for (const auto word : k_code) put(word, 4);
  return file;
}

TEST(TracerCrossArchitecture, Trace_Aarch64Program_HasItsAccesses) {
  if (!has_qemu("aarch64")) GTEST_SKIP() << "qemu-aarch64 is not installed (Debian: qemu-user)";
  const auto program = std::string(TERRACE_SCRATCH) + "/loads.aarch64";
  const auto file = program + ".trace";
  std::ofstream(program, std::ios::binary) << aarch64_program();
  ASSERT_EQ(chmod(program.c_str(), 0700), 0);
  ASSERT_EQ(run_program("qemu-aarch64 -plugin " TERRACE_PLUGIN ",out=" + file + " " + program).status, 0);
  auto reader = tracer::TraceReader::open(file);
  EXPECT_EQ(reader.header().isa, "aarch64");
  tracer::TraceRecord record;
  std::uint64_t loads = 0;
  while (reader.next(record)) {
    if (record.kind != TraceKind::access) continue;
    ASSERT_EQ(record.address, 0x500000 + 64 * loads);
    ASSERT_EQ(record.size, 8u);
    ASSERT_EQ(record.pc, 0x400000u + 64 + 2 * 56 + 8);
    ASSERT_FALSE(record.flag);
    ++loads;
  }
  EXPECT_EQ(loads, 1000u);
  EXPECT_TRUE(reader.ending().whole);
}

}  // namespace
}  // namespace terrace::test
