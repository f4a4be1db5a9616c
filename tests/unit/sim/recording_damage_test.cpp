// Tests truncated and modified recordings: what is complete before the damage is replayed, and nothing after it or
// invented.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/error.hpp"
#include "recorded_events.hpp"

namespace terrace::sim {
namespace {

struct Recorded {
  std::vector<std::byte> bytes;
  std::vector<std::string> lines;
  std::vector<std::size_t> frame_ends;  // in the file; the first is the header's
};

Recorded record(std::uint32_t seed, int events, std::size_t frame_bytes) {
  const TestFile file;
  RandomProgram program(seed, true, 30);
  {
    RecordingWriter writer(file.path(), example_header(), never, frame_bytes);
    program.play(writer, events);
  }
  Recorded recorded{file.bytes(), program.lines(), {}};
  for (std::size_t at = 0, end = 0; at < recorded.bytes.size(); at = end) {
    read_frame(recorded.bytes, at, end);
    recorded.frame_ends.push_back(end);
  }
  return recorded;
}

struct ReplayOutcome {
  std::vector<std::string> lines;
  ReplayEnd end;
  std::string cut;
};

ReplayOutcome tell(std::span<const std::byte> bytes) {
  const auto index = index_recording(bytes);
  TranscriptSink sink(true);
  ReplayOutcome told;
  told.end = replay_process(index.processes.front(), sink);
  told.lines = std::move(sink.said.lines);
  told.cut = index.cut;
  return told;
}

bool begins(const std::vector<std::string>& all, const std::vector<std::string>& with) {
  return with.size() <= all.size() && std::equal(with.begin(), with.end(), all.begin());
}

TEST(RecordingDamage, TruncatedAnywhere_ReplaysUpToTheLastWholeFrame) {
  const auto recorded = record(1, 60, 300);
  ASSERT_GT(recorded.frame_ends.size(), 4U);
  std::size_t lines_before = 0;
  for (std::size_t size = 0; size < recorded.bytes.size(); ++size) {
    const auto cut = std::span(recorded.bytes).first(size);
    const auto whole =
        static_cast<std::size_t>(std::upper_bound(recorded.frame_ends.begin(), recorded.frame_ends.end(), size) -
                                 recorded.frame_ends.begin());
    if (whole == 0) {
      EXPECT_THROW(tell(cut), Error) << size;
      continue;
    }
    const auto told = tell(cut);
    ASSERT_EQ(told.end.frames, whole - 1) << size;
    ASSERT_FALSE(told.end.finished) << size;
    ASSERT_TRUE(begins(recorded.lines, told.lines)) << size;
    ASSERT_GE(told.lines.size(), lines_before) << size;
    const bool at_an_end = std::ranges::find(recorded.frame_ends, size) != recorded.frame_ends.end();
    ASSERT_EQ(told.cut.empty(), at_an_end) << size << ": " << told.cut;
    lines_before = told.lines.size();
  }
  EXPECT_EQ(tell(recorded.bytes).lines, recorded.lines);
}

TEST(RecordingDamage, AnyChangedBit_IsDetected) {
  auto recorded = record(2, 40, 300);
  const auto whole = recorded.lines;
  for (std::size_t at = 0; at < recorded.bytes.size(); ++at) {
    const auto bit = std::byte{1} << (at % 8);
    recorded.bytes[at] ^= bit;
    try {
      const auto told = tell(recorded.bytes);
      ASSERT_LT(told.lines.size(), whole.size()) << at;
      ASSERT_TRUE(begins(whole, told.lines)) << at;
      ASSERT_FALSE(told.end.finished) << at;
      ASSERT_FALSE(told.cut.empty() && told.end.reason.empty()) << at;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::corrupt) << at << error.what();
    }
    recorded.bytes[at] ^= bit;
  }
}

TEST(RecordingDamage, MissingFrame_EndsTheRecording) {
  const auto recorded = record(3, 60, 300);
  const auto from = recorded.frame_ends[1], to = recorded.frame_ends[2];
  auto bytes = recorded.bytes;
  bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.begin() + static_cast<std::ptrdiff_t>(to));
  const auto told = tell(bytes);
  EXPECT_EQ(told.end.frames, 1U);
  EXPECT_NE(told.cut.find("frame 3 of its process, after frame 1"), std::string::npos) << told.cut;
}

TEST(RecordingDamage, OtherFiles_AreRejected) {
  const auto refused = [](std::string_view text) {
    try {
      index_recording(std::as_bytes(std::span(text)));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::corrupt);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused(""), "an empty file is no recording");
  EXPECT_EQ(refused("#!/bin/sh"), "not a recording");
  EXPECT_EQ(refused(std::string(1000, 'x')), "not a recording");
}

// Frames with valid checksums whose content no recorder writes.
class MadeUp {
 public:
  MadeUp() : file_(), writer_(std::make_unique<RecordingWriter>(file_.path(), example_header())) {}
  std::string refused(const std::function<void(std::vector<std::byte>&)>& events,
                      const std::vector<std::byte>& classes = {}, const std::vector<std::byte>& lines = {}) {
    writer_.reset();
    std::vector<std::byte> column;
    events(column);
    FrameWriter frames(1);
    const auto header = example_header();
    const auto frame = frames.make({1, header.identity.process, header.identity.started_unix_ns},
                                   {std::span<const std::byte>(column), classes, lines});
    auto bytes = file_.bytes();
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    try {
      tell(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::corrupt);
      return error.what();
    }
    return "accepted";
  }

 private:
  TestFile file_;
  std::unique_ptr<RecordingWriter> writer_;
};

void put_object(std::vector<std::byte>& out, std::uint64_t id, std::uint64_t first, std::uint64_t chunks) {
  put_byte(out, static_cast<std::uint8_t>(EventTag::object_added));
  put_text(out, "a");
  for (const auto value : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{4096}, id, first, chunks})
    put_number(out, value);
}

void put_removal(std::vector<std::byte>& out, std::uint64_t id) {
  put_byte(out, static_cast<std::uint8_t>(EventTag::object_removed));
  put_number(out, id);
}

// Encodes one class with `count` misses on `chunk`.
void put_quantum(std::vector<std::byte>& out, std::int64_t chunk, std::uint64_t count, std::uint64_t lines,
                 std::uint64_t accesses = 0) {
  put_byte(out, static_cast<std::uint8_t>(EventTag::quantum));
  for (int i = 0; i < 2; ++i) put_number(out, 0);  // flags, thread
  put_number(out, accesses);
  for (int i = 0; i < 6; ++i) put_number(out, 0);  // instructions, hits, walks
  put_number(out, 0);                              // calls
  put_number(out, 1);
  put_number(out, zigzag(chunk));
  put_number(out, count << 3);
  put_number(out, lines);
}

TEST(RecordingDamage, InvalidContentWithValidChecksum_IsRejected) {
  EXPECT_EQ(MadeUp().refused([](auto& out) { put_byte(out, 99); }),
            "the recording has an event of a kind that this version of terrace does not know");
  EXPECT_EQ(MadeUp().refused([](auto& out) { put_byte(out, static_cast<std::uint8_t>(EventTag::slept)); }),
            "the file is damaged: its data end within a number or text");
  EXPECT_EQ(MadeUp().refused([](auto& out) {
    put_byte(out, static_cast<std::uint8_t>(EventTag::object_removed));
    put_number(out, 0);
  }),
            "the recording is damaged: it frees an object that is not there");
  EXPECT_EQ(MadeUp().refused([](auto& out) { put_object(out, 1, 0, 1); }),
            "the recording is damaged: its objects are out of order");
  EXPECT_EQ(MadeUp().refused([](auto& out) { put_object(out, 0, 5, 1); }),
            "the recording is damaged: its objects are out of order");
  EXPECT_EQ(MadeUp().refused([](auto& out) {
    put_object(out, 0, 0, 2);
    put_quantum(out, 2, 1, 0);
  }),
            "the recording is damaged: it has a miss on a chunk that is not there");
  EXPECT_EQ(MadeUp().refused([](auto& out) {
    put_byte(out, static_cast<std::uint8_t>(EventTag::finished));
    put_text(out, "exit");
    put_byte(out, static_cast<std::uint8_t>(EventTag::loop_end));
  }),
            "the recording is damaged: it goes on after the program's end");
  const auto one_miss = [](auto& out) {
    put_object(out, 0, 0, 2);
    put_quantum(out, 1, 1, 1);
  };
  const std::vector<std::byte> zero(1), one(1, std::byte{1});
  EXPECT_EQ(MadeUp().refused(one_miss), "the recording is damaged: its columns do not belong together");
  EXPECT_EQ(MadeUp().refused(one_miss, one, zero), "the recording is damaged: it has a miss of no class");
  EXPECT_EQ(MadeUp().refused(one_miss, zero, zero), "accepted");
  const auto quantum_of = [](std::uint64_t accesses) {
    return [=](auto& out) {
      put_object(out, 0, 0, 2);
      put_quantum(out, 1, 1, 1, accesses);
    };
  };
  EXPECT_EQ(MadeUp().refused(quantum_of(16384), zero, zero), "accepted");
  EXPECT_EQ(MadeUp().refused(quantum_of(16385), zero, zero),
            "the file is damaged: a number in it is larger than its field allows");
}

// Each function number is encoded as a difference; 16,384 accesses have room for 2,048 calls and the last one.
TEST(RecordingDamage, ImpossibleCalls_AreRejected) {
  const auto quantum_with = [](const std::vector<std::pair<std::uint64_t, std::uint64_t>>& calls) {
    return [=](std::vector<std::byte>& out) {
      put_byte(out, static_cast<std::uint8_t>(EventTag::quantum));
      for (int i = 0; i < 9; ++i) put_number(out, 0);  // flags, thread, accesses, instructions, hits, walks
      put_number(out, calls.size());
      for (const auto& [distance, count] : calls) {
        put_number(out, distance);
        put_number(out, count);
      }
      for (int i = 0; i < 2; ++i) put_number(out, 0);  // classes, lines
    };
  };
  const auto last = machine::k_library_functions - 1;
  EXPECT_EQ(MadeUp().refused(quantum_with({{0, 2000}, {last - 1, 49}})), "accepted");
  EXPECT_EQ(MadeUp().refused(quantum_with({{0, 2000}, {last - 1, 50}})),
            "the file is damaged: a number in it is larger than its field allows");
  EXPECT_EQ(MadeUp().refused(quantum_with({{0, 1}, {last, 1}})),
            "the recording has a call of a function that this version of terrace does not know");
  EXPECT_EQ(MadeUp().refused(quantum_with({{last + 2, 1}})),
            "the file is damaged: a number in it is larger than its field allows");
}

// A page walk needs a hit beyond the first cache.
TEST(RecordingDamage, PageWalksWithoutHits_AreRejected) {
  const auto quantum_with = [](std::uint64_t first_hits, std::uint64_t outer_hits, std::uint64_t walks) {
    return [=](std::vector<std::byte>& out) {
      put_byte(out, static_cast<std::uint8_t>(EventTag::quantum));
      for (const auto value : {std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{100},
                               first_hits, outer_hits, std::uint64_t{0}, outer_hits, walks})
        put_number(out, value);
      for (int i = 0; i < 3; ++i) put_number(out, 0);  // calls, classes, lines
    };
  };
  EXPECT_EQ(MadeUp().refused(quantum_with(50, 20, 40)), "accepted");
  EXPECT_EQ(MadeUp().refused(quantum_with(50, 20, 41)),
            "the file is damaged: a number in it is larger than its field allows");
  EXPECT_EQ(MadeUp().refused(quantum_with(50, 0, 1)),
            "the file is damaged: a number in it is larger than its field allows");
}

// A few bytes request a million chunks, which every iteration scans.
TEST(RecordingDamage, TooManyChunks_AreRejected) {
  constexpr std::uint64_t k_tebibyte = 1024;  // in chunks of 1 GiB, of which 64 are what any object has
  const auto added = [](std::uint64_t objects, std::uint64_t chunks, bool removed) {
    return [=](std::vector<std::byte>& out) {
      for (std::uint64_t id = 0; id < objects; ++id) {
        put_object(out, id, id * chunks, chunks);
        if (removed) put_removal(out, id);
      }
    };
  };
  EXPECT_EQ(
      MadeUp().refused(added(1, 1 << 20, false)),
      "the object \"a\" has 1048576 chunks: with it, objects have more than 131072 chunks at the same time beyond "
      "64 each, which cannot be replayed");
  EXPECT_EQ(MadeUp().refused(added(136, k_tebibyte, false)), "accepted");
  EXPECT_NE(MadeUp().refused(added(137, k_tebibyte, false)), "accepted");
  EXPECT_EQ(MadeUp().refused(added(1092, k_tebibyte, true)), "accepted");
  EXPECT_EQ(
      MadeUp().refused(added(1093, k_tebibyte, true)),
      "the object \"a\" has 1024 chunks: with it, objects have more than 1048576 chunks over the run beyond 64 "
      "each, which cannot be replayed");
  EXPECT_EQ(MadeUp().refused(added(100'000, 64, false)), "accepted");
}

// Misses take bytes in the columns even if the replay does not request them.
TEST(RecordingDamage, MoreMissesThanTheColumnsHold_AreRejected) {
  std::vector<std::byte> events;
  put_object(events, 0, 0, 2);
  put_quantum(events, 1, 1000, 1000);
  FrameWriter frames(1);
  const auto header = example_header();
  const TestFile file;
  { const RecordingWriter writer(file.path(), header); }
  const std::vector<std::byte> column(999);
  const auto frame = frames.make({1, header.identity.process, header.identity.started_unix_ns},
                                 {std::span<const std::byte>(events), column, column});
  auto bytes = file.bytes();
  bytes.insert(bytes.end(), frame.begin(), frame.end());
  TranscriptSink wants_sums(false);
  EXPECT_THROW(replay_process(index_recording(bytes).processes.front(), wants_sums), Error);
}

}  // namespace
}  // namespace terrace::sim
