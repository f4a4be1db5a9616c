// See function_probes.hpp.
#include "observe/perf/function_probes.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/small_file.hpp"
#include "observe/perf/event_ring.hpp"
#include "observe/perf/perf_records.hpp"

namespace terrace::observe {

namespace {

constexpr const char* k_type = "/sys/bus/event_source/devices/uprobe/type";
constexpr std::uint64_t k_call_fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
constexpr std::uint64_t k_place_fields = PERF_SAMPLE_IP | PERF_SAMPLE_TID;

// The first number in a small file; nothing where there is none.
std::optional<std::uint64_t> number_in(const char* path) {
  char text[64];
  if (!read_small_file(path, text, sizeof text)) return std::nullopt;
  const auto* const digit =
      std::find_if(text, text + std::strlen(text), [](char c) { return c >= '0' && c <= '9'; });
  std::uint64_t number = 0;
  if (std::from_chars(digit, text + std::strlen(text), number).ec != std::errc{}) return std::nullopt;
  return number;
}

// uprobe's "config1" is where the path is, "config2" the offset (perf_event_open(2), "uprobe").
PerfEvent probe_event(const ProbedFunction& function, std::uint32_t type) {
  PerfEvent event;
  event.type = type;
  event.config1 = reinterpret_cast<std::uint64_t>(function.file.c_str());
  event.config2 = function.offset;
  event.sample_type = k_call_fields;
  event.period = 1;
  return event;
}

EventRing open_ring(const PerfEvent& event, int tid, const std::string& what) {
  int error = 0;
  const char* call = "";
  auto ring = EventRing::open(event, event.period, tid, -1, error, call);
  if (!ring) throw Error(Code::failed, what + ": " + call + ": " + std::strerror(error));
  return std::move(*ring);
}

std::span<std::byte, PerfRing::k_longest> room(const std::unique_ptr<std::byte[]>& bytes) {
  return std::span<std::byte, PerfRing::k_longest>(bytes.get(), PerfRing::k_longest);
}

}  // namespace

struct FunctionProbes::Probe {
  std::uint32_t function;
  EventRing ring;
};

FunctionProbes::FunctionProbes(std::span<const ProbedFunction> functions, int tid)
    : longest_(std::make_unique<std::byte[]>(PerfRing::k_longest)) {
  const auto type = number_in(k_type);
  if (!type) throw Error(Code::failed, std::string(k_type) + ": not there");
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    const auto event = probe_event(functions[i], static_cast<std::uint32_t>(*type));
    probes_.push_back({i, open_ring(event, tid, "a probe of " + functions[i].file)});
  }
}

FunctionProbes::~FunctionProbes() = default;

std::vector<ProbeEvent> FunctionProbes::take() {
  std::vector<ProbeEvent> events;
  for (auto& probe : probes_)
    probe.ring.ring().read(room(longest_), [&](const PerfRecord& record) {
      lost_ += lost_samples(record);
      if (record.type != PERF_RECORD_SAMPLE) return;
      if (const auto sample = read_sample(record.body, k_call_fields))
        events.push_back({sample->time_ns, probe.function});
    });
  std::ranges::stable_sort(events, {}, &ProbeEvent::time_ns);
  return events;
}

void FunctionProbes::drop(std::uint32_t function) {
  std::erase_if(probes_, [&](const Probe& probe) { return probe.function == function; });
}

std::string FunctionProbes::lacks() {
  if (!number_in(k_type)) return std::string(k_type) + ": not there";
  // The right to trace is asked for before anything else is looked at; a probe of nothing is refused afterwards.
  PerfEvent event = probe_event({"/", 0}, static_cast<std::uint32_t>(*number_in(k_type)));
  const std::string path = "/";
  event.config1 = reinterpret_cast<std::uint64_t>(path.c_str());
  int error = 0;
  const char* call = "";
  if (EventRing::open(event, 1, 0, -1, error, call)) return {};
  return error == EACCES || error == EPERM || error == ENOSYS
             ? std::string("perf_event_open of a uprobe: ") + std::strerror(error)
             : std::string();
}

struct TimeSampler::Ring {
  EventRing ring;
};

TimeSampler::TimeSampler(int tid, double period_s) : longest_(std::make_unique<std::byte[]>(PerfRing::k_longest)) {
  PerfEvent event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_CPU_CLOCK;
  event.sample_type = k_place_fields;
  event.period = static_cast<std::uint64_t>(period_s * 1e9);
  ring_ = std::make_unique<Ring>(Ring{open_ring(event, tid, "samples of time")});
}

TimeSampler::~TimeSampler() = default;

std::vector<std::uint64_t> TimeSampler::take() {
  std::vector<std::uint64_t> addresses;
  ring_->ring.ring().read(room(longest_), [&](const PerfRecord& record) {
    if (record.type != PERF_RECORD_SAMPLE) return;
    if (const auto sample = read_sample(record.body, k_place_fields)) addresses.push_back(sample->ip);
  });
  return addresses;
}

}  // namespace terrace::observe
