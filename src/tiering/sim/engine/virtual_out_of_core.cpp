// SPDX-License-Identifier: Apache-2.0
// Computes the time of a quantum of a program with out-of-core memory (--memory): the quantum is split where a
// thread has to wait for a chunk. Part of VirtualMachine; see virtual_machine.hpp and virtual_spill.hpp.
#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "sim/engine/virtual_machine.hpp"

namespace terrace::sim {

std::string backing_file_error(const machine::Machine& machine, DomainId domain) {
  const auto home = machine.home(domain);
  if (machine.find_backing_file(home) == nullptr)
    return machine.name() + " has no file beside '" + machine.place(home).name +
           "'; add a [[file]] to it, or take a machine that has one (ddr5-nvme, ddr5-nfs)";
  if (machine.domains()[domain].places.size() > 1)
    return machine.name() + " has several kinds of memory; a backing file is supported for machines with one";
  return {};
}

void VirtualMachine::enable_backing_file(DomainId domain, Bytes memory,
                                         std::unique_ptr<transfer::ReplacementPolicy> policy) {
  spilled_ = machine_.home(domain);
  const auto* const file = machine_.find_backing_file(spilled_);
  if (const auto reason = backing_file_error(machine_, domain); !reason.empty())
    throw Error(Code::invalid, reason);
  const auto& initiator = machine_.initiators()[machine_.domains()[domain].initiator];
  const auto& path = law_.view().path(spilled_);
  const auto line = static_cast<double>(machine_.parts().line.value);
  VirtualSpill::Parts parts;
  parts.file = *file;
  parts.price = law_.copier();
  // One core streams at the rate that its lines in flight allow (Little's law).
  parts.stream = {std::min(path.read.value, initiator.prefetch_mlp * line / path.latency.value)};
  parts.memory = memory;
  parts.policy = std::move(policy);
  spill_ = std::make_unique<VirtualSpill>(std::move(parts));
  file_pages_ = std::make_unique<FilePages>(chunks_, machine_.parts().line);
}

void VirtualMachine::price_share(double share, Seconds core, const observe::Tally& tally) {
  if (share <= 0) return;
  if (is_multithreaded_)
    price_under_contention(core, tally, share);
  else
    advance_clock(share * demand_.longest(), share);
}

// Charges the running thread with concurrent background work: interruptions, a share of its core if none is free,
// and memory traffic, which the next segment has to make room for.
void VirtualMachine::charge_background_work() {
  const auto beside = take_background_work();
  const auto paid = beside.stalled + (1 / background_pace() - 1) * beside.worked;
  clocks_[running_] += paid;
  account_.stalled += paid;
}

// Takes the background work of a time in which the thread waited: it lost nothing. (With several threads, those
// that ran did lose time; that is not modelled.)
VirtualSpill::Beside VirtualMachine::take_background_work() {
  const auto beside = spill_->take_beside();
  const auto& path = law_.view().path(spilled_);
  file_traffic_ += Seconds{beside.read / path.read.value + beside.written / path.write.value};
  return beside;
}

// Advances the clock by a quantum, miss by miss: touches each page, and waits where an access faults.
void VirtualMachine::price_out_of_core(const observe::Quantum& quantum, Seconds core,
                                       const observe::Tally& tally) {
  spill_->set_pace(background_pace());
  demand_.busy[spilled_] += std::exchange(file_traffic_, {}).value;
  const auto count = static_cast<double>(quantum.misses.size());
  const auto longest = demand_.longest();
  double done = 0;  // share of the quantum
  auto begun = now();
  auto last = k_no_page;
  std::vector<FilePages::Block> new_blocks;
  for (std::size_t i = 0; i < quantum.misses.size(); ++i) {
    const auto& miss = quantum.misses[i];
    if (miss.chunk == memory::k_no_chunk) continue;
    const auto page = file_pages_->page_of(miss, new_blocks);
    if (!new_blocks.empty()) {
      for (const auto& block : new_blocks) spill_->reserve(block);
      new_blocks.clear();
    }
    if (page == k_no_page) {
      spill_->keep(Bytes{file_pages_->pinned_bytes()});
      continue;
    }
    const auto share = static_cast<double>(i) / count;
    const auto at = begun + Seconds{(share - done) * longest};
    if (spill_->is_due(at)) spill_->run(at);
    if (miss.kind == observe::MissKind::writeback) {
      spill_->stored(page, at);
      continue;
    }
    if (page != last) spill_->count(page);
    last = page;
    if (!spill_->is_noticed(page)) continue;
    price_share(share - done, core, tally);
    done = share;
    charge_background_work();
    const auto goes_on = spill_->touch(page, running_, now());
    account_.waited += goes_on - now();
    clocks_[running_] = goes_on;
    take_background_work();
    begun = now();
  }
  price_share(1 - done, core, tally);
  spill_->run(now());
  charge_background_work();
}

// Frees an object's block when the program frees the object; the thread waits until no I/O of it is in flight.
void VirtualMachine::release_file(ChunkId first) {
  const auto block = file_pages_->forget(first);
  if (block.count == 0) return spill_->keep(Bytes{file_pages_->pinned_bytes()});
  const auto goes_on = spill_->release(block, now());
  account_.waited += std::max(goes_on - now(), Seconds{});
  clocks_[running_] = std::max(now(), goes_on);
}

}  // namespace terrace::sim
