// What the records of a ring say (perf_event_open(2), "MMAP layout").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "observe/perf/perf_ring.hpp"

namespace terrace::observe {

// The fields of a sample; 0 or empty where it was not asked for.
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

// What may be asked for (perf_event_attr.sample_type): all of these can be read. The last is
// PERF_SAMPLE_WEIGHT_STRUCT, which older headers lack.
inline constexpr std::uint64_t k_readable_fields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
    PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR |
    1ULL << 24U;

// A sample's body by what was asked for (perf_event_attr.sample_type). Nothing where it is too short, or where
// something was asked for that cannot be read.
std::optional<SampleFields> read_sample(std::span<const std::byte> body, std::uint64_t sample_type) noexcept;

// How many samples were lost, of a record of this type; 0 for others.
std::uint64_t lost_samples(const PerfRecord& record) noexcept;

// PERF_RECORD_AUX: what was written to the buffer beside the ring.
struct BesideRecord {
  std::uint64_t offset = 0, size = 0;
  bool truncated = false;  // it was full, or switched off amid an access
  bool collided = false;   // accesses were not sampled because another one was in flight
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
};
// With what the kernel puts at the end of such records (sample_id_all) where thread and time were asked for.
std::optional<BesideRecord> read_beside(const PerfRecord& record, std::uint64_t sample_type) noexcept;

}  // namespace terrace::observe
