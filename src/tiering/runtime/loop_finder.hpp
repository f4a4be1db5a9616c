// Finds the main loop of a program that has no markers, and its phases, in the tree of its calls and loops
// (observe/loops/loop_tree.hpp).
//
// The main loop is the outermost one whose turns resemble one another, or of which many turns resemble as many
// before them and which does most of the run. An inner loop waits until the loops around it are known to be no
// main loop, unless one visit of it lasts so long that waiting would cost more than a wrong belief. Such a belief
// is given up for a loop around it as soon as that one has made two such turns, and for a later one when it has
// ended. On real memory work is measured in clock ticks, which pass in code without hooks, too. Hooks then count
// the instructions of observed iterations: a loop with too few of them in two iterations is rejected for good.
//
// Its phases are the calls and loops in it that do a fair part of a turn's work. One that does much of it, and
// whose own calls and loops do most of that, is looked into. A phase is known by its name: another call or loop of
// that name in a turn is one too, unless it is within a phase. So names alone are enough to find them again: a run
// of which loop and phases are known, by a plan, begins with the first turn.
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

  // "rhs", "solve:120"; comes seldom.
  using NameOf = std::function<std::string(const Node&)>;
  using Pass = std::function<void(const Boundary&)>;

  // `wanted`: the main loop's name, or its function's, or a pattern of the one or the other (fnmatch), where
  // somebody has said which it is; else empty. `phases`: where they are known too, their names, the first one
  // first; else none.
  LoopFinder(const observe::LoopCode& code, NameOf name_of, Pass pass, std::string wanted = {},
             std::vector<std::string> phases = {})
      : name_of_(std::move(name_of)),
        pass_(std::move(pass)),
        wanted_(std::move(wanted)),
        known_(std::move(phases)),
        tree_(code, *this) {}

  [[nodiscard]] observe::LoopTree& tree() { return tree_; }
  // What was seen of loops, in words, where none was taken for the main loop; else empty.
  [[nodiscard]] std::string nothing_found() const;

  // Returns what could have been the main loop, at the end of the run; nothing where a loop was named.
  [[nodiscard]] profile::LoopsRecord candidates() const;

  // Whether accesses are seen in all turns of the main loop. Otherwise only what hooks tell of may be a phase:
  // what accesses alone tell of would begin in some of the turns.
  void set_sees_all(bool all) { sees_all_ = all; }
  // Whether work is ticks of a clock: nothing is known of misses then.
  void set_by_clock(bool by_clock) { by_clock_ = by_clock; }
  // Whether the program's accesses are seen from now on. The main loop's turns that are not count as the last one
  // that was.
  void set_seen(bool seen);

  void on_enter(Index node) override;
  void on_iteration(Index node) override;
  void on_exit(Index node) override;
  void on_unobserved_iteration_end(Index node) override;
  void on_work_reached() override { give_up_ended(); }

 private:
  static constexpr Index k_none = observe::LoopTree::k_root;
  enum class Answer : unsigned char { unknown, yes, no };

  [[nodiscard]] const Node& node(Index index) const { return tree_.nodes()[index]; }
  [[nodiscard]] bool deserves(Index index);
  [[nodiscard]] bool is_wanted(Index index);
  [[nodiscard]] bool is_in_a_wanted_one(Index index);
  [[nodiscard]] bool is_meant(const std::string& name) const;
  [[nodiscard]] std::string what_there_was() const;
  [[nodiscard]] bool may_be_a_part() const;
  // Whether a loop around that one may yet turn out to be the main loop.
  [[nodiscard]] bool waits_for_outer(Index index) const;
  [[nodiscard]] Work min_iteration_work(Index index, double share) const;
  [[nodiscard]] bool is_steady(Index index, double share, Work min_iteration_work) const;
  [[nodiscard]] Work mean_turn(Index index) const;
  // Returns whether the main loop was chosen by the clock alone (real memory), but hooks counted too few
  // instructions in its observed iterations, which are those in Node::unseen.
  [[nodiscard]] bool is_refuted() const;
  void refute();
  void believe(Index index);
  void take_known(Index index);
  void begin_loop(Boundary& boundary);
  [[nodiscard]] std::string why() const;
  void begin_turn(Boundary& boundary);
  void begin_phase(std::string name, Boundary& boundary);
  void give_up_ended();
  void hear(Index node, Work least);
  [[nodiscard]] bool may_go_on() const;

  // Of the main loop's turns.
  [[nodiscard]] double work_in_a_turn(Index index) const;
  [[nodiscard]] double visits_in_a_turn(Index index) const;
  void choose_phases();
  void choose_phases_in(Index index);
  [[nodiscard]] std::vector<Index> parts_of(Index index) const;
  [[nodiscard]] bool is_worth_looking_into(Index index, const std::vector<Index>& parts) const;
  [[nodiscard]] double begins_at(Index index) const;
  [[nodiscard]] bool is_phase(Index index);
  [[nodiscard]] bool is_in_a_phase(Index index);

  NameOf name_of_;
  Pass pass_;
  std::string wanted_;
  std::vector<std::string> known_;  // phases
  std::vector<Answer> is_wanted_;   // by node
  observe::LoopTree tree_;
  Index main_ = k_none;
  std::map<Index, std::uint64_t> told_;  // turns that the program was told of when a loop was the main one before
  std::set<Index> taken_;                // for the main loop, if only for a while
  std::set<Index> refuted_;              // of taken_: rejected by refute(), never chosen again
  Work min_counted_ = 0;                 // min instructions that hooks must count in an iteration of main_; 0: any
  bool is_seen_ = true;
  bool sees_all_ = true;
  bool by_clock_ = false;
  bool in_loop_ = false;     // as the program was told
  bool is_running_ = false;  // the main loop, as the tree has it
  Work left_at_ = 0;         // when it is not
  // Number of events of calls and loops: in all, when the main loop was left, when its iteration began, in an
  // iteration. `work_heard_` is the least work of those since it was left. They replace measured work while
  // accesses are not observed.
  std::uint64_t events_ = 0, events_left_ = 0, events_turned_ = 0, events_in_a_turn_ = 0;
  Work work_heard_ = 0;
  std::vector<Answer> is_phase_;            // by node
  std::set<std::string> names_;             // of phases
  std::vector<std::vector<Index>> inside_;  // by node, while phases are chosen
  std::vector<Index> chosen_;               // as phases
  double phases_in_a_turn_ = 0;
  std::string first_name_;         // of the first phase; the main loop's own, where that is how a turn begins
  bool first_is_to_come_ = false;  // the turn began with its name, the tree has not entered it yet
  std::uint32_t times_first_ = 0;  // in this turn
};

}  // namespace terrace::runtime
