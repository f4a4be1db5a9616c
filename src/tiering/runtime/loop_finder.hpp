// SPDX-License-Identifier: Apache-2.0
// Detects the main loop of a program without markers, and the phases of that loop, in the tree of its calls and
// loops (observe/loops/loop_tree.hpp). The agent's MainLoopDetector owns one for instrumented programs.
//
// Main loop: the outermost loop whose iterations resemble one another. A loop also qualifies if many iterations
// resemble as many before them and the loop does most of the run's work. An inner loop waits until its enclosing
// loops are known to be no main loop, unless one visit of it lasts so long that waiting would cost more than a
// wrong choice. Such a provisional choice is withdrawn in favour of an enclosing loop as soon as that one has made
// two qualifying iterations, and in favour of a later loop when the chosen one has ended.
//
// On real memory work is measured in clock ticks, which also pass in code without hooks. Hooks then count the
// instructions of observed iterations: a loop with too few of them in two iterations is rejected for good.
//
// Phases: the calls and loops in the main loop that do a fair share of an iteration's work. A phase that does much
// of the work, and whose own calls and loops do most of that, is split into them. A phase is identified by its
// name: another call or loop of that name in an iteration is the same phase, unless it is nested in a phase. So
// names alone identify phases across runs: a run whose loop and phases a plan names begins with the first
// iteration.
//
// Not thread-safe: the thread that feeds tree() receives the boundaries, synchronously.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "observe/loops/loop_tree.hpp"
#include "profile/records.hpp"
#include "runtime/phase_source.hpp"

namespace terrace::runtime {

class LoopFinder final : public observe::LoopTree::Listener {
 public:
  using Index = observe::LoopTree::Index;
  using Node = observe::LoopTree::Node;
  using Work = observe::Work;

  // Returns a node's name: "rhs", "solve:120". Called seldom, because the look-up is slow.
  using NameOf = std::function<std::string(const Node&)>;
  using BoundaryCallback = std::function<void(const PhaseBoundary&)>;

  // `wanted`: the main loop's name, its function's name, or a pattern (fnmatch) of either, if the user or a plan
  // names the loop; else empty. `phases`: names of its phases if they are known too, the first phase first.
  LoopFinder(const observe::LoopCode& code, NameOf name_of, BoundaryCallback on_boundary, std::string wanted = {},
             std::vector<std::string> phases = {})
      : name_of_(std::move(name_of)),
        on_boundary_(std::move(on_boundary)),
        wanted_(std::move(wanted)),
        known_phases_(std::move(phases)),
        tree_(code, *this) {}

  [[nodiscard]] observe::LoopTree& tree() { return tree_; }
  // Returns, for the user, why no loop became the main loop and what loops there were; empty if one did.
  [[nodiscard]] std::string failure_reason() const;

  // Returns what could have been the main loop, at the end of the run; empty if the user named a loop.
  [[nodiscard]] profile::LoopsRecord candidates() const;

  // Sets whether accesses are observed in all iterations of the main loop. If not, only nodes that hooks report
  // may be phases: nodes that are known by their accesses alone would begin in some iterations only.
  void set_observes_all_iterations(bool all) { observes_all_iterations_ = all; }
  // Sets whether work is measured in clock ticks; misses are unknown then.
  void set_by_clock(bool by_clock) { by_clock_ = by_clock; }
  // Sets whether the program's accesses are observed from now on. Unobserved iterations of the main loop count as
  // the last observed one.
  void set_observed(bool observed);

  void on_enter(Index node) override;
  void on_iteration(Index node) override;
  void on_exit(Index node) override;
  void on_unobserved_iteration_end(Index node) override;
  void on_work_reached() override { end_finished_loop(); }

 private:
  static constexpr Index k_none = observe::LoopTree::k_root;
  enum class Answer : unsigned char { unknown, yes, no };

  [[nodiscard]] const Node& node(Index index) const { return tree_.nodes()[index]; }
  [[nodiscard]] bool is_candidate(Index index);
  [[nodiscard]] bool is_wanted(Index index);
  [[nodiscard]] bool has_wanted_ancestor(Index index);
  [[nodiscard]] bool matches_wanted(const std::string& name) const;
  [[nodiscard]] std::string describe_largest_loop() const;
  [[nodiscard]] bool may_be_nested_in_main_loop() const;
  // Returns whether an enclosing loop may still turn out to be the main loop.
  [[nodiscard]] bool waits_for_outer(Index index) const;
  [[nodiscard]] Work min_iteration_work(Index index, double share) const;
  [[nodiscard]] bool is_steady(Index index, double share, Work min_iteration_work) const;
  [[nodiscard]] Work mean_iteration_work(Index index) const;
  // Returns whether the main loop was chosen by the clock alone (real memory), but hooks counted too few
  // instructions in its observed iterations, which are those in Node::unseen.
  [[nodiscard]] bool has_too_few_instructions() const;
  void reject_main_loop();
  void select_main_loop(Index index);
  void select_known_loop(Index index);
  void begin_loop(PhaseBoundary& boundary);
  [[nodiscard]] std::string selection_reason() const;
  void begin_iteration(PhaseBoundary& boundary);
  void begin_phase(std::string name, PhaseBoundary& boundary);
  void end_finished_loop();
  void count_event(Index node, Work least);
  [[nodiscard]] bool may_continue() const;

  // Means over the main loop's iterations.
  [[nodiscard]] double work_per_iteration(Index index) const;
  [[nodiscard]] double visits_per_iteration(Index index) const;
  void choose_phases();
  void choose_phases_in(Index index);
  [[nodiscard]] std::vector<Index> parts_of(Index index) const;
  [[nodiscard]] bool is_worth_splitting(Index index, const std::vector<Index>& parts) const;
  [[nodiscard]] double begins_at(Index index) const;
  [[nodiscard]] bool is_phase(Index index);
  [[nodiscard]] bool is_inside_phase(Index index);

  NameOf name_of_;
  BoundaryCallback on_boundary_;
  std::string wanted_;
  std::vector<std::string> known_phases_;
  std::vector<Answer> is_wanted_;  // by node
  observe::LoopTree tree_;
  Index main_ = k_none;
  std::map<Index, std::uint64_t> reported_;  // iterations reported to the runtime while the loop was main_ before
  std::set<Index> selected_;                 // as the main loop at some time, if only provisionally
  std::set<Index> rejected_;                 // of selected_: by reject_main_loop(), never selected again
  Work min_counted_ = 0;  // min instructions that hooks must count in an iteration of main_; 0: any
  bool is_observed_ = true;
  bool observes_all_iterations_ = true;
  bool by_clock_ = false;
  bool in_loop_ = false;     // as reported to the runtime
  bool is_running_ = false;  // the main loop, according to the tree
  Work exit_time_ = 0;       // of the main loop, when it is not running
  // Numbers of call and loop events: in all, at the main loop's exit, at the begin of its iteration, and in an
  // iteration. `work_since_exit_` is the minimum work of the events since the exit. They replace measured work
  // while accesses are not observed.
  std::uint64_t num_events_ = 0, events_at_exit_ = 0, events_at_iteration_ = 0, events_per_iteration_ = 0;
  Work work_since_exit_ = 0;
  std::vector<Answer> is_phase_;  // by node
  std::set<std::string> phase_names_;
  std::vector<std::vector<Index>> children_;  // by node, while phases are chosen
  std::vector<Index> chosen_;                 // as phases
  double phases_per_iteration_ = 0;
  // Name of the first phase, which begins an iteration. It is the main loop's own name if an iteration does work
  // before its first node.
  std::string first_name_;
  bool first_is_pending_ = false;  // the iteration began as first_name_, but the tree has not entered that node
  std::uint32_t first_count_ = 0;  // visits of the first phase in this iteration
};

}  // namespace terrace::runtime
