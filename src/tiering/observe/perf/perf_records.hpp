// SPDX-License-Identifier: Apache-2.0
// Decodes the records of a perf ring (perf_event_open(2), "MMAP layout"), for the memory sampler and the function
// probes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "observe/perf/perf_ring.hpp"

namespace terrace::observe {

// The fields of a sample; 0 or empty where they were not requested.
struct SampleFields {
  std::uint64_t ip = 0;
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t address = 0;
  std::uint64_t period = 0;
  std::uint64_t weight = 0;  // cycles
  std::uint64_t data_source = 0;
  std::span<const std::byte> raw;
};

// The fields that read_sample can decode (perf_event_attr.sample_type). The last is
// PERF_SAMPLE_WEIGHT_STRUCT, which older headers lack.
inline constexpr std::uint64_t k_readable_fields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
    PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR |
    1ULL << 24U;

// Decodes the body of a sample with the requested fields (perf_event_attr.sample_type). Returns nothing where it
// is too short, or a field is not in k_readable_fields.
std::optional<SampleFields> read_sample(std::span<const std::byte> body, std::uint64_t sample_type) noexcept;

// Returns the number of lost samples that a PERF_RECORD_LOST or _LOST_SAMPLES reports; 0 for other records.
std::uint64_t lost_samples(const PerfRecord& record) noexcept;

// PERF_RECORD_AUX: new data in the AUX buffer.
struct AuxRecord {
  std::uint64_t offset = 0, size = 0;
  bool truncated = false;  // the buffer was full, or was disabled during an access
  bool collided = false;   // accesses were not sampled because another sample was in flight
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
};
// Decodes an AUX record, with thread and time from its trailer (sample_id_all) where they were requested.
std::optional<AuxRecord> read_aux_record(const PerfRecord& record, std::uint64_t sample_type) noexcept;

}  // namespace terrace::observe
