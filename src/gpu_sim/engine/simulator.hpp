// A run of a trace on a GPU, in virtual time: kernels one after the other, their CTAs on SMs as these have room,
// pages where a placement put them first and where a policy moves them.
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
#include "gpu_sim/engine/page_decider.hpp"
#include "gpu_sim/engine/page_mover.hpp"
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

// Bytes of each memory's channels so far, at a time.
struct Traffic {
  Cycle at = 0;
  std::vector<std::uint64_t> demand;  // by the GPU's accesses
  std::vector<std::uint64_t> moves;
};
// Between two of them, but for the last, at the end: as often as the paper samples bandwidths.
inline constexpr Cycle k_traffic_cycles = 10'000;

// The whole run, and what it is made of.
struct RunCounts {
  Cycle cycles = 0;
  std::uint64_t events = 0;
  std::vector<KernelTime> kernels;
  std::vector<ProcessorCounts> processors;
  std::vector<SliceCounts> slices;
  std::vector<DramCounts> channels;
  std::vector<std::uint32_t> memory_of_channel;
  CamatLevels camat;
  // Where they are wanted: each adds up to the whole. The last of the kernels' is what happens after them.
  std::vector<CamatPart> camat_by_kernel;
  std::vector<CamatPart> camat_over_time;
  std::vector<Traffic> traffic;  // over time, to the end of the last kernel
  std::vector<Page> pages;
  std::vector<std::uint64_t> page_bytes;  // of DRAM, by the GPU's accesses
  MoverCounts mover;
  FaultCounts faults;
  std::uint64_t samples = 0;
  std::uint64_t placed_pages = 0;   // in the GPU's own memory from the beginning
  std::uint64_t no_room_pages = 0;  // that were to be, and are not
  std::uint64_t walks = 0;
};

class Simulator final : public ProcessorListener, public MoverListener {
 public:
  // All outlive it. `capacity`: bytes of each memory that pages may take.
  Simulator(const machine::Gpu& gpu, TraceSource& trace, PageDecider& decider,
            std::vector<std::uint64_t> capacity);
  // To the end of the trace. Throws what the trace does, and Error{invalid} for a kernel that no SM has room for.
  RunCounts run(const CamatWanted& wanted = {});

 private:
  void asked(std::uint32_t page, bool write) override;
  void cta_ended(std::uint32_t processor) override;
  void stop_all() override;
  void go_on_all() override;
  void moved(std::uint32_t page) override;
  void stayed(std::uint32_t page) override { decider_.stayed(page); }

  // To the next kernel, which begins then; false at the end of the trace.
  bool next_kernel();
  void begin_kernel();
  bool start_cta(std::uint32_t processor);
  void handle(const Event& event);
  void answered(std::uint32_t number);
  void add_pages(const Allocation& allocation);
  void look_at_traffic();
  void handle_faults();
  void sample(std::uint32_t page, bool write);
  void end_stretches();
  [[nodiscard]] Traffic traffic_now() const;
  void note_traffic();
  CamatLevels camat(Cycle at);
  RunCounts counts();

  const machine::Gpu& gpu_;
  TraceSource& trace_;
  PageDecider& decider_;
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
  bool kernel_asked_ = false;  // its event is on its way
  bool ended_ = false;
  std::vector<std::uint64_t> bytes_before_;  // by memory, at the last look
  std::uint64_t instructions_before_ = 0;
  std::uint32_t sample_period_;
  std::uint32_t since_sampled_ = 0;  // accesses
  std::uint64_t samples_ = 0;
  std::uint64_t placed_pages_ = 0;
  std::uint64_t no_room_pages_ = 0;
  std::optional<std::uint32_t> sample_frame_;  // where they are written down, over and over
  std::vector<KernelTime> kernels_;
  std::vector<Traffic> traffic_;
  CamatWanted wanted_;
  Cycle stretch_ends_ = ~Cycle{0};
  CamatParts by_kernel_;
  CamatParts over_time_;
};

}  // namespace terrace::gpu_sim
