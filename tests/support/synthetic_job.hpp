// A job that never ran: journals with known contents, written through the journal and the records' own encoder,
// for tests of whatever reads them. The program has eight objects and four phases on a machine with a small fast
// and a large slow memory; its times follow the design's time law, so that what a report says of it can be
// checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "profile/records.hpp"

namespace terrace::test {

struct SyntheticObject {
  const char* name;
  observe::ObjectKind kind;
  std::uint64_t size;
  double reads[4];  // how often each phase reads it whole
  double writes[4];
  bool dependent;  // accessed by chasing pointers: latency is exposed
};

inline constexpr std::uint64_t k_synthetic_chunk = 256 << 10;
inline constexpr std::uint32_t k_synthetic_iterations = 6;
inline constexpr const char* k_synthetic_phases[4] = {"smooth", "residual", "restrict", "exchange"};
const std::vector<SyntheticObject>& synthetic_objects();

// 16 GB/s and 86 ns against half of the bandwidth and twice the latency.
machine::Machine synthetic_machine();

// An iteration's counters with every object in the slow memory but those whose index is in `fast`.
observe::Iteration synthetic_iteration(std::uint32_t number, bool exact, const std::vector<std::size_t>& fast);

struct SyntheticOptions {
  std::uint32_t process = 4000;
  bool ends = true;         // false: as if the process had been killed in its last iteration
  bool plans = true;        // false: a recording, nothing moved
  std::int32_t rank = -1;   // in an MPI job; -1: none
  std::uint32_t ranks = 0;  // of the MPI job
};

// Writes one process's journal.
void write_synthetic_journal(const std::string& path, const SyntheticOptions& options = {});

}  // namespace terrace::test
