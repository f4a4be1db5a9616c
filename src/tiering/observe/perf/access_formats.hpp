// SPDX-License-Identifier: Apache-2.0
// Decodes the description of a sampled access: the kernel's data-source word, and AMD's IBS registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "observe/perf/memory_sample.hpp"

namespace terrace::observe {

// Decodes the word of PERF_SAMPLE_DATA_SRC (perf_event_open(2), perf_mem_data_src). Sets level, kind and TLB miss.
// Returns false, and sets nothing, where it is neither a load nor a store.
bool read_data_source(std::uint64_t word, MemorySample& sample) noexcept;

// Decodes PERF_SAMPLE_RAW of AMD's IBS op: a word of capabilities, then the registers from IbsOpCtl on, as the
// Processor Programming References list them (MSRs C001_1033 and following). Returns false, and sets nothing,
// where the operation was no access, its address is invalid, or bytes are missing.
bool read_ibs_op(std::span<const std::byte> raw, MemorySample& sample) noexcept;

}  // namespace terrace::observe
