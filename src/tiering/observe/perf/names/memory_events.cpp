// SPDX-License-Identifier: Apache-2.0
// Chooses the perf events that sample memory accesses, for the launcher. See memory_events.hpp.
#include "observe/perf/names/memory_events.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "observe/perf/names/event_device.hpp"

namespace terrace::observe {

namespace {

// Events between two samples: at most thousands of samples a second on a busy core, which the kernel does not
// throttle. Primes, so that loops cannot alias with them.
constexpr std::uint64_t k_loads_period = 10'007, k_misses_period = 1009;
constexpr std::uint64_t k_operations_period = 262'144;  // multiples of 16 for AMD; Arm's are of powers of two
constexpr int k_slow_load_cycles = 30;                  // longer than hits of the first and second cache

constexpr std::uint64_t k_fields = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                                   PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;

PerfEvent event_of(const EventDevice& device, const Encoding& encoding, std::string name) {
  PerfEvent event;
  event.type = device.type();
  event.config = encoding.config;
  event.config1 = encoding.config1;
  event.config2 = encoding.config2;
  event.sample_type = k_fields;
  event.name = std::move(name);
  return event;
}

// Adds Intel's sampled loads, by latency, and stores.
void add_intel(const EventDevice& device, const std::string& called, std::vector<PerfEvent>& events) {
  if (const auto loads = device.event("mem-loads")) {
    const auto latency = "ldlat=" + std::to_string(k_slow_load_cycles);
    auto event =
        event_of(device, device.encode(*loads, device.has_format("ldlat") ? latency : ""), called + "/mem-loads/");
    event.precise = 3;
    event.period = k_loads_period;
    event.blind_spots = "loads of under " + std::to_string(k_slow_load_cycles) + " cycles";
    if (const auto leader = device.event("mem-loads-aux")) {
      event.has_leader = true;
      event.leader_config = device.encode(*leader).config;
    }
    events.push_back(std::move(event));
  }
  if (const auto stores = device.event("mem-stores")) {
    auto event = event_of(device, device.encode(*stores), called + "/mem-stores/");
    event.precise = 3;
    event.period = k_loads_period;
    event.blind_spots = "latencies of stores";
    events.push_back(std::move(event));
  }
}

// Adds loads that missed the last-level cache, by name, because sysfs does not list them. For processors that do
// not sample latencies.
void add_missed_loads(const EventDevice& device, const std::string& called, const EventByName& by_name,
                      std::vector<PerfEvent>& events) {
  for (const char* const name : {"MEM_LOAD_RETIRED:L3_MISS", "MEM_LOAD_UOPS_RETIRED:L3_MISS"}) {
    std::string why;
    auto event = by_name(name, why);
    if (!event || event->type != device.type()) continue;
    event->sample_type = k_fields;
    event->precise = 2;
    event->choice = 1;
    event->period = k_misses_period;
    event->name = called + "/" + name + "/";
    event->blind_spots = "loads that hit a cache; stores";
    events.push_back(std::move(*event));
    return;
  }
}

void add_amd(const EventDevice& device, std::vector<PerfEvent>& events) {
  // Count operations, not cycles: stalled operations must not be sampled more often.
  auto event = event_of(device, device.encode(device.has_format("cnt_ctl") ? "cnt_ctl" : ""), "ibs_op//");
  event.sample_type |= PERF_SAMPLE_RAW;
  event.format = AccessFormat::ibs_op;
  event.period = k_operations_period;
  event.blind_spots = "latencies of stores";
  events.push_back(std::move(event));
}

void add_arm(const EventDevice& device, const std::string& called, std::vector<PerfEvent>& events) {
  auto event = event_of(device, device.encode("ts_enable,load_filter,store_filter,jitter"), called + "//");
  event.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  event.format = AccessFormat::spe;
  event.period = k_operations_period;
  events.push_back(std::move(event));
}

// Returns why this user may not open perf events; "" if they are permitted.
std::string why_refused(const EventFiles& files) {
  std::ifstream stream(files.paranoid);
  int paranoid = 0;
  if (!(stream >> paranoid)) return files.paranoid + " does not exist: the kernel has no perf events";
  // Debian and others have 3 and 4: CAP_PERFMON is required.
  if (paranoid > 2)
    return files.paranoid + " is " + std::to_string(paranoid) + ": only root may use perf events; set it to 2";
  return {};
}

}  // namespace

MemoryEvents memory_events(const EventFiles& files, const EventByName& by_name) {
  MemoryEvents found;
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(files.devices, none))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::string broken;
  for (const auto& name : names) {
    const EventDevice device(std::filesystem::path(files.devices) / name);
    if (!device.exists()) continue;
    try {
      if (name == "cpu" || name == "cpu_core" || name == "cpu_atom") {
        add_intel(device, name, found.events);
        add_missed_loads(device, name, by_name, found.events);
      } else if (name == "ibs_op") {
        add_amd(device, found.events);
      } else if (name.starts_with("arm_spe_")) {
        add_arm(device, name, found.events);
      }
    } catch (const Error& error) {
      broken = "event device " + name + ": " + error.what();
    }
  }
  const auto refused = why_refused(files);
  if (!found.events.empty()) {
    found.unavailable_reason = refused;
  } else if (!broken.empty()) {
    found.unavailable_reason = broken;
  } else {
    found.unavailable_reason = files.devices + " has no cpu/events/mem-loads, no ibs_op and no arm_spe_0";
    if (!refused.empty()) found.unavailable_reason = refused;
  }
  return found;
}

}  // namespace terrace::observe
