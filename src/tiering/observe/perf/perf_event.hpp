// An event of the processor that samples accesses to memory, as numbers for perf_event_open(2): the launcher finds
// them (perf_events.hpp), the library inside the program opens them (memory_sampler.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "core/blob.hpp"

namespace terrace::observe {

// How the kernel hands over what it knows of an access.
enum class AccessFormat : std::uint8_t {
  record,  // in the fields of the sample: Intel, and AMD's where the kernel translates
  ibs_op,  // AMD's registers behind the sample, for what the fields do not say
  spe      // Arm's packets in a buffer beside the ring
};

struct PerfEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  std::uint8_t precise = 0;  // at most so precise; less where the kernel refuses
  std::uint64_t sample_type = 0;
  std::uint64_t period = 0;
  AccessFormat format = AccessFormat::record;
  bool has_leader = false;  // Intel's loads since Sapphire Rapids count in a group behind this event
  std::uint64_t leader_config = 0;
  // Events of one choice complement each other, loads and stores; those of the next are for where none of it can
  // be had, and count the same accesses again.
  std::uint8_t choice = 0;
  std::string name;
  std::string misses;            // what it does not see, for the user
  std::uint32_t breakpoint = 0;  // HW_BREAKPOINT_X of linux/hw_breakpoint.h, where the type is a breakpoint; made
                                 // where it is opened

  void to_blob(BlobWriter& blob) const;
  static PerfEvent from_blob(BlobReader& blob);  // throws Error{corrupt}
  bool operator==(const PerfEvent&) const = default;
};

}  // namespace terrace::observe
