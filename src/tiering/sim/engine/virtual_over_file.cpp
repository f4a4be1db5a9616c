// A quantum of a program whose memory is over a file: it is cut where a thread has to wait for a chunk. See
// virtual_machine.hpp and virtual_spill.hpp.
#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "sim/engine/virtual_machine.hpp"

namespace terrace::sim {

std::string why_no_file(const machine::Machine& machine, DomainId domain) {
  const auto home = machine.home(domain);
  if (machine.find_backing_file(home) == nullptr)
    return machine.name() + " has no file beside '" + machine.place(home).name +
           "'; add a [[file]] to it, or take a machine that has one (ddr5-nvme, ddr5-nfs)";
  if (machine.domains()[domain].places.size() > 1)
    return machine.name() + " has several kinds of memory, and whose data is in the file is known for one alone";
  return {};
}

void VirtualMachine::memory_over_file(DomainId domain, Bytes memory,
                                      std::unique_ptr<transfer::ReplacementPolicy> policy) {
  spilled_ = machine_.home(domain);
  const auto* const file = machine_.find_backing_file(spilled_);
  if (const auto reason = why_no_file(machine_, domain); !reason.empty()) throw Error(Code::invalid, reason);
  const auto& initiator = machine_.initiators()[machine_.domains()[domain].initiator];
  const auto& path = law_.view().path(spilled_);
  const auto line = static_cast<double>(machine_.parts().line.value);
  VirtualSpill::Parts parts;
  parts.file = *file;
  parts.price = law_.copier();
  // One core streams what its lines in flight let it (Little's law).
  parts.stream = {std::min(path.read.value, initiator.prefetch_mlp * line / path.latency.value)};
  parts.memory = memory;
  parts.policy = std::move(policy);
  spill_ = std::make_unique<VirtualSpill>(std::move(parts));
  file_pages_ = std::make_unique<FilePages>(chunks_, machine_.parts().line);
}

void VirtualMachine::price_share(double share, Seconds core, const observe::Tally& tally) {
  if (share <= 0) return;
  if (several_)
    price_among_others(core, tally, share);
  else
    pass(share * demand_.longest(), share);
}

// What ran beside the thread while it ran: interruptions, a share of its core where none is free, and bytes that
// kept the memory busy, which its next stretch has to make room for.
void VirtualMachine::pay_beside() {
  const auto beside = pass_beside();
  const auto paid = beside.stalled + (1 / pace_beside() - 1) * beside.worked;
  clocks_[running_] += paid;
  account_.stalled += paid;
}

// The same, by a thread that waited meanwhile: it lost nothing. (Of several threads, those that ran did; that is
// not followed.)
VirtualSpill::Beside VirtualMachine::pass_beside() {
  const auto beside = spill_->take_beside();
  const auto& path = law_.view().path(spilled_);
  file_traffic_ += Seconds{beside.read / path.read.value + beside.written / path.write.value};
  return beside;
}

void VirtualMachine::price_over_file(const observe::Quantum& quantum, Seconds core, const observe::Tally& tally) {
  spill_->set_pace(pace_beside());
  demand_.busy[spilled_] += std::exchange(file_traffic_, {}).value;
  const auto count = static_cast<double>(quantum.misses.size());
  const auto longest = demand_.longest();
  double done = 0;  // share of the quantum
  auto begun = now();
  auto last = k_no_page;
  std::vector<FilePages::Block> is_new;
  for (std::size_t i = 0; i < quantum.misses.size(); ++i) {
    const auto& miss = quantum.misses[i];
    if (miss.chunk == memory::k_no_chunk) continue;
    const auto page = file_pages_->of(miss, is_new);
    if (!is_new.empty()) {
      for (const auto& block : is_new) spill_->reserve(block);
      is_new.clear();
    }
    if (page == k_no_page) {
      spill_->keep(Bytes{file_pages_->kept()});
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
    pay_beside();
    const auto goes_on = spill_->touch(page, running_, now());
    account_.waited += goes_on - now();
    clocks_[running_] = goes_on;
    pass_beside();
    begun = now();
  }
  price_share(1 - done, core, tally);
  spill_->run(now());
  pay_beside();
}

// Who frees an object waits until nothing of it is under way.
void VirtualMachine::release_file(ChunkId first) {
  const auto block = file_pages_->forget(first);
  if (block.count == 0) return spill_->keep(Bytes{file_pages_->kept()});
  const auto goes_on = spill_->release(block, now());
  account_.waited += std::max(goes_on - now(), Seconds{});
  clocks_[running_] = std::max(now(), goes_on);
}

}  // namespace terrace::sim
