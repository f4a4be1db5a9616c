// A machine in virtual time: the clock, the memory and the mover of a program whose misses it is told, quantum by
// quantum. Same quanta, same calls: same times to the last digit; nothing here looks at host addresses, host time
// or the order of a hash table.
//
// A quantum is priced with every chunk where it resides, its traffic spread evenly over the quantum. Transfers run
// beside it (time_law.hpp says how the two share the memories); where one completes, the quantum is cut: from that
// instant on the chunk's remaining traffic falls on the new place, the source's room is free, and the next
// transfer begins. So a chunk's place changes only when its copy is complete, at most one place serves it at a
// time, and the sums over any stretch obey the rows of the placement problem.
//
// Quanta and calls come one after the other, their owner sees to that (scheduler.hpp). Each thread has its own
// clock, and what one takes of a place's time others cannot have (occupancy.hpp). With one thread none of that is
// needed: it has the places to itself but for transfers.
//
// What a move costs its copier's price says. The program pays its part of it: once a transfer is done every
// running thread has been stalled for it; and who touches a chunk in flight traps and waits for the rest, where
// the copier lets nobody at it meanwhile. So does who touches a chunk whose touch a transfer waits for: at the end
// of the quantum in which a line of it was missed, as what the caches hold is not seen. A thread that stands still
// for something else is not stalled. Planning, too, takes a core, and shares one where all are busy.
//
// Who keeps the ledger: the runtime takes room when it binds chunks and gives it when it frees them; transfers
// take and give here, and so does the first touch of a chunk that nobody bound, which is in its domain's home
// place (or, if its budget is spent, in the domain's place with the most room left).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/clock.hpp"
#include "memory/ledger.hpp"
#include "memory/provider.hpp"
#include "observe/tally.hpp"
#include "sim/engine/copy_engine.hpp"
#include "sim/engine/memory_cache.hpp"
#include "sim/engine/memory_use.hpp"
#include "sim/engine/occupancy.hpp"
#include "sim/engine/time_law.hpp"
#include "sim/engine/virtual_spill.hpp"
#include "sim/scheduler/thread_clocks.hpp"
#include "transfer/mover.hpp"

namespace terrace::sim {

// Why data of the domain cannot be in a file of the machine's; empty: it can.
std::string why_no_file(const machine::Machine& machine, DomainId domain);

// Where the time went; core + exposed + bandwidth_bound + stalled + waited + charged + carried is the clock of a
// program with one thread. With more it is summed over the threads, without the time in which they waited for one
// another.
struct TimeAccount {
  Seconds core;             // C
  Seconds exposed;          // D
  Seconds bandwidth_bound;  // beyond C + D, because a place was saturated, by the program or by transfers
  Seconds stalled;  // by transfers that were done beside the program: shot-down translations, traps, a core
  Seconds waited;   // for transfers
  Seconds charged;  // the runtime's own work, and what the program slept
  Seconds carried;  // stretches that were not followed, whatever they spent it on
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
  // Machine, table and ledger outlive it. `cores`: one program thread stands for that many, each doing the same on
  // its share: C and D are divided by it, traffic is not. Throws Error{invalid, not_found} as CoreCost does.
  VirtualMachine(const machine::Machine& machine, InitiatorId initiator, double cores, memory::ChunkTable& chunks,
                 memory::Ledger& ledger);

  // The clock of the thread that runs.
  Seconds now() override { return clocks_[running_]; }
  [[nodiscard]] bool is_exact() const override { return true; }
  void charge(Seconds cost) override;
  void advance_unobserved(Seconds time) override;
  Seconds background_finish_time(Seconds cost) override { return now() + cost / pace_beside(); }
  void charge_background_work(Seconds cost) override { charge((1 / pace_beside() - 1) * cost); }

  void runs(std::uint32_t thread) override { running_ = thread_index(thread); }
  void alive(std::uint32_t threads) override;
  void follow(std::uint32_t thread, std::uint32_t other) override;
  void meet(std::span<const std::uint32_t> threads) override;
  void release(std::uint64_t lock) override;
  void acquire(std::uint64_t lock) override;

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
  // A cache looks at each line, and memory over a file at the order of touches.
  [[nodiscard]] bool wants_misses() const override { return cache_ != nullptr || spill_ != nullptr; }

  // The first of the domain's places caches lines of its home, `capacity` of it (memory_cache.hpp). Before
  // anything runs; nothing may be moved to that place or bound there. Throws as MemoryCache does.
  void cache_mode(DomainId domain, Bytes capacity);

  // Data of more than `memory` is in the file beside the domain's home. Before anything runs; the domain has no
  // other place. Throws Error{invalid} where it has, or no file.
  void memory_over_file(DomainId domain, Bytes memory, std::unique_ptr<transfer::ReplacementPolicy> policy);
  // Null without; it ends a stretch of the file's lower bound (page_bound.hpp).
  const FileIoTotals* file_account() { return spill_ ? &spill_->account() : nullptr; }

  void set_instruction_time(Seconds time) { law_.set_instruction_time(time); }
  void make_copies_free() { law_.make_copies_free(); }

  // Since the beginning. The difference of two is the account of what is between.
  [[nodiscard]] const TimeAccount& account() const { return account_; }
  // C-AMAT's counters of what was simulated since the beginning.
  [[nodiscard]] std::vector<profile::LevelUse> levels() const {
    return use_.levels(machine_, initiator_, law_, account_.exposed + account_.bandwidth_bound);
  }

 private:
  void touch(ChunkId chunk);
  void serve(const observe::Quantum& quantum, const observe::Tally& tally);
  [[nodiscard]] double pace_beside() const;
  [[nodiscard]] std::uint32_t thread_index(std::uint32_t thread);
  [[nodiscard]] CopyDemand limited(CopyDemand copy) const;
  void begin_copies();
  void begin_due();  // what has come due while nothing was copied
  [[nodiscard]] double rate_of_running() const;
  void price_alone(Seconds core, const observe::Tally& tally);
  void price_among_others(Seconds core, const observe::Tally& tally, double share = 1);
  void price_over_file(const observe::Quantum& quantum, Seconds core, const observe::Tally& tally);
  void price_share(double share, Seconds core, const observe::Tally& tally);
  void pay_beside();
  VirtualSpill::Beside pass_beside();
  void release_file(ChunkId first);
  [[nodiscard]] Speeds speeds_in(const Occupancy::Slot& slot, bool beside_copy) const;
  // Of the quantum at hand, on cores of which the program has that share.
  void pass(double seconds, double progress, double pace = 1);
  void copied(Seconds core, const observe::Tally& tally);
  transfer::TransferResult complete();
  void wait_for_touched(Seconds core, const observe::Tally& tally);
  void pay_stalls();
  void meet_sentinels(const observe::Tally& tally);
  void forgive_stalls(std::uint32_t thread, Seconds waited);
  void advance_copies(Seconds duration);  // the clock moves on, the program stands still
  void finish_running(double rate);       // until the running transfer is done
  void wait_until(Seconds time);          // for a transfer

  const machine::Machine& machine_;
  InitiatorId initiator_;
  TimeLaw law_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  CopyEngine engine_;
  std::unique_ptr<MemoryCache> cache_;
  std::unique_ptr<VirtualSpill> spill_;
  std::unique_ptr<FilePages> file_pages_;   // with it
  PlaceId spilled_ = 0;                     // the place that the file is beside
  Seconds file_traffic_;                    // of its time, taken by what passed to the file and back, not paid yet
  std::vector<Seconds> clocks_{Seconds{}};  // by thread
  std::uint32_t running_ = 0;
  std::uint32_t alive_ = 1;
  Seconds stalls_;                               // of each running thread, by all transfers so far
  std::vector<Seconds> stalls_paid_{Seconds{}};  // by thread
  double rate_limit_ = 1;                        // of copies that nobody waits for
  Seconds copied_until_;                         // the transfer under way has been followed up to here
  bool several_ = false;                         // threads are alive
  std::unique_ptr<Occupancy> occupancy_;         // once there were several
  std::unordered_map<std::uint64_t, Seconds> released_;
  TimeAccount account_;
  MemoryUse use_;
  std::vector<bool> touched_;  // by chunk
  TimeLaw::Traffic by_place_;  // of the quantum at hand
  Demand demand_;
};

}  // namespace terrace::sim
