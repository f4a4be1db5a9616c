// What processors and the kernel say of one access: the kernel's own word for it, and AMD's registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "observe/perf/memory_sample.hpp"

namespace terrace::observe {

// The word of PERF_SAMPLE_DATA_SRC (perf_event_open(2), perf_mem_data_src). Fills level, kind and the miss of the
// translation. False where it says neither load nor store, and then fills nothing.
bool read_data_source(std::uint64_t word, MemorySample& sample) noexcept;

// PERF_SAMPLE_RAW of AMD's IBS op: a word of capabilities, then the registers from IbsOpCtl on, as the Processor
// Programming References list them (MSRs C001_1033 and following). False where the operation was no access, or its
// address is not valid, or bytes are missing; then fills nothing.
bool read_ibs_op(std::span<const std::byte> raw, MemorySample& sample) noexcept;

}  // namespace terrace::observe
