// Tests the sampler on rings of other machines, built by hand: records of Intel, AMD and Arm with loss,
// throttling, multiplexed counters and samples of other processes.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <list>
#include <thread>

#include "core/error.hpp"
#include "observe/perf/event_ring.hpp"
#include "observe/perf/memory_sampler.hpp"
#include "observe/perf/thread_list.hpp"
#include "perf_builder.hpp"

namespace {

using namespace terrace::observe;
using perf_builder::Bytes;

constexpr std::uint64_t k_intel = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                                  PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
constexpr std::uint64_t k_load_of_l3 = 0x68100842, k_load_of_memory = 0x68101042;

// A machine that provides rings, and keeps them for the test to write to.
class Machine {
 public:
  struct Opened {
    perf_builder::Ring ring{1U << 14, 1U << 12};
    std::uint64_t period;
    int tid, processor;
  };

  // Refuses events of threads, like older kernels for AMD.
  bool processors_only = false;

  MemorySampler::Open opener() {
    return [this](const PerfEvent&, std::uint64_t period, int tid, int processor, int& error,
                  const char*& call) -> std::optional<EventRing> {
      if (processors_only && tid >= 0) {
        error = EINVAL;
        call = "perf_event_open";
        return std::nullopt;
      }
      auto& opened = all_.emplace_back();
      opened.period = period;
      opened.tid = tid;
      opened.processor = processor;
      return EventRing(PerfRing(&opened.ring.page(), opened.ring.data(), opened.ring.beside()), tid, processor,
                       period);
    };
  }
  Opened& last() { return all_.back(); }
  [[nodiscard]] std::size_t opened() const { return all_.size(); }

 private:
  std::list<Opened> all_;
};

PerfEvent event_of(AccessFormat format, std::uint64_t sample_type) {
  PerfEvent event;
  event.sample_type = sample_type;
  event.period = 1000;
  event.format = format;
  event.name = "event";
  return event;
}

std::vector<MemorySample> poll(MemorySampler& sampler) {
  std::vector<MemorySample> samples;
  sampler.poll(
      [&](std::span<const MemorySample> some) { samples.insert(samples.end(), some.begin(), some.end()); });
  return samples;
}

perf_builder::Sample load(std::uint64_t address, std::uint64_t source = k_load_of_memory) {
  perf_builder::Sample s;
  s.ip = 0x401000;
  s.pid = static_cast<std::uint32_t>(getpid());
  s.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  s.time = 5;
  s.address = address;
  s.period = 1000;
  s.weight = 321;
  s.source = source;
  return s;
}

TEST(SampledMachines, IntelLoads_AreDecoded) {
  Machine machine;
  MemorySampler sampler(machine.opener());
  const PerfEvent events[] = {event_of(AccessFormat::record, k_intel)};
  sampler.start(events);
  auto& ring = machine.last().ring;
  for (std::uint64_t i = 0; i < 600; ++i) {
    ring.write(perf_builder::sample(load(0x1000 + i, i % 2 == 0 ? k_load_of_l3 : k_load_of_memory), k_intel));
    if (i % 100 == 99) {
      const auto samples = poll(sampler);
      ASSERT_EQ(samples.size(), 100U);
      EXPECT_EQ(samples[7].address, 0x1000 + i - 92);
      EXPECT_EQ(samples[7].level, (i - 92) % 2 == 0 ? MemoryLevel::l3 : MemoryLevel::local_dram);
      EXPECT_EQ(samples[7].latency_cycles, 321U);
      EXPECT_EQ(samples[7].weight, 1000);
    }
  }
  ring.write(perf_builder::sample(load(0), k_intel));  // an address that the processor did not keep
  EXPECT_TRUE(poll(sampler).empty());
  EXPECT_EQ(sampler.counts().samples, 600U);
}

TEST(SampledMachines, MultiplexedEvents_WeighMore) {
  Machine machine;
  MemorySampler sampler(machine.opener());
  const PerfEvent events[] = {event_of(AccessFormat::record, k_intel)};
  sampler.start(events);
  auto& ring = machine.last().ring;
  ring.page().time_enabled = 4000;
  ring.page().time_running = 1000;
  ring.write(perf_builder::sample(load(1), k_intel));
  EXPECT_EQ(poll(sampler).at(0).weight, 4000);
  EXPECT_EQ(sampler.counts().running, 0.25);
  // It had a counter for half of the time since then.
  ring.page().time_enabled = 8000;
  ring.page().time_running = 3000;
  ring.write(perf_builder::sample(load(2), k_intel));
  EXPECT_EQ(poll(sampler).at(0).weight, 2000);
  EXPECT_EQ(sampler.counts().running, 0.375);
  // The header page shows no elapsed time: the share is unknown.
  ring.write(perf_builder::sample(load(3), k_intel));
  EXPECT_EQ(poll(sampler).at(0).weight, 1000);
}

TEST(SampledMachines, LossAndThrottling_CountedAndPeriodDoubled) {
  Machine machine;
  MemorySampler sampler(machine.opener());
  const PerfEvent events[] = {event_of(AccessFormat::record, k_intel)};
  sampler.start(events);
  auto* ring = &machine.last().ring;
  Bytes lost, lost_samples;
  perf_builder::append(lost, 1, 8);
  perf_builder::append(lost, 17, 8);
  perf_builder::append(lost_samples, 5, 8);
  ring->write(perf_builder::record(PERF_RECORD_LOST, 0, lost));
  ring->write(perf_builder::record(13, 0, lost_samples));
  ring->write(perf_builder::record(PERF_RECORD_ITRACE_START, 0, Bytes(8)));
  ring->write(perf_builder::record(PERF_RECORD_EXIT, 0, Bytes(24)));
  ring->write(perf_builder::record(PERF_RECORD_FORK, 0, Bytes(24)));
  ring->write(perf_builder::record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, Bytes(16)));  // too short
  EXPECT_TRUE(poll(sampler).empty());
  EXPECT_EQ(sampler.counts().lost, 22U);
  EXPECT_EQ(sampler.counts().malformed, 1U);
  const auto before = machine.opened();
  for (int i = 0; i < 3; ++i) ring->write(perf_builder::record(PERF_RECORD_THROTTLE, 0, Bytes(24)));
  ring->write(perf_builder::record(PERF_RECORD_UNTHROTTLE, 0, Bytes(24)));
  ring->write(perf_builder::sample(load(7), k_intel));
  EXPECT_EQ(poll(sampler).at(0).weight, 1000);  // taken under the old period
  EXPECT_EQ(sampler.counts().throttled, 3U);
  EXPECT_EQ(sampler.counts().raised, 1U);
  EXPECT_EQ(machine.opened(), before + sampler.counts().threads);
  EXPECT_EQ(machine.last().period, 2000U);
  ring = &machine.last().ring;
  auto after = load(8);
  after.period = 0;  // the kernel does not say: the ring's
  ring->write(perf_builder::sample(after, k_intel));
  EXPECT_EQ(poll(sampler).at(0).weight, 2000);
  poll(sampler);
  EXPECT_EQ(sampler.counts().raised, 1U);
}

TEST(SampledMachines, AmdOperations_DecodedFromKernelOrRegisters) {
  Machine machine;
  machine.processors_only = true;
  MemorySampler sampler(machine.opener());
  constexpr auto k_type = k_intel | PERF_SAMPLE_RAW;
  const PerfEvent events[] = {event_of(AccessFormat::ibs_op, k_type)};
  sampler.exclude_thread(4711);
  sampler.start(events);
  EXPECT_EQ(machine.last().tid, -1);
  EXPECT_EQ(machine.last().processor, sysconf(_SC_NPROCESSORS_CONF) - 1);
  auto& ring = machine.last().ring;
  auto translated = load(0x5000, k_load_of_l3);
  translated.raw = perf_builder::ibs({.load = true, .address = 0x9999});
  ring.write(perf_builder::sample(translated, k_type));
  auto raw = load(0, 0);
  raw.raw = perf_builder::ibs({.source = 3,
                               .remote = true,
                               .load = true,
                               .cache_miss = true,
                               .second_cache_miss = true,
                               .latency = 700,
                               .address = 0x6000});
  ring.write(perf_builder::sample(raw, k_type));
  auto arithmetic = load(0, 0);
  arithmetic.raw = perf_builder::ibs({});
  ring.write(perf_builder::sample(arithmetic, k_type));
  auto others = raw;
  others.pid = 1;
  ring.write(perf_builder::sample(others, k_type));
  auto ours = raw;
  ours.tid = 4711;
  ring.write(perf_builder::sample(ours, k_type));
  const auto samples = poll(sampler);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].address, 0x5000U);
  EXPECT_EQ(samples[0].level, MemoryLevel::l3);
  EXPECT_EQ(samples[1].address, 0x6000U);
  EXPECT_EQ(samples[1].level, MemoryLevel::remote_dram);
  EXPECT_EQ(samples[1].latency_cycles, 700U);
  // Rings of processors stay although they belong to no thread.
  ring.write(perf_builder::sample(translated, k_type));
  EXPECT_EQ(poll(sampler).size(), 1U);
}

TEST(SampledMachines, ArmPackets_DecodedFromAuxBuffer) {
  namespace spe = perf_builder::spe;
  Machine machine;
  MemorySampler sampler(machine.opener());
  const PerfEvent events[] = {event_of(AccessFormat::spe, PERF_SAMPLE_TID | PERF_SAMPLE_TIME)};
  sampler.start(events);
  auto& ring = machine.last().ring;
  const auto packets = [](std::uint64_t address, unsigned latency) {
    Bytes bytes;
    spe::operation(bytes, 1, 0);
    spe::counter(bytes, 0, static_cast<std::uint16_t>(latency));
    spe::events(bytes, 1U << 2 | 1U << 3 | 1U << 9);
    spe::address(bytes, 2, address);
    spe::timestamp(bytes, 12345);
    while (bytes.size() % 64 != 0) spe::pad(bytes);
    return bytes;
  };
  std::uint64_t told = 0;
  for (unsigned round = 0; round < 300; ++round) {
    Bytes bytes;
    for (unsigned i = 0; i < 10; ++i) {
      const auto one = packets(0x10000 + 10 * round + i, i);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    ring.write_beside(bytes, 0, static_cast<std::uint32_t>(getpid()), 42, 1000 + round);
    for (const auto& sample : poll(sampler)) {
      EXPECT_EQ(sample.address, 0x10000 + told);
      EXPECT_EQ(sample.latency_cycles, told % 10);
      EXPECT_EQ(sample.time_ns, 1000 + told / 10);
      EXPECT_EQ(sample.tid, 42U);
      EXPECT_EQ(sample.level, MemoryLevel::local_dram);
      EXPECT_EQ(sample.weight, 1000);
      ++told;
    }
    ASSERT_EQ(ring.page().aux_tail, ring.page().aux_head);
  }
  EXPECT_EQ(told, 3000U);
  // The buffer was full during an access: the next bytes are not its end.
  auto cut = packets(0x99, 1);
  cut.resize(9);
  ring.write_beside(cut, PERF_AUX_FLAG_TRUNCATED, 1, 42, 1);
  ring.write_beside(packets(0x77, 2), 0, 1, 42, 1);
  const auto samples = poll(sampler);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].address, 0x77U);
  EXPECT_EQ(sampler.counts().lost, 1U);
}

// A kernel that opens a single event: the second thread is not sampled, is counted, and is not tried again.
TEST(SampledMachines, ThreadsWithoutEvent_AreCounted) {
  Machine machine;
  std::uint64_t asked = 0, threads = 0;
  for_each_thread([&](int) { ++threads; });  // a sanitizer may have one of its own
  MemorySampler sampler([&, open = machine.opener()](const PerfEvent& event, std::uint64_t period, int tid,
                                                     int processor, int& error, const char*& call) {
    if (++asked > 1 + threads) {  // the first one is a trial
      error = EMFILE;
      return std::optional<EventRing>();
    }
    return open(event, period, tid, processor, error, call);
  });
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) std::this_thread::yield();
  });
  const PerfEvent events[] = {event_of(AccessFormat::record, k_intel)};
  sampler.start(events);
  for (int i = 0; i < 5; ++i) poll(sampler);
  EXPECT_EQ(sampler.counts().threads, threads);
  EXPECT_EQ(sampler.counts().refused, 1U);
  EXPECT_EQ(asked, 2 + threads);
  EXPECT_NE(sampler.blind_spots().find("threads for which the kernel opened no event"), std::string::npos);
  stop = true;
  other.join();
}

TEST(SampledMachines, SeveralChoices_FirstAvailableIsUsed) {
  auto loads = event_of(AccessFormat::record, k_intel), stores = loads, missed = loads;
  loads.name = loads.blind_spots = "loads";
  stores.name = stores.blind_spots = "stores";
  missed.name = missed.blind_spots = "missed";
  missed.choice = 1;
  const PerfEvent events[] = {missed, loads, stores};
  const auto taken_without = [&](const std::string& refused) {
    Machine machine;
    MemorySampler sampler([&, open = machine.opener()](const PerfEvent& event, std::uint64_t period, int tid,
                                                       int processor, int& error, const char*& call) {
      if (refused.find(event.name) == std::string::npos) return open(event, period, tid, processor, error, call);
      error = ENOENT;
      call = "perf_event_open";
      return std::optional<EventRing>();
    });
    sampler.start(events);
    return sampler.blind_spots();
  };
  EXPECT_EQ(taken_without(""), "loads; stores");
  EXPECT_EQ(taken_without("loads"), "stores");
  EXPECT_EQ(taken_without("loads stores"), "missed");
}

TEST(SampledMachines, RefusedEvents_ReasonNamesThem) {
  MemorySampler sampler([](const PerfEvent&, std::uint64_t, int, int, int& error, const char*& call) {
    error = EACCES;
    call = "perf_event_open";
    return std::optional<EventRing>();
  });
  const PerfEvent events[] = {event_of(AccessFormat::record, k_intel)};
  EXPECT_THROW(sampler.start(events), terrace::Error);
}

}  // namespace
