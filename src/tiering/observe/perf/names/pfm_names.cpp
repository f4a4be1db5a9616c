// SPDX-License-Identifier: Apache-2.0
// Looks up event names in libpfm4's tables, which only the launcher contains, for events that sysfs does not list.
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "observe/perf/names/memory_events.hpp"

namespace terrace::observe {

std::optional<PerfEvent> event_by_name(const std::string& name, std::string& why) {
  static const int ready = pfm_initialize();
  const auto refused = [&](int error) {
    why = "libpfm4: " + name + ": " + pfm_strerror(error);
    return std::nullopt;
  };
  if (ready != PFM_SUCCESS) return refused(ready);
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  pfm_perf_encode_arg_t wanted{};
  wanted.size = sizeof wanted;
  wanted.attr = &attributes;
  const int result = pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &wanted);
  if (result != PFM_SUCCESS) return refused(result);
  PerfEvent event;
  event.type = attributes.type;
  event.config = attributes.config;
  event.config1 = attributes.config1;
  event.config2 = attributes.config2;
  event.precise = static_cast<std::uint8_t>(attributes.precise_ip);
  event.name = name;
  return event;
}

}  // namespace terrace::observe
