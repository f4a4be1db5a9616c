// Machine files: TOML that a person can read and write; docs/machine-file.md documents every key. A file that
// breaks the schema is refused with one line that names file, line, key, what is wrong and what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

// A measured quantity: the median of its windows, the largest less the smallest of them, and the best: the least
// time or the highest rate, which the machine's figures are made of because other load only ever worsens it.
struct Spread {
  double median = 0;
  double spread = 0;
  double best = 0;
};

// A time that a figure of an initiator was measured to be: "access", "cycle", "l2.hit", "library.exp".
struct MeasuredTime {
  InitiatorId initiator = 0;
  std::string figure;
  Spread seconds;
};

// How much of a place's bandwidth `threads` cores reach with one kernel: "copy", "scale", "add", "triad" (counted
// as STREAM counts), "read", "write", or "memcpy".
struct MeasuredBandwidth {
  InitiatorId initiator = 0;
  PlaceId place = 0;
  std::uint32_t threads = 1;
  std::string kernel;
  Spread bytes_per_second;
};

// A pointer chase over a place, with one kind of pages, "huge" or "small", alone or while other cores read it.
struct MeasuredLatency {
  InitiatorId initiator = 0;
  PlaceId place = 0;
  std::string pages;
  Spread seconds;
  double load = 0;  // bytes/s that the others read meanwhile
};

// A copier at work beside a running thread, with one kind of pages, "huge" or "small": "move", all that a chunk of
// the size took the mover; "copy", what copying its bytes alone takes; "stall", what the running thread lost for
// it; "trap", what touching it in flight cost beyond the wait.
struct MeasuredCopier {
  std::string copier;
  std::string what;
  std::string pages;
  Bytes size;
  Spread seconds;
};

// Where a measured file's numbers come from: [measured].
struct Measurement {
  std::string date;       // ISO 8601, UTC
  std::string processor;  // as the system calls it
  std::uint32_t repetitions = 0;
  std::vector<std::string> notes;  // what could not be measured, and what stands there instead
  std::vector<MeasuredTime> times;
  std::vector<MeasuredBandwidth> bandwidths;
  std::vector<MeasuredLatency> latencies;
  std::vector<MeasuredCopier> copiers;
};

struct MachineFile {
  Machine machine;
  std::optional<Measurement> measured;
};

// All throw Error{invalid}, "FILE:LINE: KEY: ..."; those that read throw Error{not_found} or Error{failed} when
// the file cannot be read.
MachineFile parse_machine_file(std::string_view text, const std::string& file_name);
MachineFile load_machine_file(const std::filesystem::path& path);
// The machine alone, where nobody asks for the single measurements behind it.
inline Machine parse_machine(std::string_view text, const std::string& file_name) {
  return parse_machine_file(text, file_name).machine;
}
inline Machine read_machine_file(const std::filesystem::path& path) { return load_machine_file(path).machine; }

// The text of a machine file that reads back as the same machine, to the last digit.
std::string format_machine_file(const Machine& machine, const Measurement* measured = nullptr);
// Writes it beside its name first, so that a reader never sees half a file. Throws Error{failed}.
void write_machine_file(const std::filesystem::path& path, const Machine& machine,
                        const Measurement* measured = nullptr);

// A path of a machine file (anything with a '/' or ending in ".toml"), or the name of a shipped one: looked up in
// the folders of $TERRACE_MACHINES (separated by ':'), in ../share/terrace/machines beside the executable, and in
// the source tree; else a file of that name in the current folder. Throws Error{not_found} naming the nearest
// shipped machine and all there are.
std::filesystem::path find_machine(const std::string& name);
// The same machine with the price of another of its copiers, or of the ideal one. Throws Error{not_found} naming
// those that there are.
Machine with_copier(const Machine& machine, const std::string& name);
// A file or a shipped machine, as find_machine() takes it; behind an @ the name of a copier, at whose price its
// data is moved instead of the first one's: "unimem-lat4@ideal". Throws, too, Error{not_found} for a copier that
// it does not have.
MachineFile load_machine(const std::string& name);
// The names that find_machine() knows, sorted, each once.
std::vector<std::string> shipped_machines();

}  // namespace terrace::machine
