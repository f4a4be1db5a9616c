// SPDX-License-Identifier: Apache-2.0
// Describes a perf event that samples memory accesses, as arguments of perf_event_open(2). The launcher finds the
// events (names/memory_events.hpp), the runtime in the program opens them (memory_sampler.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "core/blob.hpp"

namespace terrace::observe {

// How the kernel delivers the description of an access.
enum class AccessFormat : std::uint8_t {
  record,  // in the fields of the sample: Intel, and AMD where the kernel translates
  ibs_op,  // in addition, AMD's registers in the raw data of the sample
  spe      // Arm's packets in the AUX buffer
};

struct PerfEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  std::uint8_t precise = 0;  // maximum precise_ip; lowered where the kernel refuses
  std::uint64_t sample_type = 0;
  std::uint64_t period = 0;
  AccessFormat format = AccessFormat::record;
  bool has_leader = false;  // Intel's loads since Sapphire Rapids need this event as group leader
  std::uint64_t leader_config = 0;
  // Events of one choice complement each other (loads and stores). Those of the next choice count the same
  // accesses and are used where none of this choice is available.
  std::uint8_t choice = 0;
  std::string name;
  std::string blind_spots;       // what it does not observe, for the user
  std::uint32_t breakpoint = 0;  // HW_BREAKPOINT_X of linux/hw_breakpoint.h for a breakpoint; not serialised

  void to_blob(BlobWriter& blob) const;
  static PerfEvent from_blob(BlobReader& blob);  // throws Error{corrupt}
  bool operator==(const PerfEvent&) const = default;
};

}  // namespace terrace::observe
