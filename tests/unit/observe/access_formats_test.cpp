// Tests the decoding of sampled accesses: data-source words from perf's manual and the kernel's union, IBS
// registers and SPE packets built by hand.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <random>

#include "observe/perf/memory_sample.hpp"
#include "observe/perf/spe_packets.hpp"
#include "perf_builder.hpp"

namespace {

using namespace terrace::observe;
using perf_builder::Bytes;
using Level = MemoryLevel;

MemorySample read(std::uint64_t word) {
  MemorySample sample;
  EXPECT_TRUE(read_data_source(word, sample)) << std::hex << word;
  return sample;
}

// As `perf script -F data_src` prints them: "68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No".
TEST(DataSource, PerfToolWords_AreDecoded) {
  EXPECT_EQ(read(0x68100142).level, Level::l1);
  EXPECT_EQ(read(0x68100242).level, Level::fill_buffer);
  EXPECT_EQ(read(0x68100442).level, Level::l2);
  EXPECT_EQ(read(0x68100842).level, Level::l3);
  EXPECT_EQ(read(0x68101042).level, Level::local_dram);
  EXPECT_TRUE(read(0x68100142).is_load);
  EXPECT_FALSE(read(0x68100142).is_store);
  EXPECT_FALSE(read(0x68100142).tlb_miss);
}

std::uint64_t word_of(auto set) {
  perf_mem_data_src word{};
  set(word);
  return word.val;
}

TEST(DataSource, OlderKernelBits_GiveLevel) {
  const auto level = [](unsigned levels) {
    return read(word_of([&](auto& w) { w.mem_op = PERF_MEM_OP_LOAD, w.mem_lvl = levels & 0x3fffU; })).level;
  };
  EXPECT_EQ(level(PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_RAM1), Level::remote_dram);
  EXPECT_EQ(level(PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_RAM2), Level::remote_dram);
  EXPECT_EQ(level(PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_CCE1), Level::remote_cache);
  EXPECT_EQ(level(PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_CCE2), Level::remote_cache);
  EXPECT_EQ(level(PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM), Level::local_dram);
  EXPECT_EQ(level(PERF_MEM_LVL_NA), Level::unknown);
  EXPECT_EQ(level(PERF_MEM_LVL_HIT | PERF_MEM_LVL_IO), Level::unknown);
  EXPECT_EQ(level(PERF_MEM_LVL_HIT | PERF_MEM_LVL_UNC), Level::unknown);
  EXPECT_EQ(level(PERF_MEM_LVL_MISS | PERF_MEM_LVL_L1), Level::unknown);
  EXPECT_EQ(level(PERF_MEM_LVL_MISS | PERF_MEM_LVL_L3), Level::unknown);
  // AMD, before the level numbers.
  EXPECT_EQ(level(PERF_MEM_LVL_HIT | PERF_MEM_LVL_L3 | PERF_MEM_LVL_REM_CCE1), Level::remote_cache);
}

TEST(DataSource, NewerKernelNumbers_GiveLevel) {
  const auto level = [](unsigned number, bool remote, unsigned hops, unsigned levels = PERF_MEM_LVL_HIT) {
    return read(word_of([&](auto& w) {
             w.mem_op = PERF_MEM_OP_LOAD, w.mem_lvl = levels & 0x3fffU, w.mem_lvl_num = number & 15U;
             w.mem_remote = remote ? 1 : 0, w.mem_hops = hops & 7U;
           }))
        .level;
  };
  EXPECT_EQ(level(PERF_MEM_LVLNUM_L1, false, 0), Level::l1);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_L2, false, 0), Level::l2);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_L3, false, 0), Level::l3);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_L4, false, 0), Level::l3);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_LFB, false, 0), Level::fill_buffer);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_RAM, false, 0), Level::local_dram);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_RAM, true, 0), Level::remote_dram);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_RAM, false, 3), Level::remote_dram);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_ANY_CACHE, true, 1), Level::remote_cache);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_PMEM, false, 0), Level::far);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_PMEM, true, 0), Level::far);
  EXPECT_EQ(level(9, false, 0), Level::far);  // PERF_MEM_LVLNUM_CXL
  EXPECT_EQ(level(PERF_MEM_LVLNUM_NA, false, 0), Level::unknown);
  // Intel's stores also have the missed level as a number.
  EXPECT_EQ(level(PERF_MEM_LVLNUM_L1, false, 0, PERF_MEM_LVL_MISS | PERF_MEM_LVL_L1), Level::unknown);
  // The number takes precedence over the bits.
  EXPECT_EQ(level(PERF_MEM_LVLNUM_PMEM, false, 0, PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM), Level::far);
  EXPECT_EQ(level(PERF_MEM_LVLNUM_NA, false, 0, PERF_MEM_LVL_HIT | PERF_MEM_LVL_L2), Level::l2);
}

TEST(DataSource, OperationAndTlb_AreDecoded) {
  const auto sample = [](unsigned kind, unsigned tlb) {
    return read(word_of([&](auto& w) { w.mem_op = kind & 31U, w.mem_dtlb = tlb & 127U; }));
  };
  EXPECT_TRUE(sample(PERF_MEM_OP_STORE, PERF_MEM_TLB_HIT).is_store);
  EXPECT_FALSE(sample(PERF_MEM_OP_STORE, PERF_MEM_TLB_HIT).is_load);
  const auto both = sample(PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE, PERF_MEM_TLB_MISS | PERF_MEM_TLB_L2);
  EXPECT_TRUE(both.is_load && both.is_store && both.tlb_miss);
  EXPECT_FALSE(sample(PERF_MEM_OP_LOAD, PERF_MEM_TLB_HIT | PERF_MEM_TLB_L2).tlb_miss);
  MemorySample untouched;
  untouched.level = Level::far;
  EXPECT_FALSE(read_data_source(word_of([](auto& w) { w.mem_op = PERF_MEM_OP_NA; }), untouched));
  EXPECT_FALSE(read_data_source(word_of([](auto& w) { w.mem_op = PERF_MEM_OP_EXEC; }), untouched));
  EXPECT_FALSE(read_data_source(0, untouched));
  EXPECT_EQ(untouched.level, Level::far);
}

std::optional<MemorySample> read(const perf_builder::IbsOp& op) {
  const auto raw = perf_builder::ibs(op);
  MemorySample sample;
  if (!read_ibs_op(std::as_bytes(std::span(raw)), sample)) return std::nullopt;
  return sample;
}

TEST(IbsOp, DataSource_GivesLevel) {
  constexpr std::uint32_t k_zen4 = 0x81f | 1U << 11;
  perf_builder::IbsOp op{.load = true, .address = 0x7f00'1234'5678};
  EXPECT_EQ(read(op)->level, Level::l1);
  EXPECT_EQ(read(op)->latency_cycles, 0U);
  EXPECT_EQ(read(op)->address, 0x7f00'1234'5678U);
  op.cache_miss = true;
  op.latency = 345;
  EXPECT_EQ(read(op)->level, Level::l2);
  EXPECT_EQ(read(op)->latency_cycles, 345U);
  op.second_cache_miss = true;
  const auto from = [&](std::uint64_t source, bool remote, bool zen4) {
    auto one = op;
    one.source = source;
    one.remote = remote;
    one.capabilities = zen4 ? k_zen4 : 0x01f;
    return read(one)->level;
  };
  for (const bool zen4 : {false, true}) {
    EXPECT_EQ(from(1, false, zen4), Level::l3);
    EXPECT_EQ(from(3, false, zen4), Level::local_dram);
    EXPECT_EQ(from(3, true, zen4), Level::remote_dram);
    EXPECT_EQ(from(7, false, zen4), Level::unknown);
    EXPECT_EQ(from(0, false, zen4), Level::unknown);
  }
  EXPECT_EQ(from(2, false, false), Level::remote_cache);
  EXPECT_EQ(from(2, false, true), Level::l3);
  EXPECT_EQ(from(5, true, true), Level::remote_cache);
  EXPECT_EQ(from(6, false, true), Level::far);
  EXPECT_EQ(from(8, false, true), Level::far);
  // The upper two bits are undefined before Zen 4.
  EXPECT_EQ(from(0x18 | 3, false, false), Level::local_dram);
}

TEST(IbsOp, InvalidOperation_IsRejected) {
  EXPECT_FALSE(read(perf_builder::IbsOp{}));
  EXPECT_FALSE(read(perf_builder::IbsOp{.load = true, .address_valid = false}));
  const auto store = read(perf_builder::IbsOp{
      .store = true, .cache_miss = true, .second_cache_miss = true, .latency = 99, .address = 8});
  ASSERT_TRUE(store);
  EXPECT_TRUE(store->is_store && !store->is_load);
  EXPECT_EQ(store->latency_cycles, 0U);  // is of loads
  EXPECT_EQ(store->level, Level::unknown);
  EXPECT_EQ(read(perf_builder::IbsOp{.load = true, .cache_miss = true, .uncached = true})->level, Level::unknown);
  const auto flying = read(perf_builder::IbsOp{.load = true, .cache_miss = true, .no_buffer = true});
  EXPECT_EQ(flying->level, Level::fill_buffer);
  EXPECT_FALSE(read(perf_builder::IbsOp{.load = true, .first_tlb_miss = true})->tlb_miss);
  EXPECT_TRUE(read(perf_builder::IbsOp{.load = true, .first_tlb_miss = true, .second_tlb_miss = true})->tlb_miss);
  const auto raw = perf_builder::ibs({.load = true, .address = 8});
  MemorySample sample;
  // All bytes up to the linear address are required; the rest differs by processor.
  for (std::size_t size = 0; size <= raw.size(); ++size)
    EXPECT_EQ(read_ibs_op(std::as_bytes(std::span(raw)).first(size), sample), size >= 4 + 6 * 8) << size;
}

// Decodes the bytes in pieces of random sizes.
struct Told {
  std::vector<SpeAccess> accesses;
  std::uint64_t malformed = 0;
};

Told tell(const Bytes& bytes, std::mt19937_64& random, std::size_t piece,
          SpeSources sources = SpeSources::neoverse) {
  SpeDecoder reader(sources);
  Told told;
  const auto all = std::as_bytes(std::span(bytes));
  for (std::size_t at = 0; at < all.size();) {
    const auto size = std::min<std::size_t>(1 + random() % piece, all.size() - at);
    reader.decode(all.subspan(at, size), at, [&](const SpeAccess& access) { told.accesses.push_back(access); });
    at += size;
  }
  told.malformed = reader.malformed();
  return told;
}

TEST(SpePackets, PacketsOfAccess_AllFieldsSet) {
  namespace spe = perf_builder::spe;
  Bytes bytes;
  spe::address(bytes, 0, 0x0000'aaaa'0000'1234);
  spe::context(bytes, 0, 4321);
  spe::operation(bytes, 1, 0x00);
  spe::counter(bytes, 0, 777);
  spe::counter(bytes, 1, 11);
  spe::counter(bytes, 2, 5);
  spe::long_counter(bytes, 9, 3);
  spe::events(bytes, 1U << 1 | 1U << 2 | 1U << 3 | 1U << 5 | 1U << 9);
  spe::source(bytes, 0xe);
  spe::address(bytes, 2, 0x5b00'ffff'8000'4321);  // with a tag
  spe::address(bytes, 3, 0x8000'0012'3456'7890);
  spe::timestamp(bytes, 99'000'000);
  std::mt19937_64 random(1);
  for (const std::size_t piece : {1, 2, 3, 7, 1000}) {
    const auto told = tell(bytes, random, piece);
    ASSERT_EQ(told.accesses.size(), 1U);
    const auto& access = told.accesses.front();
    EXPECT_EQ(access.sample.ip, 0x0000'aaaa'0000'1234U);
    EXPECT_EQ(access.sample.tid, 4321U);
    EXPECT_TRUE(access.has_thread);
    EXPECT_TRUE(access.sample.is_load && !access.sample.is_store);
    EXPECT_EQ(access.sample.latency_cycles, 777U);
    EXPECT_TRUE(access.sample.tlb_miss);
    EXPECT_EQ(access.sample.level, Level::local_dram);
    EXPECT_EQ(access.sample.address, 0x0000'ffff'8000'4321U);
    EXPECT_EQ(access.timestamp, 99'000'000U);
    EXPECT_EQ(told.malformed, 0U);
  }
}

TEST(SpePackets, EventAndSourcePackets_GiveLevel) {
  namespace spe = perf_builder::spe;
  std::mt19937_64 random(2);
  const auto level = [&](std::uint64_t events, int source, SpeSources sources) {
    Bytes bytes;
    spe::operation(bytes, 1, 0x01);
    spe::events(bytes, events, events > 0xffff ? 4 : 2);
    if (source >= 0) spe::source(bytes, static_cast<std::uint64_t>(source));
    spe::address(bytes, 2, 0x1000);
    spe::end(bytes);
    const auto told = tell(bytes, random, 5, sources);
    EXPECT_TRUE(told.accesses.at(0).sample.is_store);
    return told.accesses.at(0).sample.level;
  };
  constexpr std::uint64_t k_l1 = 1U << 2, k_refill = 1U << 3, k_last = 1U << 8, k_last_miss = 1U << 9,
                          k_remote = 1U << 10;
  const auto none = SpeSources::unknown, neoverse = SpeSources::neoverse;
  EXPECT_EQ(level(k_l1, -1, none), Level::l1);
  EXPECT_EQ(level(k_l1 | k_refill, -1, none), Level::unknown);
  EXPECT_EQ(level(k_l1 | k_refill | k_last, -1, none), Level::l3);
  EXPECT_EQ(level(k_l1 | k_refill | k_last | k_last_miss, -1, none), Level::local_dram);
  EXPECT_EQ(level(k_l1 | k_refill | k_last | k_last_miss | k_remote, -1, none), Level::remote_dram);
  EXPECT_EQ(level(k_l1 | k_refill | k_remote, -1, none), Level::remote_cache);
  EXPECT_EQ(level(k_l1 | k_refill, 0x8, none), Level::unknown);  // another maker's numbers
  EXPECT_EQ(level(k_l1 | k_refill, 0x8, neoverse), Level::l2);
  EXPECT_EQ(level(k_l1 | k_refill, 0x9, neoverse), Level::l3);
  EXPECT_EQ(level(k_l1 | k_refill, 0xd, neoverse), Level::remote_cache);
  EXPECT_EQ(level(k_l1 | k_refill, 0xe, neoverse), Level::local_dram);
  EXPECT_EQ(level(k_l1 | k_refill | k_last_miss | k_remote, 0xe, neoverse), Level::remote_dram);
  EXPECT_EQ(level(k_l1, 0x77, neoverse), Level::l1);
}

TEST(SpePackets, NonMemoryOperation_IsSkipped) {
  namespace spe = perf_builder::spe;
  std::mt19937_64 random(3);
  Bytes bytes;
  spe::address(bytes, 0, 0x1234);  // a branch
  spe::operation(bytes, 2, 0x01);
  spe::address(bytes, 1, 0x5678);
  spe::timestamp(bytes, 1);
  spe::operation(bytes, 0, 0x00);  // arithmetic
  spe::end(bytes);
  spe::operation(bytes, 1, 0x16);  // an atomic operation
  spe::address(bytes, 2, 0x9000);
  spe::end(bytes);
  spe::operation(bytes, 1, 0x04);  // a load of a vector register
  spe::address(bytes, 2, 0x9040);
  spe::end(bytes);
  const auto told = tell(bytes, random, 4);
  ASSERT_EQ(told.accesses.size(), 2U);
  EXPECT_TRUE(told.accesses[0].sample.is_load && told.accesses[0].sample.is_store);
  EXPECT_TRUE(told.accesses[1].sample.is_load && !told.accesses[1].sample.is_store);
}

// Random accesses with padding and alignment between them, split anywhere: all are decoded in order.
TEST(SpePackets, RandomBuffers_AllAccessesDecoded) {
  namespace spe = perf_builder::spe;
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    Bytes bytes;
    std::vector<std::pair<std::uint64_t, std::uint16_t>> made;
    for (auto count = random() % 60; count > 0; --count) {
      const auto address = 0x1000 + random() % (1ULL << 46);
      const auto latency = static_cast<std::uint16_t>(random());
      made.emplace_back(address, latency);
      spe::operation(bytes, 1, static_cast<std::uint8_t>(random() % 2));
      if (random() % 3 == 0) spe::pad(bytes, 1 + static_cast<unsigned>(random() % 9));
      spe::counter(bytes, 0, latency);
      if (random() % 2 == 0) spe::events(bytes, random() & 0xff, 1U << random() % 4);
      if (random() % 2 == 0) spe::source(bytes, random() % 16, 1U << random() % 2);
      spe::address(bytes, 2, address);
      if (random() % 4 == 0) spe::align(bytes, static_cast<unsigned>(random() % 4));
      random() % 2 == 0 ? spe::timestamp(bytes, random()) : spe::end(bytes);
      if (random() % 3 == 0) spe::align(bytes, static_cast<unsigned>(random() % 4));
      if (random() % 3 == 0) spe::pad(bytes, 1 + static_cast<unsigned>(random() % 40));
    }
    const auto told = tell(bytes, random, 1 + random() % 100);
    ASSERT_EQ(told.malformed, 0U);
    ASSERT_EQ(told.accesses.size(), made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      ASSERT_EQ(told.accesses[i].sample.address, made[i].first);
      ASSERT_EQ(told.accesses[i].sample.latency_cycles, made[i].second);
    }
  }
}

TEST(SpePackets, Reset_DropsIncompletePacket) {
  namespace spe = perf_builder::spe;
  Bytes first, second;
  spe::operation(first, 1, 0);
  spe::address(first, 2, 0xdead000);
  spe::counter(first, 0, 5);
  first.pop_back();
  spe::operation(second, 1, 1);
  spe::address(second, 2, 0x5000);
  spe::end(second);
  SpeDecoder reader;
  std::vector<SpeAccess> told;
  const auto take = [&](const Bytes& bytes) {
    reader.decode(std::as_bytes(std::span(bytes)), 0, [&](const SpeAccess& access) { told.push_back(access); });
  };
  take(first);
  reader.reset();
  take(second);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].sample.address, 0x5000U);
  EXPECT_EQ(told[0].sample.latency_cycles, 0U);
}

TEST(SpePackets, ArbitraryBytes_AreAccepted) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(random() % 400);
    for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
    const auto told = tell(bytes, random, 1 + random() % 50);
    ASSERT_LE(told.accesses.size() + told.malformed, bytes.size());
  }
}

}  // namespace
