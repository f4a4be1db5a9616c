// See memory_sampler.hpp.
#include "observe/perf/memory_sampler.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "core/small_file.hpp"
#include "observe/perf/access_formats.hpp"
#include "observe/perf/event_ring.hpp"
#include "observe/perf/perf_records.hpp"
#include "observe/perf/thread_list.hpp"

namespace terrace::observe {

namespace {

// Each has rings, which are memory that cannot be paged out.
constexpr std::size_t k_max_threads = 1024;
constexpr std::size_t k_sample_batch = 256;
constexpr const char* k_no_event = "no event that samples accesses to memory";
constexpr std::uint64_t k_longest_period = 1ULL << 40U;

SpeSources sources_here() {
  // Implementer Arm, and one of the parts whose manuals number sources alike: N1, V1, N2, V2.
  char text[32];
  if (!read_small_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", text, sizeof text))
    return SpeSources::unknown;
  const auto id = std::strtoull(text, nullptr, 0);
  const auto part = id >> 4 & 0xfff;
  const bool alike =
      (id >> 24 & 0xff) == 0x41 && (part == 0xd0c || part == 0xd40 || part == 0xd49 || part == 0xd4f);
  return alike ? SpeSources::neoverse : SpeSources::unknown;
}

// One event, wherever it is opened.
struct SampledEvent {
  PerfEvent event;
  std::uint64_t period;
  bool by_processor = false;  // the kernel has it for whole processors only
  std::vector<EventRing> rings;
};

}  // namespace

struct MemorySampler::Parts {
  explicit Parts(Open how) : open_ring(std::move(how)) { batch.reserve(k_sample_batch); }

  Open open_ring;
  long pid = syscall(SYS_getpid);
  std::vector<SampledEvent> sources;
  std::vector<int> skipped, threads;
  std::vector<int> refused;  // threads of which nothing could be opened: not tried again
  SpeSources spe_sources = SpeSources::unknown;
  std::vector<std::byte> longest = std::vector<std::byte>(PerfRing::k_longest);
  std::vector<MemorySample> batch;
  SamplerCounts counts;
  CounterTime ended;  // of rings that are closed

  [[nodiscard]] bool own() const { return syscall(SYS_getpid) == pid; }
  bool open(SampledEvent& source, int tid, int processor);
  void look_for_threads(const Take* take);
  void read(SampledEvent& source, EventRing& ring, const Take& take);
  void sample(SampledEvent& source, const EventRing& ring, const SampleFields& fields, double weight,
              const Take& take);
  void beside(const SampledEvent& source, EventRing& ring, const PerfRecord& record, double weight,
              const Take& take);
  void add(const MemorySample& sample, const Take& take) {
    ++counts.samples;
    batch.push_back(sample);
    if (batch.size() == k_sample_batch) hand_over(take);
  }
  void hand_over(const Take& take) {
    if (!batch.empty()) take(batch);
    batch.clear();
  }
  void close(EventRing& ring) {
    const auto time = ring.time();
    ended.enabled += time.enabled;
    ended.running += time.running;
    counts.malformed += ring.ring().malformed() + ring.packets.malformed();
  }
  void raise(SampledEvent& source, const Take& take);
};

MemorySampler::MemorySampler() : MemorySampler(EventRing::open) {}

MemorySampler::MemorySampler(Open open) : parts_(std::make_unique<Parts>(std::move(open))) {}

MemorySampler::~MemorySampler() { stop(); }

void MemorySampler::skip(int tid) { parts_->skipped.push_back(tid); }

bool MemorySampler::Parts::open(SampledEvent& source, int tid, int processor) {
  int error = 0;
  const char* call = nullptr;
  auto ring = open_ring(source.event, source.period, tid, processor, error, call);
  if (!ring) return false;
  ring->packets = SpeReader(spe_sources);
  source.rings.push_back(std::move(*ring));
  return true;
}

namespace {

// Whether the event can be had, of threads or else of processors; why not.
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
  auto& parts = *parts_;
  parts.pid = syscall(SYS_getpid);
  parts.spe_sources = sources_here();
  parts.counts = {};
  parts.ended = {};
  std::string refused;
  std::vector<PerfEvent> by_choice(events.begin(), events.end());
  std::ranges::stable_sort(by_choice, {}, &PerfEvent::choice);
  for (const auto& event : by_choice) {
    if (!parts.sources.empty() && parts.sources.front().event.choice != event.choice) break;
    SampledEvent source{event, event.period, false, {}};
    if (auto why = try_event(parts.open_ring, event, source.by_processor); !why.empty()) {
      if (refused.empty()) refused = std::move(why);
      continue;
    }
    if (source.by_processor)
      for (long cpu = 0, all = sysconf(_SC_NPROCESSORS_CONF); cpu < all; ++cpu)
        parts.open(source, -1, static_cast<int>(cpu));
    parts.sources.push_back(std::move(source));
  }
  if (parts.sources.empty()) throw Error(Code::failed, events.empty() ? k_no_event : refused);
  parts.look_for_threads(nullptr);
}

void MemorySampler::Parts::look_for_threads(const Take* take) {
  std::vector<int> now;
  now.reserve(threads.size() + 8);
  for_each_thread([&](int tid) {
    if (std::ranges::find(skipped, tid) == skipped.end()) now.push_back(tid);
  });
  std::ranges::sort(now);
  for (auto& source : sources) {
    // Those that have ended have left samples.
    std::erase_if(source.rings, [&](EventRing& ring) {
      if (ring.tid() < 0 || std::ranges::binary_search(now, ring.tid())) return false;
      if (take) read(source, ring, *take);
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

void MemorySampler::poll(const Take& take) {
  auto& parts = *parts_;
  if (parts.sources.empty() || !parts.own()) return;
  for (auto& source : parts.sources) {
    const auto throttled = parts.counts.throttled;
    for (auto& ring : source.rings) parts.read(source, ring, take);
    if (parts.counts.throttled != throttled) parts.raise(source, take);
  }
  parts.look_for_threads(&take);
  parts.hand_over(take);
}

// The period of an open event can be changed by its file alone, which is closed: all are opened again.
void MemorySampler::Parts::raise(SampledEvent& source, const Take& take) {
  if (source.period >= k_longest_period) return;
  source.period *= 2;
  ++counts.raised;
  for (auto& old : source.rings) {
    int error = 0;
    const char* call = nullptr;
    auto ring = open_ring(source.event, source.period, old.tid(), old.processor(), error, call);
    if (!ring) continue;  // the thread has ended, or the old period stays
    ring->packets = SpeReader(spe_sources);
    read(source, old, take);
    close(old);
    old = std::move(*ring);
  }
}

void MemorySampler::Parts::read(SampledEvent& source, EventRing& ring, const Take& take) {
  const auto weight = 1 / ring.share_of_time();
  ring.ring().read(std::span<std::byte, PerfRing::k_longest>(longest), [&](const PerfRecord& record) {
    if (record.type == PERF_RECORD_SAMPLE) {
      const bool in_kernel = (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
      if (ring.kernel_too() && in_kernel) return;
      if (const auto fields = read_sample(record.body, source.event.sample_type))
        this->sample(source, ring, *fields, weight, take);
      else
        ++counts.malformed;
    } else if (record.type == PERF_RECORD_AUX) {
      beside(source, ring, record, weight, take);
    } else if (record.type == PERF_RECORD_THROTTLE) {
      ++counts.throttled;
    } else {
      counts.lost += lost_samples(record);
    }
  });
}

void MemorySampler::Parts::sample(SampledEvent& source, const EventRing& ring, const SampleFields& fields,
                                  double weight, const Take& take) {
  if (ring.tid() < 0 && (fields.pid != static_cast<std::uint32_t>(pid) ||
                         std::ranges::find(skipped, static_cast<int>(fields.tid)) != skipped.end()))
    return;
  MemorySample sample;
  sample.time_ns = fields.time_ns;
  sample.tid = fields.tid;
  sample.ip = fields.ip;
  sample.address = fields.address;
  sample.latency_cycles = fields.weight;
  const bool said = read_data_source(fields.data_source, sample);
  if (source.event.format == AccessFormat::ibs_op && !said && !read_ibs_op(fields.raw, sample)) return;
  if (sample.address == 0) return;
  const auto period = fields.period != 0 ? fields.period : ring.period();
  sample.weight = static_cast<double>(period) * weight;
  add(sample, take);
}

void MemorySampler::Parts::beside(const SampledEvent& source, EventRing& ring, const PerfRecord& record,
                                  double weight, const Take& take) {
  const auto written = read_beside(record, source.event.sample_type);
  if (!written) {
    ++counts.malformed;
    return;
  }
  ring.ring().beside(written->offset, written->size, [&](std::span<const std::byte> bytes, std::size_t at) {
    ring.packets.take(bytes, at, [&](const SpeAccess& access) {
      auto sample = access.sample;
      // The system counter's time is another clock: the record's, which is at most a buffer later, serves.
      sample.time_ns = written->time_ns;
      if (!access.has_thread)
        sample.tid = written->tid != 0 ? written->tid : static_cast<std::uint32_t>(ring.tid());
      sample.weight = static_cast<double>(ring.period()) * weight;
      add(sample, take);
    });
  });
  if (written->truncated) {
    ring.packets.cut();
    ++counts.lost;  // at least one
  }
  ring.ring().give_back_beside(written->offset + written->size);
}

void MemorySampler::stop() {
  auto& parts = *parts_;
  const bool own = parts.own();
  for (auto& source : parts.sources)
    for (auto& ring : source.rings) {
      if (own)
        parts.close(ring);
      else
        ring.forget();
    }
  parts.sources.clear();
  parts.threads.clear();
  parts.refused.clear();
}

SamplerCounts MemorySampler::counts() const {
  auto counts = parts_->counts;
  if (!parts_->own()) return counts;
  auto time = parts_->ended;
  for (const auto& source : parts_->sources)
    for (const auto& ring : source.rings) {
      time.enabled += ring.time().enabled;
      time.running += ring.time().running;
    }
  if (time.enabled != 0) counts.running = static_cast<double>(time.running) / static_cast<double>(time.enabled);
  return counts;
}

std::string MemorySampler::misses() const {
  std::vector<std::string> all;
  for (const auto& source : parts_->sources) {
    if (!source.event.misses.empty() && std::ranges::find(all, source.event.misses) == all.end())
      all.push_back(source.event.misses);
  }
  if (parts_->counts.refused != 0) all.emplace_back("threads for which the kernel opened no event");
  std::string said;
  for (const auto& one : all) said += (said.empty() ? "" : "; ") + one;
  return said;
}

}  // namespace terrace::observe
