// Which events sample accesses to memory on a machine, as numbers that can be handed to the library inside a
// program. Of use outside programs alone: it reads the kernel's files, and asks libpfm4 for names that those do
// not have.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "observe/perf/perf_event.hpp"

namespace terrace::observe {

// Where the kernel says what it has; a test has folders of its own.
struct EventFiles {
  std::string devices = "/sys/bus/event_source/devices";
  std::string paranoid = "/proc/sys/kernel/perf_event_paranoid";
};

struct MemoryEvents {
  std::vector<PerfEvent> events;  // the best first
  // Where there are none: what was looked for, in one line. Also says why they may be refused to this user.
  std::string unavailable_reason;
};

// An event by its name in libpfm4's tables ("MEM_LOAD_RETIRED:L3_MISS", "skl::..."): its type and configuration.
// Nothing where no processor of this machine has it, and then `why` says so.
std::optional<PerfEvent> event_by_name(const std::string& name, std::string& why);
using EventByName = std::function<std::optional<PerfEvent>(const std::string& name, std::string& why)>;

// Intel's loads by latency and stores (`cpu`, `cpu_core`, `cpu_atom`), and for where those are not to be had loads
// that missed the last cache, by name; AMD's operations (`ibs_op`), Arm's (`arm_spe_0`). Whether they can be
// opened, MemorySampler::unavailable_reason tells.
MemoryEvents memory_events(const EventFiles& files = {}, const EventByName& by_name = event_by_name);

}  // namespace terrace::observe
