// SPDX-License-Identifier: Apache-2.0
// Implements a machine in virtual time: the clock, the memory and the mover of a program whose misses it receives,
// quantum by quantum (batches of one thread's accesses). Each configuration of `terrace simulate`, `record` and
// `replay` owns one. Deterministic: the same quanta and calls give the same times to the last digit; nothing
// depends on host addresses, host time or the iteration order of a hash table.
//
// The time of a quantum is computed with every chunk where it resides, its traffic spread evenly over the quantum.
// Transfers run concurrently (time_law.hpp says how both share the memories). When one completes, the quantum is
// split: from that instant on the chunk's remaining traffic falls on the new place, the source's capacity is free,
// and the next transfer begins. So a chunk's place changes only when its copy is complete, exactly one place
// serves it at a time, and the sums over any segment obey the rows of the placement problem.
//
// Not thread-safe: the owner serialises quanta and calls (scheduler.hpp). Each simulated thread has its own clock,
// and threads compete for the time of the places (occupancy.hpp). A single thread has the places to itself but for
// transfers, so that bookkeeping is skipped.
//
// A move costs its copier's price. The program pays its part: a completed transfer stalls every running thread. A
// thread that accesses a chunk in flight traps and waits for the rest, if the copier blocks accesses. A thread
// that accesses a sentinel chunk traps too, at the end of the quantum in which a line of it missed, because cache
// hits are not observed. A thread that is blocked for another reason is not stalled. Planning takes a core as
// well, and shares one if all are busy.
//
// Ledger: the runtime reserves capacity when it binds chunks and releases it when it frees them. Transfers reserve
// and release here, and so does the first touch of an unbound chunk. That chunk goes to its domain's home place
// or, if that budget is spent, to the domain's place with the most free capacity.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/clock.hpp"
#include "memory/ledger.hpp"
#include "memory/provider.hpp"
#include "observe/tally.hpp"
#include "sim/engine/copy_engine.hpp"
#include "sim/engine/level_use_counters.hpp"
#include "sim/engine/memory_cache.hpp"
#include "sim/engine/occupancy.hpp"
#include "sim/engine/time_law.hpp"
#include "sim/engine/virtual_spill.hpp"
#include "sim/scheduler/thread_clocks.hpp"
#include "transfer/mover.hpp"

namespace terrace::sim {

// Returns why the domain's data cannot be in a backing file of the machine; empty if it can.
std::string backing_file_error(const machine::Machine& machine, DomainId domain);

// Decomposes the time. core + exposed + bandwidth_bound + stalled + waited + charged + carried is the clock of a
// program with one thread. With several threads it is summed over them, without the time in which they waited for
// each other.
struct TimeAccount {
  Seconds core;             // C
  Seconds exposed;          // D
  Seconds bandwidth_bound;  // beyond C + D, because the program or transfers saturated a place
  Seconds stalled;          // by concurrent transfers: TLB shoot-downs, traps, a shared core
  Seconds waited;           // for transfers
  Seconds charged;          // the runtime's own work, and the program's sleeps
  Seconds carried;          // estimated time of unobserved segments
  std::uint64_t accesses = 0;
  std::uint64_t instructions = 0;
  std::uint64_t misses = 0;  // write-backs not counted

  [[nodiscard]] Seconds total() const {
    return core + exposed + bandwidth_bound + stalled + waited + charged + carried;
  }
};
TimeAccount operator-(TimeAccount later, const TimeAccount& earlier);

class VirtualMachine final : public Clock,
                             public memory::Provider,
                             public transfer::Mover,
                             public ThreadClocks,
                             public observe::TallySink {
 public:
  // Machine, table and ledger are borrowed. `cores`: one program thread stands for that many, each doing the same
  // on its share: C and D are divided by it, traffic is not. Throws Error{invalid, not_found} as CoreCost does.
  VirtualMachine(const machine::Machine& machine, InitiatorId initiator, double cores, memory::ChunkTable& chunks,
                 memory::Ledger& ledger);

  // Returns the clock of the running thread.
  Seconds now() override { return clocks_[running_]; }
  [[nodiscard]] bool is_exact() const override { return true; }
  void charge(Seconds cost) override;
  void advance_unobserved(Seconds time) override;
  Seconds background_finish_time(Seconds cost) override { return now() + cost / background_pace(); }
  void charge_background_work(Seconds cost) override { charge((1 / background_pace() - 1) * cost); }

  void set_running(std::uint32_t thread) override { running_ = thread_index(thread); }
  void set_num_alive(std::uint32_t threads) override;
  void advance_to(std::uint32_t thread, std::uint32_t other) override;
  void synchronize(std::span<const std::uint32_t> threads) override;
  void on_unlock(std::uint64_t lock) override;
  void on_lock(std::uint64_t lock) override;

  bool bind(ChunkId first, std::uint32_t count, PlaceId place) override;
  PlaceId where(ChunkId chunk) override;

  using transfer::Mover::submit;
  transfer::Ticket submit(std::span<const transfer::TransferRequest> requests) override;
  bool done(transfer::Ticket ticket) override { return engine_.done(ticket); }
  void wait(transfer::Ticket ticket) override;
  void expedite_pending() override;
  void limit_rate(double share) override;
  void forget(ChunkId first, std::uint32_t count) override;
  std::vector<transfer::TransferResult> completions() override { return engine_.completions(); }

  void on_tally(const observe::Quantum& quantum, const observe::Tally& tally) override;
  // A cache needs each line, and a backing file the order of accesses.
  [[nodiscard]] bool wants_misses() const override { return cache_ != nullptr || spill_ != nullptr; }

  // Makes `capacity` of the domain's first place a cache of its home place's lines (memory_cache.hpp). Requires:
  // nothing has run, and nothing will be moved or bound to that place. Throws as MemoryCache does.
  void enable_cache_mode(DomainId domain, Bytes capacity);

  // Keeps data beyond `memory` in the backing file of the domain's home. Requires: nothing has run. Throws
  // Error{invalid} if the domain has another place, or no file.
  void enable_backing_file(DomainId domain, Bytes memory,
                           std::unique_ptr<transfer::ReplacementPolicy> replacement);
  // Returns the counters of the backing file, or nullptr without one. Ends a segment of its lower bound
  // (page_bound.hpp).
  const FileIoTotals* file_account() { return spill_ ? &spill_->account() : nullptr; }

  void set_instruction_time(Seconds time) { law_.set_instruction_time(time); }
  void make_copies_free() { law_.make_copies_free(); }

  // Returns the account since the beginning. The difference of two covers the time in between.
  [[nodiscard]] const TimeAccount& account() const { return account_; }
  // Returns C-AMAT's counters since the beginning.
  [[nodiscard]] std::vector<profile::LevelUse> levels() const {
    return use_.levels(machine_, initiator_, law_, account_.exposed + account_.bandwidth_bound);
  }

 private:
  void touch(ChunkId chunk);
  void set_traffic(const observe::Quantum& quantum, const observe::Tally& tally);
  [[nodiscard]] double background_pace() const;
  [[nodiscard]] std::uint32_t thread_index(std::uint32_t thread);
  [[nodiscard]] CopyDemand limited(CopyDemand copy) const;
  void catch_up_copies();
  void start_due_copies();  // while no transfer runs
  [[nodiscard]] double rate_of_running() const;
  void price_single_thread(Seconds core, const observe::Tally& tally);
  void price_under_contention(Seconds core, const observe::Tally& tally, double share = 1);
  void price_out_of_core(const observe::Quantum& quantum, Seconds core, const observe::Tally& tally);
  void price_share(double share, Seconds core, const observe::Tally& tally);
  void charge_background_work();
  VirtualSpill::Beside take_background_work();
  void release_file(ChunkId first);
  [[nodiscard]] Speeds speeds_in(const Occupancy::Slot& slot, bool with_copy) const;
  // Advances the clock by a part of the current quantum, with the share `pace` of the program's cores.
  void advance_clock(double seconds, double progress, double pace = 1);
  void on_copy_complete(Seconds core, const observe::Tally& tally);
  transfer::TransferResult complete();
  void wait_for_copy_in_use(Seconds core, const observe::Tally& tally);
  void charge_stalls();
  void trigger_sentinels(const observe::Tally& tally);
  void waive_stalls(std::uint32_t thread, Seconds waited);
  void advance_copies(Seconds duration);  // the clock advances, the program stands still
  void finish_running(double rate);       // advances the copies until the running transfer is complete
  void wait_until(Seconds time);          // of a transfer

  const machine::Machine& machine_;
  InitiatorId initiator_;
  TimeLaw law_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  CopyEngine engine_;
  std::unique_ptr<MemoryCache> cache_;
  std::unique_ptr<VirtualSpill> spill_;
  std::unique_ptr<FilePages> file_pages_;   // with spill_
  PlaceId spilled_ = 0;                     // place whose overflow is in the file
  Seconds file_traffic_;                    // time of that place taken by file I/O, not yet charged
  std::vector<Seconds> clocks_{Seconds{}};  // by thread
  std::uint32_t running_ = 0;
  std::uint32_t alive_ = 1;
  Seconds stalls_;                               // of each running thread, by all transfers so far
  std::vector<Seconds> stalls_paid_{Seconds{}};  // by thread
  double rate_limit_ = 1;                        // of copies that no thread waits for
  Seconds copied_until_;                         // time up to which the running transfer is simulated
  bool is_multithreaded_ = false;                // several threads are alive
  std::unique_ptr<Occupancy> occupancy_;         // once several threads were alive
  std::unordered_map<std::uint64_t, Seconds> released_;
  TimeAccount account_;
  LevelUseCounters use_;
  std::vector<bool> touched_;  // by chunk
  TimeLaw::Traffic by_place_;  // of the current quantum
  Demand demand_;
};

}  // namespace terrace::sim
