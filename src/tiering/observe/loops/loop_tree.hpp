// What a thread does, as a tree of calls and loops: which function, called from which loop, called from where, how
// often, how much work that was, and whether the turns of a loop resemble one another. Fed by the hooks of
// function entries, exits and basic blocks; nothing of it depends on them, so that others may feed it.
//
// A turn of a loop resembles the one before when it takes about as much work and misses lines in the same memory.
// A loop of such turns is what a plan can learn from; one whose turns go on to other memory sweeps over it once.
// Where every so many turns one takes much more work than the others, many turns resemble as many before them: a
// visit's second half is held against its first, each time that its turns have doubled.
//
// Calls and loops that turn out to do little are closed: what happens inside is not followed any more.
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
  static constexpr double k_again = 0.8;  // of the memory that a turn misses in, missed in by the next one, too
  // Work of a visit, or of a turn, on average: calls and loops that do less are closed.
  static constexpr Work k_little = 4096, k_little_turn = 1024;
  static constexpr std::uint32_t k_every_depth = std::numeric_limits<std::uint32_t>::max();

  struct Node {
    bool is_loop = false;
    std::uint64_t code = 0;  // of the call, an address in the function; of the loop, its head
    LoopId loop = 0;
    Index around = k_root;
    std::uint64_t visits = 0;  // begun
    std::uint64_t turns = 0;   // of the loop, ended
    // Iterations whose work the tree did not measure: in virtual time those without observed accesses, on real
    // memory those with them (the clock stands, and hooks count instructions instead).
    std::uint64_t unseen = 0;
    Work counted = 0;  // real memory: most instructions that hooks counted in one of these
    Work work = 0;     // of what has ended of it, with all that it does inside
    Work turn = 0;     // of the last turn
    // Of the memory that the last two turns missed in, what both did; nothing where it is too little to tell.
    std::optional<double> again{};
    std::uint32_t alike = 0;     // turns running that resembled the one before
    bool is_steady = false;      // the second half of a visit's turns resembled the first
    Work first_at = 0;           // work of the run when it was first entered
    Work begins_at = 0;          // of the last turn around it that it was entered in: the first time
    std::uint64_t begun_in = 0;  // that turn
    bool is_closed = false;
    bool is_told = false;  // it begins where a hook tells of it, also where no access is seen
  };

  // Who hears of what begins and ends, as far as it is followed. A visit's first turn begins with it.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void entered(Index node) = 0;
    virtual void turned(Index node) = 0;  // another turn begins
    virtual void left(Index node) = 0;
    // An unseen iteration has ended at a hook, and the next one, if there is one, is reported only by its first
    // event. Code without hooks has none, so the listener decides here whether it has to be seen.
    virtual void ended_unseen(Index) {}
    virtual void reached() {}  // as much work as it wanted to be told at
  };

  LoopTree(const LoopCode& code, Listener& listener);

  // The program's events. `depth`: how many calls there are, the one that is entered included, the one that was
  // left not; `now`: work so far that was seen.
  void enter(std::uint64_t function, std::uint64_t call_site, std::uint32_t depth, Work now);
  void leave(std::uint32_t depth, Work now);
  void block(std::uint64_t site, std::uint32_t depth, Work now);
  // An access now and then, by where its hook returns to: loops that no block tells of begin at one.
  void sample(std::uint64_t site, std::uint32_t depth, Work now);
  // Whether `block` would change anything. Counts the turns of closed loops.
  [[nodiscard]] bool concerns(std::uint64_t site, std::uint32_t depth);
  // A line was missed in this piece of memory.
  void missed(std::uint64_t region);

  // From here on the work and the misses of that loop's turns are not seen; the root: all is. Such a turn counts
  // as much work as the last one that was seen, which the next one that is seen is held against.
  void set_unseen(Index loop);

  // The listener is told once that so much work was reached, also where nothing begins or ends.
  void tell_at(Work work) { tell_at_ = work; }

  // Events of calls deeper than so many change nothing.
  [[nodiscard]] std::uint32_t followed_depth() const { return followed_depth_; }
  [[nodiscard]] Work now() const { return now_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  // What the node did so far, what has not ended included.
  [[nodiscard]] Work work_of(Index node) const;
  // Returns what the visit that is under way did so far; 0: none is.
  [[nodiscard]] Work work_of_visit(Index node) const;
  // Of the turns of the loops around it.
  [[nodiscard]] double share_seen(Index node) const;
  [[nodiscard]] bool is_inside(Index node, Index around) const;
  [[nodiscard]] bool is_active(Index node) const;

 private:
  struct Active {
    Index node;
    std::uint32_t depth;  // of the call that it is, or is in
    LoopId loop = 0, last = 0;
    std::uint64_t function = 0;       // of a loop
    Work begun = 0;                   // the visit
    Work turn_begun = 0;              // the turn
    std::uint64_t turn_at = 0;        // by the clock of beginnings
    std::uint64_t turn_before = 0;    // the turn before, in the same visit; 0: there is none
    std::uint32_t regions = 0;        // missed in, in this turn
    std::uint32_t regions_again = 0;  // of them, those of the turn before too
    std::uint32_t regions_before = 0;
    std::uint64_t turns = 0;               // seen of this visit
    std::uint64_t begun_at = 0;            // the visit
    std::uint64_t half_at = 0;             // its second half; 0: there is none yet
    Work half_begun = 0;                   // that half
    std::uint32_t regions_of_visit = 0;    // missed in
    std::uint32_t regions_of_half = 0;     // in the second one
    std::uint32_t regions_first_half = 0;  // in the first one
    bool is_turn_unseen = false;
    bool is_turn_empty = true;  // neither a call nor a loop was entered in it
    bool is_unseen = false;     // the visit: it began when nothing was seen
    bool is_between = false;    // one turn has ended, nothing has been seen of another
    bool is_marked = false;     // a hook that tells of turns was passed in this visit
    bool is_closed = false;
    bool is_counted = true;  // false where there is no node for it: it goes with the one around
  };
  static constexpr std::uint64_t k_nowhere = ~std::uint64_t{0};
  struct KnownMark {
    std::uint64_t site = k_nowhere;
    LoopCode::Mark mark;
  };
  struct KnownPlace {
    std::uint64_t site = k_nowhere;
    LoopCode::Place place;
  };
  struct KnownLoop {
    LoopId id = 0;
    LoopCode::Loop loop;
  };

  void advance(Work now);
  [[nodiscard]] bool is_unseen() const { return unseen_ != k_root; }
  void see_visits();
  [[nodiscard]] bool is_loop_at(std::uint32_t depth) const;
  void push(LoopId loop, std::uint64_t code, std::uint32_t depth);
  void pop();
  void pop_deeper(std::uint32_t depth);
  // Loops of the running function that do not hold that one.
  void pop_loops_around(LoopId inside, std::uint32_t depth);
  void turn(const LoopCode::Mark& mark, std::uint32_t depth);
  // Something happens in the innermost loop: if it is between turns, one begins.
  void resume();
  // The loop, and those around it in the running function, run.
  void run(LoopId loop, std::uint32_t depth);
  void run_around(LoopId loop, std::uint32_t depth);
  [[nodiscard]] bool is_turn(const Active& active) const;
  void end_turn(Active& active);
  void begin_turn(Active& active);
  // Holds the second half of a visit against the first, when its turns have doubled.
  void compare_halves(Active& active);
  Index child(Index around, LoopId loop, std::uint64_t code);
  [[nodiscard]] bool is_recursion(std::uint64_t function) const;
  void decide_closed(Node& node) const;
  void set_followed_depth();
  [[nodiscard]] LoopCode::Mark mark_of(std::uint64_t site);
  [[nodiscard]] LoopCode::Place place_of(std::uint64_t site);
  [[nodiscard]] const LoopCode::Loop& loop_of(LoopId id);

  // What was asked lately, by a few bits of the address.
  static constexpr std::size_t k_known = 8192;
  [[nodiscard]] static std::size_t slot_of(std::uint64_t key);
  static constexpr Work k_never = std::numeric_limits<Work>::max();

  const LoopCode& code_;
  Listener& listener_;
  std::vector<Node> nodes_{1};
  std::unordered_map<std::uint64_t, std::vector<Index>> children_;  // by parent and code
  std::vector<Active> active_;
  std::unordered_map<std::uint64_t, std::uint64_t> missed_at_;  // by region: the beginning before it
  std::uint64_t last_region_ = ~std::uint64_t{0};
  std::uint64_t last_missed_at_ = 0;
  std::uint64_t beginnings_ = 0;
  std::uint32_t followed_depth_ = k_every_depth;
  Work now_ = 0;
  bool is_sampled_ = false;  // what happens is known from an access alone
  Index unseen_ = k_root;    // the loop whose turns are not seen
  Work work_unseen_ = 0;     // what these count as
  Work tell_at_ = k_never;
  std::array<KnownMark, k_known> marks_{};
  std::array<KnownPlace, k_known> places_{};
  std::array<KnownLoop, k_known> loops_{};
  std::array<Index, k_known> known_children_{};
};

}  // namespace terrace::observe
