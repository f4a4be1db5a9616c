// Tests the reading of perf rings: all records are read, around the end and with losses; invalid data do no harm.
#include "observe/perf/perf_ring.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "observe/perf/perf_records.hpp"
#include "perf_builder.hpp"

namespace {

using namespace terrace::observe;
using perf_builder::Bytes;

constexpr std::uint64_t k_plain = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

class Reader {
 public:
  explicit Reader(perf_builder::Ring& ring) : ring_(&ring.page(), ring.data(), ring.beside()) {}
  template <class Each>
  void read(Each each) {
    ring_.read(std::span<std::byte, PerfRing::k_max_record>(longest_), each);
  }
  PerfRing& ring() { return ring_; }

 private:
  PerfRing ring_;
  std::vector<std::byte> longest_ = std::vector<std::byte>(PerfRing::k_max_record);
};

// The set of fields determines their offsets: tests all sets.
TEST(PerfRecords, AllFieldSets_AreDecoded) {
  std::mt19937_64 random(1);
  const std::uint64_t all[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,          PERF_SAMPLE_TID,
                               PERF_SAMPLE_TIME,       PERF_SAMPLE_ADDR,        PERF_SAMPLE_ID,
                               PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_CPU,         PERF_SAMPLE_PERIOD,
                               PERF_SAMPLE_CALLCHAIN,  PERF_SAMPLE_RAW,         PERF_SAMPLE_WEIGHT,
                               PERF_SAMPLE_DATA_SRC,   PERF_SAMPLE_TRANSACTION, PERF_SAMPLE_PHYS_ADDR};
  for (std::uint64_t set = 0; set < 1ULL << std::size(all); ++set) {
    std::uint64_t type = 0;
    for (std::size_t i = 0; i < std::size(all); ++i)
      if (set >> i & 1) type |= all[i];
    perf_builder::Sample s;
    s.ip = random();
    s.time = random();
    s.address = random();
    s.period = random();
    s.weight = random();
    s.source = random();
    s.pid = static_cast<std::uint32_t>(random());
    s.tid = static_cast<std::uint32_t>(random());
    s.callers.assign(random() % 4, 0xcafe);
    s.raw.assign(random() % 70, 0x5a);
    const auto record = perf_builder::sample(s, type);
    const auto body = std::as_bytes(std::span(record)).subspan(8);
    const auto read = read_sample(body, type);
    ASSERT_TRUE(read) << std::hex << type;
    const auto has = [&](std::uint64_t field) { return (type & field) != 0; };
    ASSERT_EQ(read->ip, has(PERF_SAMPLE_IP) ? s.ip : 0);
    ASSERT_EQ(read->pid, has(PERF_SAMPLE_TID) ? s.pid : 0);
    ASSERT_EQ(read->tid, has(PERF_SAMPLE_TID) ? s.tid : 0);
    ASSERT_EQ(read->time_ns, has(PERF_SAMPLE_TIME) ? s.time : 0);
    ASSERT_EQ(read->address, has(PERF_SAMPLE_ADDR) ? s.address : 0);
    ASSERT_EQ(read->period, has(PERF_SAMPLE_PERIOD) ? s.period : 0);
    ASSERT_EQ(read->weight, has(PERF_SAMPLE_WEIGHT) ? s.weight : 0);
    ASSERT_EQ(read->data_source, has(PERF_SAMPLE_DATA_SRC) ? s.source : 0);
    if (has(PERF_SAMPLE_RAW)) {
      ASSERT_GE(read->raw.size(), s.raw.size());
      for (std::size_t i = 0; i < s.raw.size(); ++i) ASSERT_EQ(read->raw[i], std::byte{0x5a});
    }
    // A shorter body is refused, unless only fields that are not requested are missing.
    for (std::size_t size = 0; size + 8 <= body.size(); size += 8)
      ASSERT_FALSE(read_sample(body.first(size), type));
  }
}

TEST(PerfRecords, WeightStruct_UsesLowHalf) {
  constexpr std::uint64_t k_weights = 1ULL << 24;
  perf_builder::Sample s;
  s.weight = 0x0007'0009'0000'0123;
  const auto record = perf_builder::sample(s, k_weights);
  const auto read = read_sample(std::as_bytes(std::span(record)).subspan(8), k_weights);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->weight, 0x123U);
}

TEST(PerfRecords, UnsupportedField_IsRefused) {
  const std::vector<std::byte> body(4096);
  for (unsigned bit = 0; bit < 64; ++bit)
    EXPECT_EQ(read_sample(body, 1ULL << bit).has_value(), (k_readable_fields >> bit & 1) != 0) << bit;
}

TEST(PerfRing, WrapAround_RecordsInOrder) {
  std::mt19937_64 random(2);
  // Counters with any start value, which wrap around.
  for (const std::uint64_t start :
       {std::uint64_t{0}, std::uint64_t{4096 - 8}, ~std::uint64_t{0} - 4095 - 8 * 20}) {
    perf_builder::Ring ring(4096, 0, start & ~std::uint64_t{7});
    Reader reader(ring);
    std::uint64_t written = 0, read = 0, lost = 0, told_lost = 0, wrapped = 0;
    const auto drain = [&] {
      reader.read([&](const PerfRecord& record) {
        told_lost += lost_samples(record);
        if (record.type != PERF_RECORD_SAMPLE) return;
        const auto sample = read_sample(record.body, k_plain | PERF_SAMPLE_RAW);
        ASSERT_TRUE(sample);
        ASSERT_EQ(sample->address, 0x1000 + read);
        ASSERT_EQ(sample->time_ns, 7 * read);
        for (const auto byte : sample->raw.first(sample->raw.size() / 8 * 8))
          ASSERT_TRUE(byte == static_cast<std::byte>(read) || byte == std::byte{0});
        ++read;
      });
    };
    for (int step = 0; step < 20'000; ++step) {
      perf_builder::Sample s;
      s.address = 0x1000 + written;
      s.time = 7 * written;
      s.raw.assign(random() % 200, static_cast<unsigned char>(written));
      const auto bytes = perf_builder::sample(s, k_plain | PERF_SAMPLE_RAW);
      if (lost != 0) {
        // Like the kernel: first the lost record, when there is space again.
        Bytes body;
        perf_builder::append(body, 0x1d, 8);
        perf_builder::append(body, lost, 8);
        if (ring.write(perf_builder::record(PERF_RECORD_LOST, 0, body))) lost = 0;
      }
      const auto at = ring.page().data_head % 4096;
      if (lost == 0 && ring.write(bytes)) {
        wrapped += at + bytes.size() > 4096 ? 1 : 0;
        ++written;
      } else {
        ++lost;
      }
      if (random() % 12 == 0) drain();
      if (random() % 50 == 0) {
        Bytes body(24);
        ring.write(perf_builder::record(PERF_RECORD_UNTHROTTLE, 0, body));
        ring.write(perf_builder::record(4711, 3, body));  // of a kernel to come
      }
    }
    drain();
    EXPECT_EQ(read, written);
    EXPECT_EQ(told_lost + lost + written, 20'000U);
    EXPECT_GT(told_lost, 0U);
    EXPECT_GT(wrapped, 100U);
    EXPECT_EQ(ring.page().data_tail, ring.page().data_head);
    EXPECT_EQ(reader.ring().malformed(), 0U);
  }
}

TEST(PerfRing, ConcurrentWriter_RecordsAreWhole) {
  perf_builder::Ring ring(8192);
  Reader reader(ring);
  constexpr std::uint64_t k_records = 200'000;
  std::thread kernel([&] {
    auto& page = ring.page();
    const auto data = ring.data();
    for (std::uint64_t number = 0; number < k_records;) {
      const auto head = __atomic_load_n(&page.data_head, __ATOMIC_RELAXED);
      if (head - __atomic_load_n(&page.data_tail, __ATOMIC_ACQUIRE) + 40 > data.size()) {
        std::this_thread::yield();
        continue;
      }
      perf_builder::Sample s;
      s.ip = number;
      s.address = ~number;
      s.tid = static_cast<std::uint32_t>(number);
      const auto bytes = perf_builder::sample(s, k_plain);
      for (std::size_t i = 0; i < bytes.size(); ++i) data[(head + i) % data.size()] = std::byte{bytes[i]};
      __atomic_store_n(&page.data_head, head + bytes.size(), __ATOMIC_RELEASE);
      ++number;
    }
  });
  std::uint64_t read = 0, wrong = 0;
  while (read < k_records) {
    reader.read([&](const PerfRecord& record) {
      const auto sample = read_sample(record.body, k_plain);
      if (!sample || sample->ip != read || sample->address != ~read) ++wrong;
      ++read;
    });
  }
  kernel.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(PerfRing, InvalidSize_RingIsDiscarded) {
  for (const unsigned size : {0U, 1U, 7U, 9U, 12U, 4096U, 65535U}) {
    perf_builder::Ring ring(4096);
    Reader reader(ring);
    perf_builder::Sample s;
    ring.write(perf_builder::sample(s, k_plain));
    Bytes bad;
    perf_builder::append(bad, PERF_RECORD_SAMPLE, 4);
    perf_builder::append(bad, 0, 2);
    perf_builder::append(bad, size, 2);
    ring.write(bad);
    ring.write(perf_builder::sample(s, k_plain));
    std::uint64_t read = 0;
    reader.read([&](const PerfRecord&) { ++read; });
    EXPECT_EQ(read, 1U) << size;
    EXPECT_EQ(reader.ring().malformed(), 1U) << size;
    // It continues with the next record.
    ring.write(perf_builder::sample(s, k_plain));
    reader.read([&](const PerfRecord&) { ++read; });
    EXPECT_EQ(read, 2U) << size;
  }
}

TEST(PerfRing, InvalidHead_RingIsDiscarded) {
  perf_builder::Ring ring(4096);
  Reader reader(ring);
  for (const std::uint64_t head : {std::uint64_t{4097}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    ring.page().data_head = head;
    reader.read([](const PerfRecord&) { FAIL(); });
    EXPECT_EQ(ring.page().data_tail, head);
  }
  EXPECT_EQ(reader.ring().malformed(), 3U);
  Reader nothing(ring);
  PerfRing().read(
      std::span<std::byte, PerfRing::k_max_record>(static_cast<std::byte*>(nullptr), PerfRing::k_max_record),
      [](const PerfRecord&) { FAIL(); });
}

// With any bytes in the ring, reading terminates and stays within bounds.
TEST(PerfRing, ArbitraryBytes_AreAccepted) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 3000; ++round) {
    perf_builder::Ring ring(4096, 0, 8 * (random() % 512));
    Reader reader(ring);
    for (auto& byte : ring.data()) byte = static_cast<std::byte>(random() % 3 == 0 ? random() : random() % 9 * 8);
    ring.page().data_head += random() % 4097;
    const auto type = random() & k_readable_fields;
    reader.read([&](const PerfRecord& record) {
      ASSERT_LE(record.body.size(), 65535U);
      static_cast<void>(read_sample(record.body, type));
      static_cast<void>(read_aux_record(record, type));
      static_cast<void>(lost_samples(record));
    });
    ASSERT_EQ(ring.page().data_tail, ring.page().data_head);
  }
}

TEST(PerfRing, Time_ReadFromHeaderPage) {
  perf_builder::Ring ring(4096);
  Reader reader(ring);
  ring.page().time_enabled = 1000;
  ring.page().time_running = 250;
  EXPECT_EQ(reader.ring().time().enabled, 1000U);
  EXPECT_EQ(reader.ring().time().running, 250U);
  ring.page().lock = 1;  // the kernel is at it, and does not get on
  EXPECT_EQ(reader.ring().time().enabled, 1000U);
}

TEST(PerfRing, AuxBuffer_WrapsIntoTwoPieces) {
  perf_builder::Ring ring(8192, 256);
  Reader reader(ring);
  std::vector<unsigned char> written, read;
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    Bytes bytes(random() % 250);
    for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
    written.insert(written.end(), bytes.begin(), bytes.end());
    const auto flags = static_cast<std::uint64_t>(round % 4 == 0 ? PERF_AUX_FLAG_TRUNCATED : 0);
    ring.write_beside(bytes, flags, 5, 6, 77);
    reader.read([&](const PerfRecord& record) {
      const auto beside = read_aux_record(record, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
      ASSERT_TRUE(beside);
      ASSERT_EQ(beside->truncated, flags != 0);
      ASSERT_EQ(beside->pid, 5U);
      ASSERT_EQ(beside->tid, 6U);
      ASSERT_EQ(beside->time_ns, 77U);
      reader.ring().read_aux(beside->offset, beside->size, [&](std::span<const std::byte> piece, std::size_t at) {
        ASSERT_LE(at + piece.size(), 256U);
        for (const auto byte : piece) read.push_back(std::to_integer<unsigned char>(byte));
      });
      reader.ring().release_aux(beside->offset + beside->size);
    });
    ASSERT_EQ(ring.page().aux_tail, ring.page().aux_head);
  }
  EXPECT_EQ(read, written);
  reader.ring().read_aux(0, 257, [](std::span<const std::byte>, std::size_t) { FAIL(); });
}

}  // namespace
