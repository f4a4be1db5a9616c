// SPDX-License-Identifier: Apache-2.0
// Implements breakpoints on function entries, and samples of time, for the detection of phases in uninstrumented
// programs. See function_probes.hpp.
#include "observe/perf/function_probes.hpp"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/tick_clock.hpp"
#include "observe/perf/event_ring.hpp"
#include "observe/perf/perf_records.hpp"

namespace terrace::observe {

namespace {

constexpr std::uint64_t k_call_fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
constexpr std::uint64_t k_time_fields = PERF_SAMPLE_IP | PERF_SAMPLE_TID;

// Returns the event of a breakpoint. "bp_addr" is a union with "config1", "bp_len" with "config2"
// (perf_event_open(2), "bp_len"): an execution breakpoint has the length of a long on x86, that of an instruction
// elsewhere.
PerfEvent entry_event(std::uint64_t address) {
  PerfEvent event;
  event.type = PERF_TYPE_BREAKPOINT;
  event.breakpoint = HW_BREAKPOINT_X;
  event.config1 = address;
#if defined(__x86_64__)
  event.config2 = sizeof(long);
#else
  event.config2 = HW_BREAKPOINT_LEN_4;
#endif
  event.sample_type = k_call_fields;
  event.period = 1;
  return event;
}

std::span<std::byte, PerfRing::k_max_record> buffer(const std::unique_ptr<std::byte[]>& bytes) {
  return std::span<std::byte, PerfRing::k_max_record>(bytes.get(), PerfRing::k_max_record);
}

}  // namespace

struct FunctionProbes::Probe {
  std::uint32_t function;
  EventRing ring;
};

FunctionProbes::FunctionProbes(int tid)
    : tid_(tid), record_buffer_(std::make_unique<std::byte[]>(PerfRing::k_max_record)) {}

FunctionProbes::~FunctionProbes() = default;

std::size_t FunctionProbes::size() const { return probes_.size(); }

bool FunctionProbes::add(std::uint32_t function, std::uint64_t address) {
  const auto event = entry_event(address);
  int error = 0;
  const char* call = "";
  auto ring = EventRing::open(event, event.period, tid_, -1, error, call);
  if (ring) probes_.push_back({function, std::move(*ring)});
  return ring.has_value();
}

std::vector<ProbeEvent> FunctionProbes::read_events() {
  std::vector<ProbeEvent> events;
  for (auto& probe : probes_)
    probe.ring.ring().read(buffer(record_buffer_), [&](const PerfRecord& record) {
      lost_ += lost_samples(record);
      if (record.type != PERF_RECORD_SAMPLE) return;
      if (const auto sample = read_sample(record.body, k_call_fields))
        events.push_back({sample->time_ns, probe.function});
    });
  std::ranges::stable_sort(events, {}, &ProbeEvent::time_ns);
  return events;
}

bool FunctionProbes::remove(std::uint32_t function) {
  return std::erase_if(probes_, [&](const Probe& probe) { return probe.function == function; }) > 0;
}

namespace {

// Counts down in a loop within the first 64 bytes of the function.
[[gnu::noinline, gnu::aligned(64)]] void count_down(std::uint32_t from) {
#if defined(__x86_64__)
  asm volatile("1: dec %0; jnz 1b" : "+r"(from) : : "cc");
#endif
}

// Returns the shortest of several durations.
double measure_count_down() {
  constexpr std::uint32_t k_count = 20000;
  auto shortest = ~std::uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const auto begin = read_ticks();
    count_down(k_count);
    shortest = std::min(shortest, read_ticks() - begin);
  }
  return static_cast<double>(shortest);
}

bool measure_slow_down() {
  constexpr double k_slow = 2;  // times as long
  const auto alone = measure_count_down();
  constexpr std::uint64_t k_behind_loop = 60;  // in the loop's 64 bytes
  const auto event = entry_event(reinterpret_cast<std::uint64_t>(&count_down) + k_behind_loop);
  int error = 0;
  const char* call = "";
  const auto ring = EventRing::open(event, 1, 0, -1, error, call);
  return ring && measure_count_down() > k_slow * alone;
}

}  // namespace

bool FunctionProbes::slows_nearby_code() {
  static const bool slows = measure_slow_down();
  return slows;
}

std::string FunctionProbes::unavailable_reason() {
  const auto event = entry_event(reinterpret_cast<std::uint64_t>(&entry_event));
  int error = 0;
  const char* call = "";
  if (EventRing::open(event, 1, 0, -1, error, call)) return {};
  return std::string(call) + " of a breakpoint: " + std::strerror(error);
}

struct TimeSampler::Ring {
  EventRing ring;
};

TimeSampler::TimeSampler(int tid, double period_s)
    : record_buffer_(std::make_unique<std::byte[]>(PerfRing::k_max_record)) {
  PerfEvent event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_CPU_CLOCK;
  event.sample_type = k_time_fields;
  event.period = static_cast<std::uint64_t>(period_s * 1e9);
  int error = 0;
  const char* call = "";
  auto ring = EventRing::open(event, event.period, tid, -1, error, call);
  if (!ring) throw Error(Code::failed, std::string("samples of time: ") + call + ": " + std::strerror(error));
  ring_ = std::make_unique<Ring>(Ring{std::move(*ring)});
}

TimeSampler::~TimeSampler() = default;

std::vector<std::uint64_t> TimeSampler::read_samples() {
  std::vector<std::uint64_t> addresses;
  ring_->ring.ring().read(buffer(record_buffer_), [&](const PerfRecord& record) {
    if (record.type != PERF_RECORD_SAMPLE) return;
    if (const auto sample = read_sample(record.body, k_time_fields)) addresses.push_back(sample->ip);
  });
  return addresses;
}

}  // namespace terrace::observe
