// What the kernels of a GPU program do, warp by warp, as a value: allocations, kernels, the CTAs (thread blocks)
// of each, the warps of a CTA, the steps of a warp. It says nothing of time, and nothing of a machine but its
// sectors: who simulates a GPU takes its accesses from here, who runs kernels (gpu_sim/simt) or reads foreign
// traces makes it.
//
// A step is one access to global memory by a warp, or a point where it waits. Between two steps a warp issues
// instructions that touch no global memory: arithmetic, branches, shared memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace terrace::gpu_sim {

inline constexpr std::uint32_t k_lanes = 32;               // of a warp
inline constexpr std::uint32_t k_sector_bytes = 32;        // what DRAM and caches hand out at least
inline constexpr std::uint32_t k_line_bytes = 128;         // four sectors
inline constexpr std::uint32_t k_max_threads = 1024;       // of a CTA
inline constexpr std::uint32_t k_max_lines = 2 * k_lanes;  // of one access: each lane may cross a line's end
inline constexpr std::uint32_t k_max_loads_back = 64;      // a warp has waited for what it loaded before them
inline constexpr std::uint64_t k_max_line = std::uint64_t{1} << 50;  // of a line number: addresses of 57 bits
// Bytes of all allocations of a trace: who simulates keeps something for each of their pages, used or not.
inline constexpr std::uint64_t k_max_allocated = std::uint64_t{64} << 30;

enum class StepKind : std::uint8_t {
  load,
  store,
  atomic,   // done by the L2 cache; who asked for the old value waits for it as for a load
  use,      // of what a load brings: the warp goes on once that is there
  barrier,  // the warp goes on once all warps of its CTA are here, or have ended
};
inline constexpr std::uint8_t k_step_kinds = 5;

// What names in files may be made of, so that a message with one is a line of text. Printable ASCII.
constexpr bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Whether it asks memory for something.
constexpr bool is_access(StepKind kind) { return kind <= StepKind::atomic; }
// Whether a `use` can refer to it.
constexpr bool brings(StepKind kind) { return kind == StepKind::load || kind == StepKind::atomic; }

// The part of a line that a warp asks for: 128-byte line number, and which of its sectors.
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
  std::uint32_t back = 0;    // use: of the warp's last loads and atomics, which one; 1: the last
  StepKind kind = StepKind::load;
  std::uint8_t lanes = 0;  // access: how many lanes take part
  std::uint8_t lines = 0;  // access: how many line parts, in the order of the lanes that need them first
};

struct WarpSteps {
  std::uint32_t first_step = 0;
  std::uint32_t first_line = 0;
  std::uint32_t steps = 0;
  std::uint32_t after = 0;  // instructions behind the last step
};

// One CTA. Kept from one to the next, so that its memory is.
struct Cta {
  std::vector<WarpSteps> warps;
  std::vector<Step> steps;
  std::vector<LinePart> lines;

  void clear() {
    warps.clear();
    steps.clear();
    lines.clear();
  }
  // Of all its warps: what a GPU issues for it.
  [[nodiscard]] std::uint64_t instructions() const {
    std::uint64_t count = 0;
    for (const auto& step : steps) count += step.before + (step.kind == StepKind::use ? 0U : 1U);
    for (const auto& warp : warps) count += warp.after;
    return count;
  }
};

struct Allocation {
  std::string name;
  std::uint64_t address = 0;  // a multiple of the largest page that matters here, 2 MiB or the allocation's own
  std::uint64_t bytes = 0;
};

struct Kernel {
  std::string name;
  std::uint32_t ctas = 0;
  std::uint32_t threads = 0;       // of a CTA
  std::uint32_t registers = 0;     // of a thread
  std::uint32_t shared_bytes = 0;  // of a CTA
  [[nodiscard]] std::uint32_t warps() const { return (threads + k_lanes - 1) / k_lanes; }
};

// In the program's order. The CTAs of a kernel follow it.
using TraceEvent = std::variant<Allocation, Kernel>;

// Where a simulator gets its work from.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  // The next allocation or kernel; false at the end. CTAs that were not asked for are passed over.
  virtual bool next(TraceEvent& event) = 0;
  // The next CTA of the kernel at hand, in the order of their numbers; false behind the last.
  virtual bool next_cta(Cta& cta) = 0;
};

// Where what runs kernels puts it.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void add(const Allocation& allocation) = 0;
  virtual void begin(const Kernel& kernel) = 0;
  virtual void add(const Cta& cta) = 0;
};

}  // namespace terrace::gpu_sim
