// SPDX-License-Identifier: Apache-2.0
// Reads and writes machine files: TOML that people read and write; docs/reference/machine-file.md documents every
// key. A file that violates the schema is refused with one line that names file, line, key, what is wrong and what
// to do. Used by the command line, the Python package and measurements.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

// A measured quantity: median and range (`spread`) of its windows, short timed repetitions, and the best: the
// least time or the highest rate. The machine's figures are derived from the best, because other load can only
// worsen a window.
struct Spread {
  double median = 0;
  double spread = 0;
  double best = 0;
};

// Measured time of an initiator: "access", "cycle", "l2.hit", "library.exp".
struct MeasuredTime {
  InitiatorId initiator = 0;
  std::string figure;
  Spread seconds;
};

// Measured bandwidth of a place with `threads` cores and one kernel: "copy", "scale", "add", "triad" (counted as
// by STREAM), "read", "write", or "memcpy".
struct MeasuredBandwidth {
  InitiatorId initiator = 0;
  PlaceId place = 0;
  std::uint32_t threads = 1;
  std::string kernel;
  Spread bytes_per_second;
};

// Measured latency of a pointer chase over a place, with "huge" or "small" pages, alone or while other cores read
// it.
struct MeasuredLatency {
  InitiatorId initiator = 0;
  PlaceId place = 0;
  std::string pages;
  Spread seconds;
  double load = 0;  // bytes/s that other cores read concurrently
};

// Measured time of a copier that works concurrently with a running thread, for a chunk of this size in "huge" or
// "small" pages: "move", the mover's total time; "copy", of copying the bytes alone; "stall", lost by the running
// thread; "trap", of an access to the chunk in flight, beyond the wait.
struct MeasuredCopier {
  std::string copier;
  std::string what;
  std::string pages;
  Bytes size;
  Spread seconds;
};

// The single measurements behind a machine file: [measured].
struct Measurement {
  std::string date;       // ISO 8601, UTC
  std::string processor;  // model name reported by the system
  std::uint32_t repetitions = 0;
  std::vector<std::string> notes;  // what could not be measured, and what is used instead
  std::vector<MeasuredTime> times;
  std::vector<MeasuredBandwidth> bandwidths;
  std::vector<MeasuredLatency> latencies;
  std::vector<MeasuredCopier> copiers;
};

struct MachineFile {
  Machine machine;
  std::optional<Measurement> measured;
};

// Parse a machine file. Throw Error{invalid}, "FILE:LINE: KEY: ..."; those that read a file throw Error{not_found}
// or Error{failed} if it cannot be read.
MachineFile parse_machine_file(std::string_view text, const std::string& file_name);
MachineFile load_machine_file(const std::filesystem::path& path);
// Return the machine without its single measurements.
inline Machine parse_machine(std::string_view text, const std::string& file_name) {
  return parse_machine_file(text, file_name).machine;
}
inline Machine read_machine_file(const std::filesystem::path& path) { return load_machine_file(path).machine; }

// Formats a machine file that parses back to the same machine, to the last digit.
std::string format_machine_file(const Machine& machine, const Measurement* measured = nullptr);
// Writes a machine file atomically. Throws Error{failed}.
void write_machine_file(const std::filesystem::path& path, const Machine& machine,
                        const Measurement* measured = nullptr);

// Finds a machine file by path (anything with a '/' or ending in ".toml") or by the name of a shipped one. Names
// are searched in the folders of $TERRACE_MACHINES (separated by ':'), in ../share/terrace/machines next to the
// executable's folder, in the source tree, and as a file in the current folder. Throws Error{not_found} with the
// nearest name and all shipped machines.
std::filesystem::path find_machine(const std::string& name);
// Returns the machine with another of its copiers, or the ideal one, in effect. Throws Error{not_found} with the
// known copiers.
Machine with_copier(const Machine& machine, const std::string& name);
// Loads a machine by path or name (find_machine()), optionally with @COPIER to select a copier other than the
// first: "unimem-lat4@ideal". Throws Error{not_found} for an unknown machine or copier.
MachineFile load_machine(const std::string& name);
// Returns the unique names that find_machine() knows, sorted.
std::vector<std::string> shipped_machines();

}  // namespace terrace::machine
