// SPDX-License-Identifier: Apache-2.0
// Runs a GPU trace: starts kernels and CTAs (thread blocks), dispatches events to SMs, memory and page mover, and
// counts. Called by `terrace lab gpu` and the GPU experiments through the Python module.
#include "gpu_sim/engine/simulator.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/error.hpp"

namespace terrace::gpu_sim {

namespace {

// Throws for a kernel of which no CTA fits on an SM.
[[noreturn]] void throw_too_large(const Kernel& kernel, const machine::Gpu& gpu) {
  struct Need {
    const char* what;
    std::uint64_t needed, there;
  };
  for (const auto& [what, needed, there] :
       {Need{"warps", kernel.warps(), gpu.warps},
        Need{"registers", std::uint64_t{kernel.registers} * kernel.warps() * k_lanes, gpu.registers},
        Need{"bytes of shared memory", kernel.shared_bytes, gpu.shared_bytes}})
    if (needed > there)
      throw Error(Code::invalid, "a CTA of the kernel " + kernel.name + " needs " + std::to_string(needed) + " " +
                                     what + ", more than an SM has, " + std::to_string(there) +
                                     "; launch smaller CTAs, or name a machine with a larger GPU by --machine");
  throw Error(
      Code::invalid,
      "the kernel " + kernel.name +
          " needs more than an SM has; launch smaller CTAs, or name a machine with a larger GPU by --machine");
}

}  // namespace

Simulator::Simulator(const machine::Gpu& gpu, TraceSource& trace, PagePlacement& placement,
                     std::vector<std::uint64_t> capacity)
    : gpu_(gpu),
      trace_(trace),
      placement_(placement),
      capacity_(std::move(capacity)),
      memory_(gpu, events_),
      faults_(gpu, events_),
      pages_(gpu, events_, faults_),
      mover_(
          gpu, events_, memory_, pages_, placement,
          [this](bool is_stalled) {
            for (auto& processor : processors_) processor->set_stalled(is_stalled);
          },
          capacity_),
      bytes_before_(gpu.memories.size()),
      sample_period_(placement.sample_period()) {
  for (std::uint32_t i = 0; i < gpu.processors; ++i)
    processors_.push_back(std::make_unique<Processor>(gpu, i, events_, memory_, pages_, *this));
}

RunCounts Simulator::run(const CamatOptions& options) {
  options_ = options;
  if (options_.every != 0) interval_end_ = options_.every;
  if (placement_.interval() != 0) events_.schedule(placement_.interval(), {EventKind::policy, 0, 0});
  ended_ = !next_kernel();
  for (Event event; events_.next(event);) {
    if (events_.now() >= interval_end_) end_camat_intervals();
    if (!ended_ && events_.now() >= traffic_.size() * k_traffic_cycles) record_traffic();
    handle(event);
  }
  if (!ended_)
    throw Error(Code::failed,
                "the kernel " + kernel_.name +
                    " is deadlocked: no event is pending; check that all its warps reach each barrier");
  return counts();
}

bool Simulator::next_kernel() {
  for (TraceEvent event; trace_.next(event);) {
    if (const auto* allocation = std::get_if<Allocation>(&event)) {
      add_pages(*allocation);
      continue;
    }
    kernel_ = std::get<Kernel>(std::move(event));
    events_.schedule(events_.now() + gpu_.launch_cycles, {EventKind::kernel, 0, 0});
    is_kernel_scheduled_ = true;
    return true;
  }
  return false;
}

// Adds an allocation's pages. Pages without capacity in the GPU's own memory go to far memory.
void Simulator::add_pages(const Allocation& allocation) {
  const auto count = (allocation.bytes + gpu_.page_bytes - 1) / gpu_.page_bytes + 1;
  auto memories = placement_.initial_memories(allocation, count);
  // The placement's list is repeated as needed.
  for (const auto given = memories.size(); memories.size() < count;)
    memories.push_back(memories[memories.size() - given]);
  const auto wanted = memories;
  auto used = pages_.used_bytes(0);
  for (auto& memory : memories) {
    if (memory != 0) continue;
    used += gpu_.page_bytes;
    if (used > capacity_[0]) memory = 1;
  }
  const auto added = pages_.add(allocation, memories, !placement_.faults_on_far_access());
  placement_.on_pages_added(added.first, added.count, pages_);
  for (std::uint32_t i = 0; i < added.count; ++i) {
    if (wanted[i] != 0) continue;
    ++(pages_[added.first + i].memory == 0 ? placed_pages_ : no_room_pages_);
  }
}

void Simulator::begin_kernel() {
  is_kernel_scheduled_ = false;
  kernels_.push_back({kernel_.name, events_.now(), 0});
  for (auto& processor : processors_)
    if (processor->begin_kernel(kernel_) == 0) throw_too_large(kernel_, gpu_);
  more_ctas_ = true;
  // Round-robin, starting after the SM that was last in turn, as in GPGPU-Sim, so that small kernels spread.
  const auto count = static_cast<std::uint32_t>(processors_.size());
  for (std::uint32_t refused = 0; refused != count; next_processor_ = (next_processor_ + 1) % count)
    refused = start_cta(next_processor_) ? 0 : refused + 1;
}

bool Simulator::start_cta(std::uint32_t processor) {
  if (!more_ctas_ || !processors_[processor]->has_free_slot()) return false;
  more_ctas_ = trace_.next_cta(cta_);
  if (!more_ctas_) return false;
  ++running_;
  processors_[processor]->start_cta(cta_);
  return true;
}

void Simulator::on_cta_end(std::uint32_t processor) {
  --running_;
  start_cta(processor);
}

void Simulator::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::processor:
      processors_[event.subject]->on_tick();
      break;
    case EventKind::access_done:
      processors_[event.subject]->on_access_done(event.detail);
      break;
    case EventKind::translated:
      processors_[event.subject]->on_translated(event.detail);
      break;
    case EventKind::answer:
      on_answer(event.detail);
      break;
    case EventKind::copy:
      mover_.on_line_crossed(event.detail);
      break;
    case EventKind::resume:
      mover_.on_resume();
      break;
    case EventKind::policy:
      run_placement_policy();
      break;
    case EventKind::moves:
      mover_.start_moves();
      break;
    case EventKind::faults:
      handle_faults();
      break;
    case EventKind::kernel:
      begin_kernel();
      break;
    case EventKind::request:
    case EventKind::fetch:
    case EventKind::channel:
    case EventKind::transferred:
      if (const auto line = memory_.handle(event)) {
        if (line->written)
          mover_.on_line_written(line->number);
        else
          mover_.on_line_read(line->number);
      }
      break;
  }
  if (ended_ || is_kernel_scheduled_ || running_ != 0 || more_ctas_) return;
  if (!std::all_of(processors_.begin(), processors_.end(),
                   [](const auto& processor) { return processor->is_idle(); }))
    return;
  kernels_.back().end = events_.now();
  if (options_.by_kernel) by_kernel_.end_interval(kernel_.name, events_.now(), camat(events_.now()));
  if (next_kernel()) return;
  record_traffic();
  traffic_.push_back(traffic_now());
  ended_ = true;
  memory_.write_back_all();
}

void Simulator::on_answer(std::uint32_t number) {
  const auto request = memory_.take_answer(number);
  processors_[request.processor]->on_answer(request);
  if (const auto& page = pages_[request.page]; page.moving && page.in_flight == 0) mover_.on_drained(request.page);
}

void Simulator::on_request(std::uint32_t page, bool write) {
  if (sample_period_ != 0 && ++since_sampled_ == sample_period_) sample(page, write);
  if (!pages_.count_access(page, placement_.touch_threshold())) return;
  placement_.on_touched(page, pages_, mover_);
  mover_.start_moves();
}

// Calls the placement's decide() at the end of an interval, with what happened in it.
void Simulator::run_placement_policy() {
  if (ended_ || events_.is_empty()) return;
  PagePlacement::IntervalEvents seen;
  for (std::uint32_t m = 0; m < bytes_before_.size(); ++m) {
    const auto now = memory_.demand_bytes(m);
    seen.bytes.push_back(now - std::exchange(bytes_before_[m], now));
  }
  std::uint64_t instructions = 0;
  for (const auto& processor : processors_) instructions += processor->counts().instructions;
  seen.instructions = instructions - std::exchange(instructions_before_, instructions);
  seen.now = events_.now();
  seen.walked = pages_.take_walked();
  placement_.decide(seen, pages_, mover_);
  mover_.start_moves();
  events_.schedule(events_.now() + placement_.interval(), {EventKind::policy, 0, 0});
}

void Simulator::handle_faults() {
  const auto batch = faults_.take_batch();
  placement_.on_faults(batch, events_.now(), mover_);
  mover_.resolve_faults(batch);
}

// Passes every n-th access to the placement as a sample of eight bytes; a full line of them is written to memory.
void Simulator::sample(std::uint32_t page, bool write) {
  since_sampled_ = 0;
  placement_.on_sample(page, write);
  constexpr auto k_of_line = k_line_bytes / 8;
  if (++samples_ % k_of_line != 0) return;
  if (!sample_frame_) sample_frame_ = pages_.take_frame(1);
  const auto offset = samples_ / k_of_line * k_line_bytes % gpu_.page_bytes;
  memory_.write_sample(1, *sample_frame_ * gpu_.page_bytes + offset);
}

Traffic Simulator::traffic_now() const {
  Traffic now;
  now.at = events_.now();
  for (std::uint32_t m = 0; m < gpu_.memories.size(); ++m) {
    now.demand.push_back(memory_.demand_bytes(m));
    now.moves.push_back(memory_.move_bytes(m));
  }
  return now;
}

// Repeats the last values for sampling times since which nothing has happened.
void Simulator::record_traffic() {
  auto now = traffic_now();
  for (; traffic_.size() * k_traffic_cycles <= events_.now(); traffic_.push_back(now))
    now.at = traffic_.size() * k_traffic_cycles;
}

// Ends intervals before anything happens in the cycle with which the next one begins.
void Simulator::end_camat_intervals() {
  for (; interval_end_ <= events_.now(); interval_end_ += options_.every)
    over_time_.end_interval("", interval_end_, camat(interval_end_));
}

CamatLevels Simulator::camat(Cycle at) {
  CamatLevels levels;
  for (auto& processor : processors_) {
    levels.l1_by_warp.push_back(processor->warp_camat(at));
    levels.l1_by_part.push_back(processor->part_camat(at));
  }
  for (std::uint32_t channel = 0; channel < memory_.channels(); ++channel) {
    levels.l2.push_back(memory_.slice_camat(channel, at));
    levels.dram.push_back(memory_.dram_camat(channel, at));
  }
  return levels;
}

RunCounts Simulator::counts() {
  RunCounts counts;
  counts.cycles = kernels_.empty() ? 0 : kernels_.back().end;
  counts.events = events_.num_processed();
  counts.kernels = kernels_;
  for (const auto& processor : processors_) counts.processors.push_back(processor->counts());
  for (std::uint32_t channel = 0; channel < memory_.channels(); ++channel) {
    counts.slices.push_back(memory_.slice(channel));
    counts.channels.push_back(memory_.dram(channel));
    counts.memory_of_channel.push_back(memory_.memory_of(channel));
  }
  const auto end = events_.now();
  counts.camat = camat(end);
  if (options_.by_kernel) by_kernel_.end_rest(end, counts.camat);
  if (options_.every != 0) over_time_.end_rest(end, counts.camat);
  counts.camat_by_kernel = by_kernel_.take();
  counts.camat_over_time = over_time_.take();
  for (std::uint32_t page = 0; page < pages_.size(); ++page) {
    counts.pages.push_back(pages_[page]);
    counts.page_bytes.push_back(memory_.page_bytes(page));
  }
  counts.traffic = traffic_;
  counts.mover = mover_.counts();
  counts.faults = faults_.counts();
  counts.samples = samples_;
  counts.placed_pages = placed_pages_;
  counts.no_room_pages = no_room_pages_;
  counts.walks = pages_.walks();
  return counts;
}

}  // namespace terrace::gpu_sim
