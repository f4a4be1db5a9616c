// SPDX-License-Identifier: Apache-2.0
// Lets the ranks of an MPI job on one node agree: on the division of the node's fast memory, on profiling again,
// and on undoing plans. LearningStrategy and ValidatedStrategy of each rank use one; without MPI they have none.
//
// Ranks exchange records through the job's ledger (memory/ledger.hpp) and never wait for each other: a rank that
// has died, was stopped, or never calls MPI delays no other. No MPI function is called. Ranks on other nodes are
// not members: their fast memory is another one.
//
//   members     The ranks on this node that execute a loop of the same name.
//   division    Each member publishes how its time depends on its bytes of each fast place (gain_curve.hpp). All
//               compute the same division (memory_division.hpp) and state it to the ledger as their demand. Memory
//               of other processes is not divided. The division changes with the members and their curves.
//   profiling   If one member profiles again, all do: their phases wait for each other.
//   undoing     The member of the lowest rank with a plan, the leader, compares iterations. The others follow it if
//               they iterate in step with it: iterations of ranks that wait for each other take equally long, and
//               each rank on its own would blame its own plan for the others'.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "machine/machine.hpp"
#include "memory/ledger.hpp"
#include "strategy/ranks/gain_curve.hpp"

namespace terrace::strategy {

// The state of the loop's plan in ValidatedStrategy, as other ranks see it.
enum class PlanStatus : std::uint8_t {
  none,        // no plan is in force
  validating,  // iterations under the plan are compared
  accepted,    // the comparison is over
  suspended,   // data is where it was without the plan, to compare iterations
  rejected     // undone for good
};

class RankGroup {
 public:
  static constexpr std::size_t k_max_places = 3;  // that are divided, the fastest first
  // A rank waits for the curves of others as long as it took itself to profile the loop, at least so long.
  static constexpr Seconds k_min_gain_timeout{0.25};
  // Between two readings of the other ranks' records: at least so long, and so long for each rank. A reading takes
  // 0.7 us for each rank.
  static constexpr Seconds k_min_read_interval{5e-3};
  static constexpr Seconds k_read_interval_per_rank{0.5e-3};
  static constexpr Seconds k_dead_rank_scan_interval{0.25};  // between two thorough searches for dead ranks
  static constexpr double k_min_change = 1.0 / 32;           // of the share, for a new plan

  struct Settings {
    memory::Ledger* ledger = nullptr;
    Clock* clock = nullptr;
    std::vector<PlaceId> places{};  // to divide: those faster than the home place, the fastest first
    machine::Budget budget;
    std::uint32_t rank = 0;
  };
  explicit RankGroup(Settings settings);

  void begin_loop(std::string_view name);
  void end_loop();
  // Publishes the iteration, and reads the others' records where that is due.
  void begin_iteration(std::uint32_t iteration);

  [[nodiscard]] const std::vector<PlaceId>& divided_places() const { return settings_.places; }
  // Publishes the curves of a profiled iteration, one for each of these places. `unmovable`: bytes of this process
  // there that no plan moves; they are not divided. Empty: none.
  void publish_gains(std::vector<GainCurve> curves, const std::vector<Bytes>& unmovable = {});
  // Reads the records, and returns whether to wait for curves of other members, or for ranks that have not begun a
  // loop.
  [[nodiscard]] bool poll_missing_gains();
  // Divides the places among the members, and states this rank's shares to the ledger. Requires: publish_gains()
  // was called in this loop.
  void divide();
  [[nodiscard]] bool is_divided() const { return !shares_.empty(); }
  // Returns the budget with this rank's shares of the divided places. Requires: is_divided().
  [[nodiscard]] machine::Budget own_budget() const;
  // Returns whether curves or members have changed since the last call or division, so that a new division changes
  // this rank's share by more than k_min_change.
  [[nodiscard]] bool detect_share_change();
  // Withdraws the demand, while data is where it was without a plan; restores it.
  void release_shares();
  void restore_shares();
  // Returns one sentence on the last division.
  [[nodiscard]] std::string describe_division() const;

  // Asks all members to profile again.
  void request_profile();
  // Returns whether another member has asked for it since the last call.
  [[nodiscard]] bool take_profile_request();

  // Publishes what this rank does with its plan.
  void set_status(PlanStatus status);
  // Returns the status of the leader; nothing if this rank is the leader, or not in step with it.
  [[nodiscard]] std::optional<PlanStatus> leader_status();

  [[nodiscard]] std::size_t num_members() const { return peers_.size() + 1; }

 private:
  // The record that changes with each iteration.
  struct State {
    std::uint64_t loop = 0;  // hash of its name; 0: in no loop
    std::uint32_t rank = 0;
    std::uint32_t iteration = 0;
    std::uint32_t gains = 0;  // version of the published curves; 0: none in this loop
    std::uint32_t profile_requests = 0;
    PlanStatus status = PlanStatus::none;
    std::array<std::uint64_t, k_max_places> unmovable{};  // bytes, by divided place
  };
  // A rank on this node in the same loop.
  struct Peer {
    memory::Ledger::Peer process;
    State state;
    bool is_in_step = false;  // its iterations begin as often as this rank's
  };
  // A process as the last readings of its records showed it.
  struct Known {
    memory::ProcessIdentity process;
    std::uint64_t loop = 0;
    std::int64_t lag = 0;  // its iteration number less this rank's, when it was first seen in the loop
    std::uint32_t profile_requests = 0;
  };
  using Shares = std::vector<Bytes>;  // by divided place
  // Identifies the curves that a division rests on: slot and number, by member.
  using Basis = std::vector<std::pair<std::size_t, std::uint32_t>>;

  void publish_state();
  void refresh(bool at_once);
  [[nodiscard]] Seconds refresh_interval() const;
  [[nodiscard]] Basis current_basis() const;
  [[nodiscard]] Shares compute_shares();
  void state_demands(const Shares& shares);
  void note_profiling();

  Settings settings_;
  State state_;
  std::uint32_t last_gains_ = 0;   // version of the last published curves
  std::vector<GainCurve> curves_;  // by divided place
  std::vector<Peer> peers_;
  std::vector<memory::Ledger::Peer> others_;  // living processes of the job that are no members
  bool has_joining_ranks_ = false;            // ranks on this node are in no loop yet
  std::map<std::size_t, Known> known_;        // by slot
  bool is_profile_requested_ = false;
  std::optional<Seconds> profiled_at_;      // when profiling again was last requested or begun
  std::uint32_t profiled_in_ = 0;           // the iteration of that
  std::optional<Seconds> searched_at_;      // when dead ranks were searched for thoroughly
  std::vector<memory::Ledger::Peer> dead_;  // ranks that a thorough search found dead
  std::optional<Seconds> read_at_;          // when the records were read
  Seconds loop_begun_;
  Seconds deadline_;  // for the curves of others
  Shares shares_;     // of the last division
  Basis basis_;       // of shares_, or of the last comparison with them
  Basis tried_;       // that the last comparison was about
  Seconds tried_at_;
  std::size_t num_divided_among_ = 0;  // ranks
};

}  // namespace terrace::strategy
