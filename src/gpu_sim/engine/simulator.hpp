// SPDX-License-Identifier: Apache-2.0
// Simulates the run of a trace on a GPU in virtual time, for `terrace lab gpu` and the GPU experiments (through
// the Python module). Kernels run one after the other, their CTAs on SMs with free slots; pages are where the
// placement puts them first and where it moves them later. Deterministic and single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu_sim/engine/camat_levels.hpp"
#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/memory_side.hpp"
#include "gpu_sim/engine/page_mover.hpp"
#include "gpu_sim/engine/page_placement.hpp"
#include "gpu_sim/engine/page_table.hpp"
#include "gpu_sim/engine/processor.hpp"
#include "gpu_sim/trace/warp_trace.hpp"
#include "machine/gpu.hpp"

namespace terrace::gpu_sim {

struct KernelTime {
  std::string name;
  Cycle begin = 0;
  Cycle end = 0;
};

// Bytes of each memory's channels since the beginning, at a time.
struct Traffic {
  Cycle at = 0;
  std::vector<std::uint64_t> demand;  // caused by the GPU's accesses
  std::vector<std::uint64_t> moves;
};
// Cycles between two samples, except the last, at the end. N. Agarwal et al., "Unlocking bandwidth for GPUs in
// CC-NUMA systems", HPCA 2015, sample bandwidths at this rate.
inline constexpr Cycle k_traffic_cycles = 10'000;

// Counters of the whole run, and their decomposition.
struct RunCounts {
  Cycle cycles = 0;
  std::uint64_t events = 0;
  std::vector<KernelTime> kernels;
  std::vector<ProcessorCounts> processors;
  std::vector<SliceCounts> slices;
  std::vector<DramCounts> channels;
  std::vector<std::uint32_t> memory_of_channel;
  CamatLevels camat;  // counters of C-AMAT (concurrent average memory access time)
  // If requested; each adds up to the whole. The last interval by kernel is what happens after the kernels.
  std::vector<CamatInterval> camat_by_kernel;
  std::vector<CamatInterval> camat_over_time;
  std::vector<Traffic> traffic;  // samples up to the end of the last kernel
  std::vector<Page> pages;
  std::vector<std::uint64_t> page_bytes;  // of DRAM, caused by the GPU's accesses
  MoverCounts mover;
  FaultCounts faults;
  std::uint64_t samples = 0;
  std::uint64_t placed_pages = 0;   // in the GPU's own memory initially
  std::uint64_t no_room_pages = 0;  // intended for it, but without capacity
  std::uint64_t walks = 0;
};

class Simulator final : public ProcessorListener {
 public:
  // All arguments are borrowed. `capacity`: bytes of each memory that pages may take.
  Simulator(const machine::Gpu& gpu, TraceSource& trace, PagePlacement& placement,
            std::vector<std::uint64_t> capacity);
  // Runs to the end of the trace. Throws what the trace throws, and Error{invalid} for a kernel that fits on no
  // SM.
  RunCounts run(const CamatOptions& options = {});

 private:
  void on_request(std::uint32_t page, bool write) override;
  void on_cta_end(std::uint32_t processor) override;

  // Advances to the next kernel and schedules its begin. Returns false at the end of the trace.
  bool next_kernel();
  void begin_kernel();
  bool start_cta(std::uint32_t processor);
  void handle(const Event& event);
  void on_answer(std::uint32_t number);
  void add_pages(const Allocation& allocation);
  void run_placement_policy();
  void handle_faults();
  void sample(std::uint32_t page, bool write);
  void end_camat_intervals();
  [[nodiscard]] Traffic traffic_now() const;
  void record_traffic();
  CamatLevels camat(Cycle at);
  RunCounts counts();

  const machine::Gpu& gpu_;
  TraceSource& trace_;
  PagePlacement& placement_;
  std::vector<std::uint64_t> capacity_;  // by memory
  EventWheel events_;
  MemorySide memory_;
  FaultQueue faults_;
  PageTable pages_;
  PageMover mover_;
  std::vector<std::unique_ptr<Processor>> processors_;
  Kernel kernel_;
  Cta cta_;
  std::uint32_t running_ = 0;  // CTAs of the kernel
  std::uint32_t next_processor_ = 0;
  bool more_ctas_ = false;
  bool is_kernel_scheduled_ = false;  // the begin of the next kernel is scheduled
  bool ended_ = false;
  std::vector<std::uint64_t> bytes_before_;  // by memory, at the last decide()
  std::uint64_t instructions_before_ = 0;
  std::uint32_t sample_period_;
  std::uint32_t since_sampled_ = 0;  // accesses
  std::uint64_t samples_ = 0;
  std::uint64_t placed_pages_ = 0;
  std::uint64_t no_room_pages_ = 0;
  std::optional<std::uint32_t> sample_frame_;  // samples are written here, in a ring
  std::vector<KernelTime> kernels_;
  std::vector<Traffic> traffic_;
  CamatOptions options_;
  Cycle interval_end_ = ~Cycle{0};
  CamatIntervals by_kernel_;
  CamatIntervals over_time_;
};

}  // namespace terrace::gpu_sim
