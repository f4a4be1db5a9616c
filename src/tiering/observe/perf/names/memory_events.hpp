// SPDX-License-Identifier: Apache-2.0
// Finds the perf events that sample memory accesses on this machine, for the runtime in the program. For use in
// the launcher only: it reads sysfs, and looks up names in libpfm4 that sysfs does not have.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "observe/perf/perf_event.hpp"

namespace terrace::observe {

// Paths of the kernel's files; tests use folders of their own.
struct EventFiles {
  std::string devices = "/sys/bus/event_source/devices";
  std::string paranoid = "/proc/sys/kernel/perf_event_paranoid";
};

struct MemoryEvents {
  std::vector<PerfEvent> events;  // the best first
  // Where there are none, what was searched, in one line; else why the kernel may refuse them to this user, or "".
  std::string unavailable_reason;
};

// Returns type and configuration of an event by its name in libpfm4's tables ("MEM_LOAD_RETIRED:L3_MISS",
// "skl::..."). Returns nothing, with the reason in `why`, where no processor of this machine has it.
std::optional<PerfEvent> event_by_name(const std::string& name, std::string& why);
using EventByName = std::function<std::optional<PerfEvent>(const std::string& name, std::string& why)>;

// Returns Intel's loads by latency and stores (`cpu`, `cpu_core`, `cpu_atom`), and as second choice, by name,
// loads that missed the last-level cache; AMD's operations (`ibs_op`); Arm's (`arm_spe_0`).
// MemorySampler::unavailable_reason tests whether they can be opened.
MemoryEvents memory_events(const EventFiles& files = {}, const EventByName& by_name = event_by_name);

}  // namespace terrace::observe
