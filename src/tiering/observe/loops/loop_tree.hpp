// SPDX-License-Identifier: Apache-2.0
// Builds the tree of a thread's calls and loops: for each function called from a loop, and each loop in a call,
// how often it ran, how much work it did, and whether the iterations of a loop resemble one another. The hooks of
// function entries, exits and basic blocks feed it (pipeline/loop_events.hpp); it does not depend on them, so
// tests and other sources can feed it too. The loop finder (runtime/loop_finder.hpp) chooses the main loop from
// it.
//
// An iteration resembles the one before when it takes about as much work and misses lines in the same memory. A
// plan can learn from a loop of such iterations; a loop whose iterations move on to other memory is a single
// sweep. Where a much longer iteration recurs every few iterations, blocks of iterations resemble each other
// instead: the second half of a visit is compared with its first half, each time that its number of iterations has
// doubled.
//
// Calls and loops with little work are pruned: the tree does not follow what happens inside them.
//
// Terms: a visit is one execution of a call or a loop, from its entry to its exit; a loop's visit consists of
// iterations. An iteration is unobserved while its accesses are not followed (set_unobserved). Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "observe/loops/loop_code.hpp"

namespace terrace::observe {

// Amount of work: instructions in virtual time, ticks of the processor's clock on real memory. Cache misses are
// not counted, so that loop detection does not depend on the simulated caches.
using Work = std::uint64_t;

class LoopTree {
 public:
  using Index = std::uint32_t;
  static constexpr Index k_root = 0;
  // Minimum share of the regions missed in by one of two successive iterations that both missed in.
  static constexpr double k_min_miss_overlap = 0.8;
  // Mean work of a visit, and of an iteration, below which calls and loops are pruned.
  static constexpr Work k_min_visit_work = 4096, k_min_iteration_work = 1024;
  static constexpr std::uint32_t k_every_depth = std::numeric_limits<std::uint32_t>::max();

  struct Node {
    bool is_loop = false;
    std::uint64_t code = 0;  // of a call, an address in the function; of a loop, its header
    LoopId loop = 0;
    Index around = k_root;         // the parent
    std::uint64_t visits = 0;      // begun
    std::uint64_t iterations = 0;  // ended
    // Iterations whose work the tree did not measure: in virtual time those without observed accesses, on real
    // memory those with them (the clock stands, and hooks count instructions instead).
    std::uint64_t unobserved = 0;
    Work max_hook_work = 0;  // real memory: most instructions that hooks counted in one of these
    Work work = 0;           // of its visits that have ended, nested calls and loops included
    Work last_iteration_work = 0;
    // Share of the memory missed in by the last two iterations that both missed in; nothing where it is too little
    // to compare.
    std::optional<double> miss_overlap{};
    std::uint32_t num_similar = 0;  // successive iterations, up to the last one, that resembled the one before
    bool is_steady = false;         // the second half of a visit's iterations resembled the first
    Work first_entry_work = 0;      // work of the run when it was first entered
    Work entry_offset = 0;          // work from the begin of the parent's iteration to its first entry in it
    std::uint64_t entered_in = 0;   // the parent's iteration in which it was last entered
    bool is_pruned = false;
    bool is_reported = false;  // a hook reports its entry, also where no access is observed
  };

  // Receives the events of the calls and loops that the tree follows. A visit's first iteration begins with the
  // visit; on_iteration is called for the later ones.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_enter(Index node) = 0;
    virtual void on_iteration(Index node) = 0;
    virtual void on_exit(Index node) = 0;
    // An unobserved iteration has ended at a hook, and the next one, if there is one, is reported only by its
    // first event. Code without hooks has none, so the listener decides here whether it has to be observed.
    virtual void on_unobserved_iteration_end(Index) {}
    // The work passed to notify_at is done.
    virtual void on_work_reached() {}
  };

  // Non-owning: code and listener outlive the tree.
  LoopTree(const LoopCode& code, Listener& listener);

  // Record the program's events. `depth`: number of active calls, the one that is entered included, the one that
  // was left not; `now`: observed work so far.
  void enter(std::uint64_t function, std::uint64_t call_site, std::uint32_t depth, Work now);
  void leave(std::uint32_t depth, Work now);
  void block(std::uint64_t site, std::uint32_t depth, Work now);
  // Records a sampled access by its hook's return address: the only evidence of loops that no block reports.
  void sample(std::uint64_t site, std::uint32_t depth, Work now);
  // Returns whether `block` would change the tree. Counts the iterations of pruned loops.
  [[nodiscard]] bool affects(std::uint64_t site, std::uint32_t depth);
  // Records a cache miss in a region of memory.
  void record_miss(std::uint64_t region);

  // From here on the work and the misses of that loop's iterations are not observed; k_root: everything is. Such
  // an iteration counts as much work as the last observed one, with which the next observed one is compared.
  void set_unobserved(Index loop);

  // Calls on_work_reached once when so much work is done, also where nothing begins or ends.
  void notify_at(Work work) { notify_at_ = work; }

  // Events of calls deeper than this change nothing.
  [[nodiscard]] std::uint32_t followed_depth() const { return followed_depth_; }
  [[nodiscard]] Work now() const { return now_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  // Returns the node's work so far, the current visit included.
  [[nodiscard]] Work work_of(Index node) const;
  // Returns the work of the current visit so far; 0: there is none.
  [[nodiscard]] Work current_visit_work(Index node) const;
  // Returns the share of the iterations of the loops around it that was observed.
  [[nodiscard]] double observed_share(Index node) const;
  [[nodiscard]] bool is_inside(Index node, Index around) const;
  [[nodiscard]] bool is_active(Index node) const;

 private:
  // A visit under way. Iterations are numbered over the whole run; their numbers order the misses by time.
  struct Active {
    Index node;
    std::uint32_t depth;  // of the call that it is, or is in
    LoopId loop = 0, last = 0;
    std::uint64_t function = 0;  // of a loop
    Work visit_begin = 0;
    Work iteration_begin = 0;
    std::uint64_t iteration_id = 0;
    std::uint64_t previous_iteration_id = 0;  // in the same visit; 0: there is none
    std::uint32_t regions = 0;                // missed in, in this iteration
    std::uint32_t repeated_regions = 0;       // of them, those that the iteration before missed in too
    std::uint32_t previous_regions = 0;
    std::uint64_t iterations = 0;           // observed in this visit
    std::uint64_t visit_id = 0;             // of its first iteration
    std::uint64_t half_id = 0;              // first iteration of the second half; 0: there is none yet
    Work half_begin = 0;                    // of the second half
    std::uint32_t visit_regions = 0;        // missed in, in this visit
    std::uint32_t second_half_regions = 0;  // missed in
    std::uint32_t first_half_regions = 0;   // missed in
    bool is_iteration_unobserved = false;
    bool is_iteration_empty = true;      // neither a call nor a loop was entered in it
    bool is_unobserved = false;          // the visit: it began while nothing was observed
    bool is_between_iterations = false;  // one has ended, no event has shown that another began
    bool passed_mark = false;            // the hook that reports iterations ran in this visit
    bool is_pruned = false;
    bool has_node = true;  // false where the tree is full: it is part of its parent
  };
  static constexpr std::uint64_t k_nowhere = ~std::uint64_t{0};
  struct CachedMark {
    std::uint64_t site = k_nowhere;
    LoopCode::Mark mark;
  };
  struct CachedPlace {
    std::uint64_t site = k_nowhere;
    LoopCode::Place place;
  };
  struct CachedLoop {
    LoopId id = 0;
    LoopCode::Loop loop;
  };

  void advance(Work now);
  [[nodiscard]] bool is_unobserved() const { return unobserved_ != k_root; }
  void resume_observation();
  [[nodiscard]] bool is_loop_at(std::uint32_t depth) const;
  void push(LoopId loop, std::uint64_t code, std::uint32_t depth);
  void pop();
  void pop_deeper(std::uint32_t depth);
  // Pops the loops of the running function that do not contain that one.
  void pop_loops_without(LoopId inside, std::uint32_t depth);
  void on_mark(const LoopCode::Mark& mark, std::uint32_t depth);
  // Begins an iteration of the innermost loop where that is between iterations: an event happened in it.
  void resume_iteration();
  // Enters the loop, and those around it in the running function, unless they are active already.
  void enter_loop(LoopId loop, std::uint32_t depth);
  void enter_outer_loop(LoopId loop, std::uint32_t depth);
  [[nodiscard]] bool is_whole_iteration(const Active& active) const;
  void end_iteration(Active& active);
  void begin_iteration(Active& active);
  // Compares the second half of a visit with the first, when its number of iterations has doubled.
  void compare_halves(Active& active);
  Index child(Index around, LoopId loop, std::uint64_t code);
  [[nodiscard]] bool is_recursion(std::uint64_t function) const;
  void update_pruned(Node& node) const;
  void set_followed_depth();
  [[nodiscard]] LoopCode::Mark mark_of(std::uint64_t site);
  [[nodiscard]] LoopCode::Place place_of(std::uint64_t site);
  [[nodiscard]] const LoopCode::Loop& loop_of(LoopId id);

  // Size of the direct-mapped caches of LoopCode's answers.
  static constexpr std::size_t k_cache_slots = 8192;
  [[nodiscard]] static std::size_t slot_of(std::uint64_t key);
  static constexpr Work k_never = std::numeric_limits<Work>::max();

  const LoopCode& code_;
  Listener& listener_;
  std::vector<Node> nodes_{1};
  std::unordered_map<std::uint64_t, std::vector<Index>> children_;  // by parent and code
  std::vector<Active> active_;
  std::unordered_map<std::uint64_t, std::uint64_t> last_miss_;  // by region: iteration of its last miss
  std::uint64_t last_region_ = ~std::uint64_t{0};
  std::uint64_t last_region_id_ = 0;
  std::uint64_t num_iterations_ = 0;  // begun, visits included
  std::uint32_t followed_depth_ = k_every_depth;
  Work now_ = 0;
  bool is_sampled_ = false;    // the current event is a sampled access
  Index unobserved_ = k_root;  // the loop whose iterations are not observed
  Work unobserved_work_ = 0;   // estimated, of unobserved iterations
  Work notify_at_ = k_never;
  std::array<CachedMark, k_cache_slots> marks_{};
  std::array<CachedPlace, k_cache_slots> places_{};
  std::array<CachedLoop, k_cache_slots> loops_{};
  std::array<Index, k_cache_slots> known_children_{};
};

}  // namespace terrace::observe
