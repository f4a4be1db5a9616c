// SPDX-License-Identifier: Apache-2.0
// Defines the trace of a GPU program, warp by warp: allocations, kernels, the CTAs (thread blocks) of each, the
// warps of a CTA, the steps of a warp. It contains no times, and nothing of a machine but its sectors. The SIMT
// emulator (gpu_sim/simt) and readers of foreign traces produce traces; the simulator (gpu_sim/engine) consumes
// them.
//
// A step is one access of a warp to global memory, or a point where it waits. Between two steps a warp issues
// instructions without global memory: arithmetic, branches, shared memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace terrace::gpu_sim {

inline constexpr std::uint32_t k_lanes = 32;               // per warp
inline constexpr std::uint32_t k_sector_bytes = 32;        // smallest transfer of DRAM and caches
inline constexpr std::uint32_t k_line_bytes = 128;         // four sectors
inline constexpr std::uint32_t k_max_threads = 1024;       // per CTA
inline constexpr std::uint32_t k_max_lines = 2 * k_lanes;  // per access: each lane may cross a line boundary
inline constexpr std::uint32_t k_max_loads_back = 64;      // a warp has waited for all loads before these
inline constexpr std::uint64_t k_max_line = std::uint64_t{1} << 50;  // of a line number: addresses of 57 bits
// Limit of the bytes of all allocations of a trace, because a simulator keeps state for each page, used or not.
inline constexpr std::uint64_t k_max_allocated = std::uint64_t{64} << 30;

enum class StepKind : std::uint8_t {
  load,
  store,
  atomic,   // executed by the L2 cache; a warp that uses the old value waits for it as for a load
  use,      // of a loaded value: the warp waits until it is available
  barrier,  // the warp waits until all warps of its CTA are here, or have ended
};
inline constexpr std::uint8_t k_step_kinds = 5;

// Returns whether `text` can be a name in a file: printable ASCII, so that a message with it is one line.
constexpr bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Returns whether the step accesses global memory.
constexpr bool is_access(StepKind kind) { return kind <= StepKind::atomic; }
// Returns whether the step returns a value that a `use` can refer to.
constexpr bool returns_value(StepKind kind) { return kind == StepKind::load || kind == StepKind::atomic; }

// The part of a line that a warp requests: 128-byte line number and a mask of sectors.
class LinePart {
 public:
  LinePart() = default;
  constexpr LinePart(std::uint64_t line, std::uint32_t sectors) : bits_((line << 4) | sectors) {}
  [[nodiscard]] constexpr std::uint64_t line() const { return bits_ >> 4; }
  [[nodiscard]] constexpr std::uint32_t sectors() const { return static_cast<std::uint32_t>(bits_ & 15); }
  [[nodiscard]] constexpr std::uint64_t address() const { return line() * k_line_bytes; }
  friend constexpr bool operator==(LinePart, LinePart) = default;

 private:
  std::uint64_t bits_ = 0;
};

struct Step {
  std::uint32_t before = 0;  // warp instructions without global memory that are issued first
  std::uint32_t back = 0;    // use: distance to the load or atomic, counted backwards; 1: the last one
  StepKind kind = StepKind::load;
  std::uint8_t lanes = 0;  // access: number of participating lanes
  std::uint8_t lines = 0;  // access: number of line parts, in the order of the lanes that need them first
};

struct WarpSteps {
  std::uint32_t first_step = 0;
  std::uint32_t first_line = 0;
  std::uint32_t steps = 0;
  std::uint32_t after = 0;  // instructions after the last step
};

// One CTA. Reused from one CTA to the next, so that its buffers are.
struct Cta {
  std::vector<WarpSteps> warps;
  std::vector<Step> steps;
  std::vector<LinePart> lines;

  void clear() {
    warps.clear();
    steps.clear();
    lines.clear();
  }
  // Returns the number of warp instructions that a GPU issues for all of its warps.
  [[nodiscard]] std::uint64_t instructions() const {
    std::uint64_t count = 0;
    for (const auto& step : steps) count += step.before + (step.kind == StepKind::use ? 0U : 1U);
    for (const auto& warp : warps) count += warp.after;
    return count;
  }
};

struct Allocation {
  std::string name;
  std::uint64_t address = 0;  // a multiple of the largest relevant page size, 2 MiB or the allocation's own
  std::uint64_t bytes = 0;
};

struct Kernel {
  std::string name;
  std::uint32_t ctas = 0;
  std::uint32_t threads = 0;       // per CTA
  std::uint32_t registers = 0;     // per thread
  std::uint32_t shared_bytes = 0;  // per CTA
  [[nodiscard]] std::uint32_t warps() const { return (threads + k_lanes - 1) / k_lanes; }
};

// Events in program order. The CTAs of a kernel follow it.
using TraceEvent = std::variant<Allocation, Kernel>;

// Source of a simulator's work.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  // Returns the next allocation or kernel; false at the end. CTAs that were not requested are skipped.
  virtual bool next(TraceEvent& event) = 0;
  // Returns the next CTA of the current kernel, in the order of their numbers; false after the last.
  virtual bool next_cta(Cta& cta) = 0;
};

// Destination of the traces that kernels produce.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void add(const Allocation& allocation) = 0;
  virtual void begin(const Kernel& kernel) = 0;
  virtual void add(const Cta& cta) = 0;
};

// Adds the parts that `bytes` bytes at `address` need to those from position `first` on.
inline void coalesce(std::vector<LinePart>& parts, std::size_t first, std::uint64_t address, std::uint32_t bytes) {
  constexpr auto k_sectors = k_line_bytes / k_sector_bytes;
  const auto end = address + bytes - 1;
  for (auto sector = address / k_sector_bytes; sector <= end / k_sector_bytes; ++sector) {
    const auto line = sector / k_sectors;
    const auto bit = 1U << (sector % k_sectors);
    auto at = first;
    while (at < parts.size() && parts[at].line() != line) ++at;
    if (at == parts.size())
      parts.emplace_back(line, bit);
    else
      parts[at] = {line, parts[at].sectors() | bit};
  }
}

}  // namespace terrace::gpu_sim
