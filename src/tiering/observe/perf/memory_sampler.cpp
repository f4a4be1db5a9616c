// SPDX-License-Identifier: Apache-2.0
// Samples a process's memory accesses by hardware counters, for the agent's page-use monitor. See
// memory_sampler.hpp.
#include "observe/perf/memory_sampler.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "core/small_file.hpp"
#include "observe/perf/event_ring.hpp"
#include "observe/perf/memory_sample.hpp"
#include "observe/perf/perf_records.hpp"
#include "observe/perf/thread_list.hpp"

namespace terrace::observe {

namespace {

// Limits the locked memory of the threads' rings.
constexpr std::size_t k_max_threads = 1024;
constexpr std::size_t k_sample_batch = 256;
constexpr const char* k_no_event = "no event that samples accesses to memory";
constexpr std::uint64_t k_max_period = 1ULL << 40U;

// Returns how this processor (Arm) numbers the data sources of sampled accesses.
SpeSources sources_here() {
  // Implementer Arm, and one of the parts with the same numbering of sources: N1, V1, N2, V2.
  char text[32];
  if (!read_small_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", text, sizeof text))
    return SpeSources::unknown;
  const auto id = std::strtoull(text, nullptr, 0);
  const auto part = id >> 4 & 0xfff;
  const bool alike =
      (id >> 24 & 0xff) == 0x41 && (part == 0xd0c || part == 0xd40 || part == 0xd49 || part == 0xd4f);
  return alike ? SpeSources::neoverse : SpeSources::unknown;
}

// An event, with the rings of all threads or processors.
struct SampledEvent {
  PerfEvent event;
  std::uint64_t period;
  bool by_processor = false;  // the kernel has it for whole processors only
  std::vector<EventRing> rings;
};

}  // namespace

struct MemorySampler::State {
  explicit State(Open how) : open_ring(std::move(how)) { batch.reserve(k_sample_batch); }

  Open open_ring;
  long pid = syscall(SYS_getpid);
  std::vector<SampledEvent> sources;
  std::vector<int> excluded, threads;
  std::vector<int> refused;  // threads without any event: not tried again
  SpeSources spe_sources = SpeSources::unknown;
  std::vector<std::byte> record_buffer = std::vector<std::byte>(PerfRing::k_max_record);
  std::vector<MemorySample> batch;
  SamplerCounts counts;
  CounterTime ended;  // sum over closed rings

  [[nodiscard]] bool is_own_process() const { return syscall(SYS_getpid) == pid; }
  bool open(SampledEvent& source, int tid, int processor);
  void update_threads(const OnSamples* on_samples);
  void read(SampledEvent& source, EventRing& ring, const OnSamples& on_samples);
  void sample(SampledEvent& source, const EventRing& ring, const SampleFields& fields, double weight,
              const OnSamples& on_samples);
  void read_aux(const SampledEvent& source, EventRing& ring, const PerfRecord& record, double weight,
                const OnSamples& on_samples);
  void add(const MemorySample& sample, const OnSamples& on_samples) {
    ++counts.samples;
    batch.push_back(sample);
    if (batch.size() == k_sample_batch) flush_batch(on_samples);
  }
  void flush_batch(const OnSamples& on_samples) {
    if (!batch.empty()) on_samples(batch);
    batch.clear();
  }
  // Adds a ring's counters to the totals, before it is closed.
  void close(EventRing& ring) {
    const auto time = ring.time();
    ended.enabled += time.enabled;
    ended.running += time.running;
    counts.malformed += ring.ring().malformed() + ring.packets.malformed();
  }
  void double_period(SampledEvent& source, const OnSamples& on_samples);
};

MemorySampler::MemorySampler() : MemorySampler(EventRing::open) {}

MemorySampler::MemorySampler(Open open) : state_(std::make_unique<State>(std::move(open))) {}

MemorySampler::~MemorySampler() { stop(); }

void MemorySampler::exclude_thread(int tid) { state_->excluded.push_back(tid); }

bool MemorySampler::State::open(SampledEvent& source, int tid, int processor) {
  int error = 0;
  const char* call = nullptr;
  auto ring = open_ring(source.event, source.period, tid, processor, error, call);
  if (!ring) return false;
  ring->packets = SpeDecoder(spe_sources);
  source.rings.push_back(std::move(*ring));
  return true;
}

namespace {

// Returns "" where the event can be opened for a thread, or else for a processor; otherwise the reason.
std::string try_event(const MemorySampler::Open& open, const PerfEvent& event, bool& by_processor) {
  int error = 0;
  const char* call = "";
  by_processor = false;
  if (open(event, event.period, 0, -1, error, call)) return {};
  if (error == EINVAL) {
    by_processor = true;
    if (open(event, event.period, -1, 0, error, call)) return {};
  }
  return std::string(call) + " (" + event.name + "): " + std::strerror(error);
}

}  // namespace

std::string MemorySampler::unavailable_reason(std::span<const PerfEvent> events) {
  std::string first = k_no_event;
  bool any = false;
  for (const auto& event : events) {
    bool by_processor = false;
    auto why = try_event(EventRing::open, event, by_processor);
    if (why.empty()) return {};
    if (!any) first = std::move(why);
    any = true;
  }
  return first;
}

void MemorySampler::start(std::span<const PerfEvent> events) {
  stop();
  auto& state = *state_;
  state.pid = syscall(SYS_getpid);
  state.spe_sources = sources_here();
  state.counts = {};
  state.ended = {};
  std::string refused;
  std::vector<PerfEvent> by_choice(events.begin(), events.end());
  std::ranges::stable_sort(by_choice, {}, &PerfEvent::choice);
  for (const auto& event : by_choice) {
    if (!state.sources.empty() && state.sources.front().event.choice != event.choice) break;
    SampledEvent source{event, event.period, false, {}};
    if (auto why = try_event(state.open_ring, event, source.by_processor); !why.empty()) {
      if (refused.empty()) refused = std::move(why);
      continue;
    }
    if (source.by_processor)
      for (long cpu = 0, all = sysconf(_SC_NPROCESSORS_CONF); cpu < all; ++cpu)
        state.open(source, -1, static_cast<int>(cpu));
    state.sources.push_back(std::move(source));
  }
  if (state.sources.empty()) throw Error(Code::failed, events.empty() ? k_no_event : refused);
  state.update_threads(nullptr);
}

// Opens events for new threads, and closes those of ended ones after reading their last samples.
void MemorySampler::State::update_threads(const OnSamples* on_samples) {
  std::vector<int> now;
  now.reserve(threads.size() + 8);
  for_each_thread([&](int tid) {
    if (std::ranges::find(excluded, tid) == excluded.end()) now.push_back(tid);
  });
  std::ranges::sort(now);
  for (auto& source : sources) {
    // Read the last samples of threads that have ended.
    std::erase_if(source.rings, [&](EventRing& ring) {
      if (ring.tid() < 0 || std::ranges::binary_search(now, ring.tid())) return false;
      if (on_samples) read(source, ring, *on_samples);
      close(ring);
      return true;
    });
  }
  std::vector<int> sampled, without;
  sampled.reserve(now.size());
  for (const int tid : now) {
    bool had = std::ranges::binary_search(threads, tid);
    const bool tried = had || std::ranges::binary_search(refused, tid);
    if (!tried && sampled.size() < k_max_threads)
      for (auto& source : sources)
        if (source.by_processor || open(source, tid, -1)) had = true;
    (had ? sampled : without).push_back(tid);
  }
  threads = std::move(sampled);
  refused = std::move(without);
  counts.threads = threads.size();
  counts.refused = refused.size();
}

void MemorySampler::poll(const OnSamples& on_samples) {
  auto& state = *state_;
  if (state.sources.empty() || !state.is_own_process()) return;
  for (auto& source : state.sources) {
    const auto throttled = state.counts.throttled;
    for (auto& ring : source.rings) state.read(source, ring, on_samples);
    if (state.counts.throttled != throttled) state.double_period(source, on_samples);
  }
  state.update_threads(&on_samples);
  state.flush_batch(on_samples);
}

// Doubles the period. Reopens all events: the period of an open event can be changed only by its descriptor, which
// is closed.
void MemorySampler::State::double_period(SampledEvent& source, const OnSamples& on_samples) {
  if (source.period >= k_max_period) return;
  source.period *= 2;
  ++counts.raised;
  for (auto& old : source.rings) {
    int error = 0;
    const char* call = nullptr;
    auto ring = open_ring(source.event, source.period, old.tid(), old.processor(), error, call);
    if (!ring) continue;  // the thread has ended, or the old period stays
    ring->packets = SpeDecoder(spe_sources);
    read(source, old, on_samples);
    close(old);
    old = std::move(*ring);
  }
}

// Reads all records of a ring: samples, AUX data of Arm, reports of lost samples and of throttling.
void MemorySampler::State::read(SampledEvent& source, EventRing& ring, const OnSamples& on_samples) {
  const auto weight = 1 / ring.counting_share();
  ring.ring().read(std::span<std::byte, PerfRing::k_max_record>(record_buffer), [&](const PerfRecord& record) {
    if (record.type == PERF_RECORD_SAMPLE) {
      const bool in_kernel = (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
      if (ring.includes_kernel() && in_kernel) return;
      if (const auto fields = read_sample(record.body, source.event.sample_type))
        this->sample(source, ring, *fields, weight, on_samples);
      else
        ++counts.malformed;
    } else if (record.type == PERF_RECORD_AUX) {
      read_aux(source, ring, record, weight, on_samples);
    } else if (record.type == PERF_RECORD_THROTTLE) {
      ++counts.throttled;
    } else {
      counts.lost += lost_samples(record);
    }
  });
}

void MemorySampler::State::sample(SampledEvent& source, const EventRing& ring, const SampleFields& fields,
                                  double weight, const OnSamples& on_samples) {
  if (ring.tid() < 0 && (fields.pid != static_cast<std::uint32_t>(pid) ||
                         std::ranges::find(excluded, static_cast<int>(fields.tid)) != excluded.end()))
    return;
  MemorySample sample;
  sample.time_ns = fields.time_ns;
  sample.tid = fields.tid;
  sample.ip = fields.ip;
  sample.address = fields.address;
  sample.latency_cycles = fields.weight;
  const bool is_decoded = read_data_source(fields.data_source, sample);
  if (source.event.format == AccessFormat::ibs_op && !is_decoded && !read_ibs_op(fields.raw, sample)) return;
  if (sample.address == 0) return;
  const auto period = fields.period != 0 ? fields.period : ring.period();
  sample.weight = static_cast<double>(period) * weight;
  add(sample, on_samples);
}

// Decodes the accesses that an AUX record describes (Arm's SPE).
void MemorySampler::State::read_aux(const SampledEvent& source, EventRing& ring, const PerfRecord& record,
                                    double weight, const OnSamples& on_samples) {
  const auto written = read_aux_record(record, source.event.sample_type);
  if (!written) {
    ++counts.malformed;
    return;
  }
  ring.ring().read_aux(written->offset, written->size, [&](std::span<const std::byte> bytes, std::size_t at) {
    ring.packets.decode(bytes, at, [&](const SpeAccess& access) {
      auto sample = access.sample;
      // The packets' timestamps are of another clock; the record's time is later by at most a buffer.
      sample.time_ns = written->time_ns;
      if (!access.has_thread)
        sample.tid = written->tid != 0 ? written->tid : static_cast<std::uint32_t>(ring.tid());
      sample.weight = static_cast<double>(ring.period()) * weight;
      add(sample, on_samples);
    });
  });
  if (written->truncated) {
    ring.packets.reset();
    ++counts.lost;  // at least one
  }
  ring.ring().release_aux(written->offset + written->size);
}

void MemorySampler::stop() {
  auto& state = *state_;
  const bool own = state.is_own_process();
  for (auto& source : state.sources)
    for (auto& ring : source.rings) {
      if (own)
        state.close(ring);
      else
        ring.abandon();
    }
  state.sources.clear();
  state.threads.clear();
  state.refused.clear();
}

SamplerCounts MemorySampler::counts() const {
  auto counts = state_->counts;
  if (!state_->is_own_process()) return counts;
  auto time = state_->ended;
  for (const auto& source : state_->sources)
    for (const auto& ring : source.rings) {
      time.enabled += ring.time().enabled;
      time.running += ring.time().running;
    }
  if (time.enabled != 0) counts.running = static_cast<double>(time.running) / static_cast<double>(time.enabled);
  return counts;
}

std::string MemorySampler::blind_spots() const {
  std::vector<std::string> all;
  for (const auto& source : state_->sources) {
    if (!source.event.blind_spots.empty() && std::ranges::find(all, source.event.blind_spots) == all.end())
      all.push_back(source.event.blind_spots);
  }
  if (state_->counts.refused != 0) all.emplace_back("threads for which the kernel opened no event");
  std::string said;
  for (const auto& one : all) said += (said.empty() ? "" : "; ") + one;
  return said;
}

}  // namespace terrace::observe
