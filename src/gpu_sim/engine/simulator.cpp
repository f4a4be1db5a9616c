// A run. See simulator.hpp.
#include "gpu_sim/engine/simulator.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/error.hpp"

namespace terrace::gpu_sim {

namespace {

// A kernel of whose CTAs no SM has room for one.
[[noreturn]] void refuse_large(const Kernel& kernel, const machine::Gpu& gpu) {
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
                                     what + ", more than an SM has, " + std::to_string(there));
  throw Error(Code::invalid, "the kernel " + kernel.name + " needs more than an SM has");
}

}  // namespace

Simulator::Simulator(const machine::Gpu& gpu, TraceSource& trace, PageDecider& decider,
                     std::vector<std::uint64_t> capacity)
    : gpu_(gpu),
      trace_(trace),
      decider_(decider),
      capacity_(std::move(capacity)),
      memory_(gpu, events_),
      faults_(gpu, events_),
      pages_(gpu, events_, faults_),
      mover_(gpu, events_, memory_, pages_, *this, capacity_, !decider.far_faults()),
      bytes_before_(gpu.memories.size()),
      sample_period_(decider.sample_period()) {
  for (std::uint32_t i = 0; i < gpu.processors; ++i)
    processors_.push_back(std::make_unique<Processor>(gpu, i, events_, memory_, pages_, *this));
}

RunCounts Simulator::run(const CamatWanted& wanted) {
  wanted_ = wanted;
  if (wanted_.every != 0) stretch_ends_ = wanted_.every;
  if (decider_.interval() != 0) events_.at(decider_.interval(), {EventKind::policy, 0, 0});
  ended_ = !next_kernel();
  for (Event event; events_.next(event);) {
    if (events_.now() >= stretch_ends_) end_stretches();
    if (!ended_ && events_.now() >= traffic_.size() * k_traffic_cycles) note_traffic();
    handle(event);
  }
  if (!ended_)
    throw Error(Code::failed, "the kernel " + kernel_.name + " stands still: nothing is left to happen");
  return counts();
}

bool Simulator::next_kernel() {
  for (TraceEvent event; trace_.next(event);) {
    if (const auto* allocation = std::get_if<Allocation>(&event)) {
      add_pages(*allocation);
      continue;
    }
    kernel_ = std::get<Kernel>(std::move(event));
    events_.at(events_.now() + gpu_.launch_cycles, {EventKind::kernel, 0, 0});
    kernel_asked_ = true;
    return true;
  }
  return false;
}

// What has no room in the GPU's own memory is made beyond it.
void Simulator::add_pages(const Allocation& allocation) {
  const auto count = (allocation.bytes + gpu_.page_bytes - 1) / gpu_.page_bytes + 1;
  auto memories = decider_.initial(allocation, count);
  // They are given page by page, over and over.
  for (const auto given = memories.size(); memories.size() < count;)
    memories.push_back(memories[memories.size() - given]);
  const auto wanted = memories;
  auto used = pages_.used_bytes(0);
  for (auto& memory : memories) {
    if (memory != 0) continue;
    used += gpu_.page_bytes;
    if (used > capacity_[0]) memory = 1;
  }
  const auto added = pages_.add(allocation, memories, !decider_.far_faults());
  decider_.added(added.first, added.count, pages_);
  for (std::uint32_t i = 0; i < added.count; ++i) {
    if (wanted[i] != 0) continue;
    ++(pages_[added.first + i].memory == 0 ? placed_pages_ : no_room_pages_);
  }
}

void Simulator::begin_kernel() {
  kernel_asked_ = false;
  kernels_.push_back({kernel_.name, events_.now(), 0});
  for (auto& processor : processors_)
    if (processor->begin(kernel_) == 0) refuse_large(kernel_, gpu_);
  more_ctas_ = true;
  // In turns, from the SM behind the one that had the last turn: GPGPU-Sim does so, and small kernels spread.
  const auto count = static_cast<std::uint32_t>(processors_.size());
  for (std::uint32_t refused = 0; refused != count; next_processor_ = (next_processor_ + 1) % count)
    refused = start_cta(next_processor_) ? 0 : refused + 1;
}

bool Simulator::start_cta(std::uint32_t processor) {
  if (!more_ctas_ || !processors_[processor]->has_room()) return false;
  more_ctas_ = trace_.next_cta(cta_);
  if (!more_ctas_) return false;
  ++running_;
  processors_[processor]->start(cta_);
  return true;
}

void Simulator::cta_ended(std::uint32_t processor) {
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
      answered(event.detail);
      break;
    case EventKind::copy:
      mover_.line_crossed(event.detail);
      break;
    case EventKind::go_on:
      mover_.on_go_on();
      break;
    case EventKind::policy:
      look_at_traffic();
      break;
    case EventKind::moves:
      mover_.start();
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
      if (const auto line = memory_.on(event)) {
        if (line->written)
          mover_.line_written(line->number);
        else
          mover_.line_read(line->number);
      }
      break;
  }
  if (ended_ || kernel_asked_ || running_ != 0 || more_ctas_) return;
  if (!std::all_of(processors_.begin(), processors_.end(),
                   [](const auto& processor) { return processor->idle(); }))
    return;
  kernels_.back().end = events_.now();
  if (wanted_.by_kernel) by_kernel_.end_one(kernel_.name, events_.now(), camat(events_.now()));
  if (next_kernel()) return;
  note_traffic();
  traffic_.push_back(traffic_now());
  ended_ = true;
  memory_.write_back_all();
}

void Simulator::answered(std::uint32_t number) {
  const auto request = memory_.take_answer(number);
  processors_[request.processor]->on_answer(request);
  if (const auto& page = pages_[request.page]; page.moving && page.in_flight == 0) mover_.drained(request.page);
}

void Simulator::asked(std::uint32_t page, bool write) {
  if (sample_period_ != 0 && ++since_sampled_ == sample_period_) sample(page, write);
  if (!pages_.accessed(page, decider_.touches())) return;
  decider_.touched(page, pages_, mover_);
  mover_.start();
}

void Simulator::look_at_traffic() {
  if (ended_ || events_.none_waits()) return;
  PageDecider::Seen seen;
  for (std::uint32_t m = 0; m < bytes_before_.size(); ++m) {
    const auto now = memory_.demand_bytes(m);
    seen.bytes.push_back(now - std::exchange(bytes_before_[m], now));
  }
  std::uint64_t instructions = 0;
  for (const auto& processor : processors_) instructions += processor->counts().instructions;
  seen.instructions = instructions - std::exchange(instructions_before_, instructions);
  seen.now = events_.now();
  seen.walked = pages_.take_walked();
  decider_.decide(seen, pages_, mover_);
  mover_.start();
  events_.at(events_.now() + decider_.interval(), {EventKind::policy, 0, 0});
}

void Simulator::handle_faults() {
  const auto batch = faults_.take_batch();
  decider_.faulted(batch, events_.now(), mover_);
  mover_.settle(batch);
}

// Eight bytes for each; a line of them goes to memory at once.
void Simulator::sample(std::uint32_t page, bool write) {
  since_sampled_ = 0;
  decider_.sampled(page, write);
  constexpr auto k_of_line = k_line_bytes / 8;
  if (++samples_ % k_of_line != 0) return;
  if (!sample_frame_) sample_frame_ = pages_.take_frame(1);
  const auto offset = samples_ / k_of_line * k_line_bytes % gpu_.page_bytes;
  memory_.record(1, *sample_frame_ * gpu_.page_bytes + offset);
}

void Simulator::stop_all() {
  for (auto& processor : processors_) processor->stop();
}

void Simulator::go_on_all() {
  for (auto& processor : processors_) processor->go_on();
}

void Simulator::moved(std::uint32_t page) {
  pages_.forget_touches(page);
  decider_.moved(page, pages_[page].memory);
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

// Where nothing has happened since, as often as cycles have passed.
void Simulator::note_traffic() {
  auto now = traffic_now();
  for (; traffic_.size() * k_traffic_cycles <= events_.now(); traffic_.push_back(now))
    now.at = traffic_.size() * k_traffic_cycles;
}

// Before anything happens in the cycle with which the next one begins.
void Simulator::end_stretches() {
  for (; stretch_ends_ <= events_.now(); stretch_ends_ += wanted_.every)
    over_time_.end_one("", stretch_ends_, camat(stretch_ends_));
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
  counts.events = events_.happened();
  counts.kernels = kernels_;
  for (const auto& processor : processors_) counts.processors.push_back(processor->counts());
  for (std::uint32_t channel = 0; channel < memory_.channels(); ++channel) {
    counts.slices.push_back(memory_.slice(channel));
    counts.channels.push_back(memory_.dram(channel));
    counts.memory_of_channel.push_back(memory_.memory_of(channel));
  }
  const auto end = events_.now();
  counts.camat = camat(end);
  if (wanted_.by_kernel) by_kernel_.end_last(end, counts.camat);
  if (wanted_.every != 0) over_time_.end_last(end, counts.camat);
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
