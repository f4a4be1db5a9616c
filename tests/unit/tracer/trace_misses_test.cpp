// Tests miss counts of traces against counts by hand.
#include "tracer/trace_misses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "../observe/recording.hpp"
#include "traces.hpp"

namespace terrace::tracer::test {

using observe::test::small_config;

namespace {

constexpr std::uint64_t k_code = 0x401000;
constexpr std::uint64_t k_library = 0x7f0000000000;
constexpr std::uint64_t k_memory_functions = 0x7f1000000000;
constexpr std::uint64_t k_block = 0x500010;  // as allocators align: not to lines
constexpr std::uint64_t k_size = 1 << 20;    // bytes; far more than the caches hold

class Program {
 public:
  Program() : writer_({"x86_64", "/nowhere/app", {}, 4096, k_code, k_code + 0x1000}) {
    event(TraceKind::map, k_library, 0x1000, "/lib/libother.so.6");
    event(TraceKind::code, k_memory_functions, 0x100, "memory functions");
    access(k_code + 8, 0x7fff0000, true);  // the call of the allocator
    event(TraceKind::allocate, k_block, k_size);
  }
  void event(TraceKind kind, std::uint64_t address = 0, std::uint64_t size = 0, std::string text = {}) {
    KeptRecord record;
    record.kind = kind;
    record.address = address;
    record.size = size;
    record.text = std::move(text);
    writer_.put(record);
  }
  void access(std::uint64_t pc, std::uint64_t address, bool store = false) {
    KeptRecord record;
    record.pc = pc;
    record.address = address;
    record.size = 8;
    record.flag = store;
    writer_.put(record);
  }
  void sweep(std::uint64_t pc) {
    for (std::uint64_t at = 0; at < k_size; at += 8) access(pc, k_block + at);
  }
  TraceMisses misses(bool whole_run = false) {
    const auto file = writer_.take();
    auto reader = reader_of(file);
    TraceMissesOptions options;
    options.caches = {small_config().caches, small_config().line};
    options.whole_run = whole_run;
    return find_misses(reader, options);
  }

 private:
  RecordWriter writer_;
};

const TraceMisses::OfObject& block_of(const TraceMisses& misses) {
  for (const auto& object : misses.objects)
    if (object.about.kind == "heap") return object;
  throw std::runtime_error("no block");
}

using Lines = std::array<std::uint64_t, k_trace_codes>;

TEST(TraceMisses, Sweep_AttributesEachLineOnceToItsObject) {
  Program program;
  program.sweep(k_code + 16);
  program.sweep(k_code + 16);
  program.sweep(k_memory_functions + 4);
  program.sweep(k_library + 4);
  program.sweep(0x123);  // without an owner: the dynamic linker, which QEMU loads itself
  const auto misses = program.misses();
  const auto& block = block_of(misses);
  EXPECT_EQ(block.about.size, k_size);
  // Blocks begin with a page of canonical addresses, wherever they lie: no line more than the bytes take.
  constexpr auto k_lines = k_size / 64;
  EXPECT_EQ(block.lines, (Lines{2 * k_lines, k_lines, 2 * k_lines}));
  EXPECT_EQ(misses.accesses, (Lines{2 * k_size / 8 + 1, k_size / 8, 2 * k_size / 8}));
  EXPECT_FALSE(misses.loops_only);
  ASSERT_EQ(misses.places.size(), 5u);  // four sweeps, and the line of the stack
  EXPECT_EQ(misses.places[0].lines, 2 * k_lines);
  EXPECT_EQ(misses.places[0].code, TraceCode::program);
  std::vector<std::string> sites;
  for (const auto& place : misses.places) sites.push_back(place.site);
  EXPECT_NE(std::find(sites.begin(), sites.end(), "libother.so.6"), sites.end());
  EXPECT_NE(std::find(sites.begin(), sites.end(), "memory functions"), sites.end());
  EXPECT_NE(std::find(sites.begin(), sites.end(), "(the dynamic linker)"), sites.end());
}

// Accesses before the loop's first phase warm the caches and do not count.
TEST(TraceMisses, AccessesOutsideTheMainLoop_AreNotCounted) {
  const auto run = [](bool whole_run) {
    Program program;
    program.sweep(k_code + 16);
    program.event(TraceKind::loop_begin, 0, 0, "main");
    program.sweep(k_code + 16);
    program.event(TraceKind::phase, 0, 0, "a");
    program.sweep(k_code + 16);
    for (std::uint64_t at = 0; at < 8; ++at)
      program.access(k_code, k_block + k_size - 64 + 8 * at);  // still there
    program.event(TraceKind::loop_end);
    program.sweep(k_code + 16);
    return program.misses(whole_run);
  };
  const auto loop = run(false);
  EXPECT_TRUE(loop.loops_only);
  EXPECT_EQ(block_of(loop).lines[0], k_size / 64);
  EXPECT_EQ(loop.accesses[0], k_size / 8 + 8);
  const auto whole = run(true);
  EXPECT_FALSE(whole.loops_only);
  EXPECT_EQ(block_of(whole).lines[0], 4 * k_size / 64);
}

TEST(TraceMisses, ReallocatedMemory_IsAnotherObject) {
  Program program;
  program.sweep(k_code + 16);
  program.event(TraceKind::release, k_block);
  program.event(TraceKind::allocate, k_block, 4096);
  program.access(k_code, k_block);
  const auto misses = program.misses();
  EXPECT_EQ(block_of(misses).lines[0], k_size / 64);
  const auto small = std::find_if(misses.objects.begin(), misses.objects.end(),
                                  [](const auto& object) { return object.about.kind == "small"; });
  ASSERT_NE(small, misses.objects.end());
  EXPECT_EQ(small->lines[0], 1u);
}

// An access that crosses a line is two, each of its own object if need be.
TEST(TraceMisses, AccessAcrossLines_CountsEachLine) {
  Program program;
  program.access(k_code, k_block + 60);
  program.access(k_code, k_block + k_size - 4);
  const auto misses = program.misses();
  EXPECT_EQ(block_of(misses).lines[0], 3u);
}

}  // namespace
}  // namespace terrace::tracer::test
