// Tests that a replay reports what the recorder received: all of it, in order, for any program; and the file's
// format as other tools see it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zstd.h>

#include <csignal>

#include "machine/machine.hpp"
#include "recorded_events.hpp"

namespace terrace::sim {
namespace {

std::vector<std::string> replayed(const TestFile& file, bool wants_misses, std::size_t process = 0) {
  const auto bytes = file.bytes();
  const auto index = index_recording(bytes);
  EXPECT_EQ(index.cut, "");
  TranscriptSink sink(wants_misses);
  const auto end = replay_process(index.processes.at(process), sink);
  EXPECT_TRUE(end.finished);
  EXPECT_EQ(end.reason, "");
  return sink.said.lines;
}

TEST(Recording, RandomProgram_ReplaysTheSameEvents) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const bool with_misses = seed % 2 == 0;
    const TestFile file;
    RandomProgram program(seed, with_misses);
    {
      RecordingWriter writer(file.path(), example_header(), never, seed % 3 == 0 ? 1 : 20000);
      program.play(writer, 200);
    }
    ASSERT_EQ(replayed(file, with_misses), program.lines()) << seed;
  }
}

// A collector may begin to need misses in the middle of a frame.
TEST(Recording, MissesRequestedAtAnyQuantum_AreReturned) {
  const TestFile file;
  RandomProgram program(3, true);
  {
    RecordingWriter writer(file.path(), example_header());
    program.play(writer, 300);
  }
  const auto bytes = file.bytes();
  const auto index = index_recording(bytes);
  class Sometimes final : public TranscriptSink {
   public:
    Sometimes() : TranscriptSink(false) {}
    std::vector<std::string> with_misses;
    [[nodiscard]] bool wants_misses() const override { return number_ % 3 == 1; }
    void quantum(const observe::Quantum& quantum, const observe::Tally&) override {
      Transcript whole;
      whole.quantum(quantum, true);
      with_misses.push_back(wants_misses() ? whole.lines.front() : std::string());
      ++number_;
    }

   private:
    int number_ = 0;
  } sink;
  replay_process(index.processes.front(), sink);
  std::vector<std::string> quanta;
  for (const auto& line : program.lines())
    if (line.starts_with("quantum")) quanta.push_back(line);
  ASSERT_EQ(sink.with_misses.size(), quanta.size());
  for (std::size_t i = 0; i < quanta.size(); ++i) {
    if (i % 3 == 1) {
      EXPECT_EQ(sink.with_misses[i], quanta[i]);
    }
  }
}

TEST(Recording, Header_RoundTrips) {
  const TestFile file;
  const auto header = example_header(42);
  { const RecordingWriter writer(file.path(), header); }
  const auto bytes = file.bytes();
  const auto index = index_recording(bytes);
  ASSERT_EQ(index.processes.size(), 1U);
  BlobWriter written, read;
  header.to_blob(written);
  index.processes.front().header.to_blob(read);
  EXPECT_TRUE(std::ranges::equal(written.bytes(), read.bytes()));
}

TEST(Recording, SeveralProcesses_ShareAFile) {
  const TestFile file;
  RandomProgram first(1, true), second(2, true);
  {
    RecordingWriter a(file.path(), example_header(1), never, 1000);
    RecordingWriter b(file.path(), example_header(2), never, 1000);
    for (int i = 0; i < 50; ++i) {
      first.play(a, 3, false);
      second.play(b, 2, false);
    }
    first.play(a, 0);
    second.play(b, 0);
  }
  EXPECT_EQ(replayed(file, true, 0), first.lines());
  EXPECT_EQ(replayed(file, true, 1), second.lines());
}

// According to the specification a file is valid zstd input: frames, some of them skippable; zstd itself checks
// it.
TEST(Recording, File_IsValidInputForZstd) {
  const TestFile file;
  {
    RecordingWriter writer(file.path(), example_header(), never, 5000);
    RandomProgram(5, true).play(writer, 200);
  }
  const auto bytes = file.bytes();
  std::size_t at = 0, frames = 0, contents = 0;
  while (at < bytes.size()) {
    const auto size = ZSTD_findFrameCompressedSize(bytes.data() + at, bytes.size() - at);
    ASSERT_FALSE(ZSTD_isError(size)) << ZSTD_getErrorName(size);
    contents += ZSTD_getFrameContentSize(bytes.data() + at, size);
    at += size;
    ++frames;
  }
  EXPECT_EQ(frames % 4, 0U);
  EXPECT_GT(frames, 8U);
  EXPECT_GT(contents, bytes.size());
}

// Streams are most of what recordings contain.
TEST(Recording, Stream_TakesFewBytes) {
  const TestFile file;
  constexpr std::uint64_t k_quanta = 1000, k_misses = 4096;
  {
    RecordingWriter writer(file.path(), example_header());
    writer.on_object_added({"a", observe::ObjectKind::heap, 4096, Bytes{1 << 30}, 0, 0, 64});
    std::vector<observe::Miss> misses(k_misses);
    for (std::uint64_t i = 0; i < k_quanta; ++i) {
      for (std::uint64_t k = 0; k < k_misses; ++k)
        misses[k] = {static_cast<std::uint32_t>(i % 64), static_cast<std::uint16_t>(k), 0,
                     observe::MissKind::prefetched};
      writer.quantum({0, 16384, 16384, {12288, 0, 0, 0}, misses});
    }
    writer.on_finish("exit");
  }
  EXPECT_LT(static_cast<double>(file.bytes().size()), 0.01 * k_quanta * k_misses);
}

TEST(Recording, FileSizeLimit_EndsTheRecordingWithAReason) {
  const TestFile file;
  std::vector<std::string> complaints;
  RecordingWriter writer(
      file.path(), example_header(), [&](const std::string& why) { complaints.push_back(why); }, 1000);
  RandomProgram program(11, true, 300);  // so that a frame is small relative to the limit
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  program.play(writer, 400);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(complaints, std::vector<std::string>{"File too large"});
  const auto bytes = file.bytes();
  EXPECT_LE(bytes.size(), 4096U);
  const auto index = index_recording(bytes);
  TranscriptSink sink(true);
  const auto end = replay_process(index.processes.front(), sink);
  EXPECT_FALSE(end.finished);
  EXPECT_GT(end.frames, 0U);
  ASSERT_LT(sink.said.lines.size(), program.lines().size());
  EXPECT_TRUE(std::equal(sink.said.lines.begin(), sink.said.lines.end(), program.lines().begin()));
}

TEST(CacheShape, Difference_NamesWhatDiffers) {
  const CacheShape one{64, 10, 64, 56, 16, {{32768, 8, false}, {1 << 20, 16, true}}};
  const auto differs = [&](auto change) {
    auto other = one;
    change(other);
    return difference(one, other, "recorded", "here");
  };
  EXPECT_EQ(difference(one, one, "recorded", "here"), "");
  EXPECT_EQ(differs([](auto& s) { s.line = 128; }), "cache lines: 64B recorded, 128B here");
  EXPECT_EQ(differs([](auto& s) { s.levels.pop_back(); }), "cache levels: 2 recorded, 1 here");
  EXPECT_EQ(differs([](auto& s) { s.levels[1].size = 1 << 19; }),
            "cache level 2: 1MiB in 16 ways, shared recorded, 512KiB in 16 ways, shared here");
  EXPECT_EQ(differs([](auto& s) { s.levels[0].shared = true; }),
            "cache level 1: 32KiB in 8 ways, private recorded, 32KiB in 8 ways, shared here");
  EXPECT_EQ(differs([](auto& s) { s.miss_registers = 12; }), "miss registers: 10 recorded, 12 here");
  EXPECT_EQ(differs([](auto& s) { s.window = 80; }), "accesses of the reorder window: 64 recorded, 80 here");
  EXPECT_EQ(differs([](auto& s) { s.store_buffer = 64; }), "stores in the store buffer: 56 recorded, 64 here");
  EXPECT_EQ(differs([](auto& s) { s.streams = 512; }), "streams of the prefetchers: 16 recorded, 512 here");
  EXPECT_EQ(differs([](auto& s) {
              s.tlb = {2048, 8, 4096};
            }),
            "TLB: none recorded, 2048 entries in 8 ways for pages of 4KiB here");
}

TEST(CacheShape, Tlb_GeometryCountsAndWalkCostDoesNot) {
  machine::MachineParts parts;
  parts.name = "m";
  parts.places = {{"p", "ddr", {1 << 30}, {4096}, 0, -1}};
  parts.paths = {{0, 0, {1e9}, {1e9}, {1e-7}}};
  parts.initiators.emplace_back().name = "cores";
  parts.domains = {{"node", 0, {}}};
  const auto shape_with = [&](const machine::Tlb& tlb) {
    parts.initiators[0].tlb = tlb;
    return cache_shape(machine::Machine(parts), 0);
  };
  const auto one = shape_with({1536, 12, {4096}, {9e-9}});
  EXPECT_EQ(one.tlb, (CacheShape::Tlb{1536, 12, 4096}));
  EXPECT_EQ(one, shape_with({1536, 12, {4096}, {3e-9}}));
  EXPECT_NE(one, shape_with({1536, 6, {4096}, {9e-9}}));
  EXPECT_NE(one, shape_with({1536, 12, {8192}, {9e-9}}));
  EXPECT_NE(one, shape_with({}));
}

}  // namespace
}  // namespace terrace::sim
