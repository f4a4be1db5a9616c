// Tests the trace format: round trips, and refusal or partial reading of damaged files in one line.
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdlib>
#include <random>

#include "core/error.hpp"
#include "traces.hpp"

namespace terrace::tracer::test {
namespace {

const TraceHeader k_header{"x86_64", "/bin/a,b", {"one", "", "three words here"}, 4096, 0x401000, 0x402000};

std::uint64_t any_number(std::mt19937_64& random) { return random() >> (random() % 64); }

KeptRecord any_record(std::mt19937_64& random) {
  KeptRecord record;
  record.thread = static_cast<std::uint32_t>(random() % 3);
  const auto choice = random() % 40;
  if (choice >= 12) {  // mostly accesses of few instructions
    record.pc = random() % 8 == 0 ? any_number(random) : 0x401000 + random() % 32;
    record.size = std::uint64_t{1} << (random() % 7);
    record.flag = random() % 2 == 0;
    record.address = any_number(random);
    return record;
  }
  record.kind = static_cast<TraceKind>(3 + choice % 11);  // all but `end`
  if (has_address(record.kind)) record.address = any_number(random);
  if (has_size(record.kind)) record.size = any_number(random) % (~record.address);
  if (has_pc(record.kind)) record.pc = any_number(random);
  if (has_flag(record.kind)) record.flag = random() % 2 == 0;
  if (has_text(record.kind)) record.text = std::string(random() % 100, 'x');
  return record;
}

std::vector<KeptRecord> any_records(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<KeptRecord> records(count);
  for (auto& record : records) record = any_record(random);
  return records;
}

// A trace whose frames hold `per_frame` records each, all but the last ended by an `end`.
Bytes trace_of(const std::vector<KeptRecord>& records, std::size_t per_frame) {
  RecordWriter writer(k_header);
  for (std::size_t i = 0; i < records.size(); ++i) {
    writer.put(records[i]);
    if ((i + 1) % per_frame == 0) writer.flush();
  }
  KeptRecord end;
  end.kind = TraceKind::end;
  writer.put(end);
  return writer.take();
}

TEST(Trace, AnyRecords_RoundTrip) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto records = any_records(seed, 5000);
    const auto file = trace_of(records, 1 + seed * 97);
    auto reader = reader_of(file, seed % 2 == 0 ? ~std::size_t{0} : 1 + seed);
    EXPECT_EQ(reader.header().isa, k_header.isa);
    EXPECT_EQ(reader.header().program, k_header.program);
    EXPECT_EQ(reader.header().arguments, k_header.arguments);
    EXPECT_EQ(reader.header().code_low, k_header.code_low);
    EXPECT_EQ(reader.header().code_high, k_header.code_high);
    auto got = read_back(std::move(reader));
    ASSERT_EQ(got.records.size(), records.size() + 1);
    got.records.pop_back();
    EXPECT_EQ(got.records, records) << "seed " << seed;
    EXPECT_TRUE(got.ending.whole);
    EXPECT_FALSE(got.ending.limited);
    EXPECT_EQ(got.ending.reason, "");
  }
}

// More than one frame by size alone, where every delta and every site begins anew.
TEST(Trace, LongStream_SpansSeveralFrames) {
  RecordWriter writer(k_header);
  constexpr std::uint64_t n = 2'000'000;
  KeptRecord record;
  record.size = 8;
  for (std::uint64_t i = 0; i < n; ++i) {
    record.pc = 0x401000 + i % 3;
    record.address = i * 8;
    writer.put(record);
  }
  const auto file = writer.take();
  EXPECT_LT(file.size(), n / 100);  // regular loops cost next to nothing
  auto reader = reader_of(file);
  TraceRecord got;
  std::uint64_t i = 0;
  for (; reader.next(got); ++i) {
    ASSERT_EQ(got.address, i * 8);
    ASSERT_EQ(got.pc, 0x401000 + i % 3);
  }
  EXPECT_EQ(i, n);
  EXPECT_GT(reader.ending().frames, 3u);
  EXPECT_EQ(reader.ending().reason, "truncated: " + std::to_string(reader.ending().frames) + " whole frames read");
}

// Where the frames of a file end, by zstd's own account.
std::vector<std::size_t> frame_ends(const Bytes& file) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < file.size();) {
    at += ZSTD_findFrameCompressedSize(file.data() + at, file.size() - at);
    ends.push_back(at);
  }
  return ends;
}

TEST(Trace, TruncatedAnywhere_IsReadToLastWholeFrame) {
  constexpr std::size_t k_per_frame = 7;
  const auto records = any_records(1, 100);
  const auto file = trace_of(records, k_per_frame);
  const auto ends = frame_ends(file);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto part = std::span(file).first(size);
    const auto whole = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin());
    if (whole == 0) {
      EXPECT_THROW(reader_of(part), Error);
      continue;
    }
    const auto got = read_back(reader_of(part));
    const auto expected = std::min(records.size(), (whole - 1) * k_per_frame);
    ASSERT_EQ(got.records, std::vector(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(expected)));
    ASSERT_FALSE(got.ending.whole);
    ASSERT_EQ(got.ending.frames, whole);
    ASSERT_EQ(got.ending.reason, "truncated: " + std::to_string(whole) + " whole frames read");
  }
}

// A few bits mean nothing to zstd (RFC 8878 has unused and reserved ones): then nothing is lost either.
TEST(Trace, FlippedBit_EndsReadingBeforeItsFrame) {
  constexpr std::size_t k_per_frame = 7;
  const auto records = any_records(2, 60);
  const auto file = trace_of(records, k_per_frame);
  const auto all = read_back(reader_of(file)).records;
  const auto ends = frame_ends(file);
  std::size_t harmless = 0;
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    auto damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const auto frame =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), bit / 8) - ends.begin());
    ReadBack got;
    try {
      got = read_back(reader_of(damaged));
    } catch (const Error&) {
      ASSERT_EQ(frame, 0u) << "bit " << bit;
      continue;
    }
    if (got.ending.whole) {
      ++harmless;
      ASSERT_EQ(got.records, all) << "bit " << bit;
      continue;
    }
    ASSERT_GT(frame, 0u) << "bit " << bit;
    ASSERT_EQ(got.ending.frames, frame) << "bit " << bit;
    const auto expected = std::min(records.size(), (frame - 1) * k_per_frame);
    ASSERT_EQ(got.records, std::vector(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(expected)));
  }
  EXPECT_LT(harmless, file.size() * 8 / 100);
}

TEST(Trace, MissingOrRepeatedFrame_EndsReading) {
  const auto file = trace_of(any_records(3, 40), 10);
  const auto ends = frame_ends(file);
  Bytes without(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(ends[1]));
  Bytes twice = without;
  without.insert(without.end(), file.begin() + static_cast<std::ptrdiff_t>(ends[2]), file.end());
  twice.insert(twice.end(), file.begin() + static_cast<std::ptrdiff_t>(ends[0]), file.end());
  for (const auto& damaged : {without, twice}) {
    const auto got = read_back(reader_of(damaged));
    EXPECT_EQ(got.records.size(), 10u);
    EXPECT_EQ(got.ending.reason, "damaged: 2 whole frames read");
  }
}

// A frame with a checksum, as a writer makes it.
Bytes frame_of(const std::string& payload) {
  Bytes frame(ZSTD_compressBound(payload.size()));
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), payload.data(), payload.size()));
  ZSTD_freeCCtx(context);
  return frame;
}

// A frame may promise more memory than a reader should ever take.
TEST(Trace, OversizedFrame_IsRefused) {
  const auto frame = frame_of(std::string(k_trace_most_payload + 1, '\0'));
  EXPECT_THROW(reader_of(frame), Error);
  auto file = trace_of(any_records(4, 10), 5);
  const auto ends = frame_ends(file);
  file.resize(ends[1]);
  file.insert(file.end(), frame.begin(), frame.end());
  const auto got = read_back(reader_of(file));
  EXPECT_EQ(got.records.size(), 5u);
  EXPECT_EQ(got.ending.reason, "damaged: 2 whole frames read");
}

TEST(Trace, OtherFile_IsRefused) {
  const auto says = [](std::span<const std::byte> file) {
    try {
      reader_of(file);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(says({}).find("no trace"), std::string::npos);
  const std::string text = "TERRTRCE and nothing else";
  EXPECT_NE(says(std::as_bytes(std::span(text))).find("no trace"), std::string::npos);
  EXPECT_NE(says(frame_of("something else")).find("TERRTRCE"), std::string::npos);
  EXPECT_NE(says(frame_of("TERRTRCE\x07")).find("version 7"), std::string::npos);
}

TEST(Trace, FailedWrite_StopsTheWriter) {
  std::size_t room = 1000;
  TraceWriter writer(k_header, [&](std::span<const std::byte> bytes) {
    if (bytes.size() > room) return false;
    room -= bytes.size();
    return true;
  });
  TraceSite site{1, 8, false};
  std::mt19937_64 random(5);
  for (int i = 0; i < 1'000'000; ++i) writer.access(site, 0, random());
  EXPECT_FALSE(writer.good());
  EXPECT_LE(writer.bytes(), 1000u);
  EXPECT_THROW(TraceWriter(k_header, [](std::span<const std::byte>) { return false; }), Error);
}

}  // namespace
}  // namespace terrace::tracer::test
