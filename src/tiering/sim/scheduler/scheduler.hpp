// Whose turn it is: of the threads that can run, the one with the lowest (progress, number) runs until its quantum
// ends or it waits. So a program with threads does the same in every run: dynamic schedules, critical sections and
// races repeat.
//
// Progress counts what does not depend on where data resides (accesses, misses, virtual sleep), in nominal
// nanoseconds. It is not any configuration's clock: the same order of execution then holds for every placement,
// machine and planner, which is what lets one execution price many configurations and a recording stand for an
// execution.
//
// Waiting is by key, any number that stands for what is waited for. Who waits is made able to run by `wake`, in
// the order of turns, so nothing depends on which thread the system lets go first; a turn may even be given to a
// thread that the system has not started yet.
//
// A thread that waits in a way that nobody told us of keeps its turn: after a while, when the system says that it
// sleeps, or after seconds without any progress that is seen (it spins), the turn is taken from it, and
// `repeatable` is false from then on. It queues again when it is back.
//
// The state is plain data in shared memory, ready for threads of several processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

namespace terrace::sim {

inline constexpr std::uint32_t k_max_threads = 1024;  // alive at a time

enum class TurnState : std::uint32_t {
  none,     // the slot is free
  ready,    // can run
  running,  // has the turn
  waiting,  // for a key, or for its deadline
  away,     // lost its turn in a wait that is not known here
  ended     // nobody has joined it yet
};

struct TurnSlot {
  std::uint32_t thread;  // its number
  TurnState state;
  std::uint64_t progress;
  std::uint64_t key;       // waiting: for what
  std::uint64_t deadline;  // waiting: progress at which it goes on by itself
  std::uint64_t order;     // waiting: since when, among those that wait
  std::uint32_t timed_out;
  std::uint32_t system_thread;        // the system's number; 0 until it has arrived
  std::atomic<std::uint32_t> called;  // a futex: 1 when it has been given its turn
};

struct SchedulerPage {
  std::atomic<std::uint32_t> lock;
  std::atomic<std::uint32_t> stopped;
  std::atomic<std::uint32_t> unrepeatable;
  std::atomic<std::uint32_t> alive;  // begun and not ended
  std::uint32_t slots_used;          // slots from here on have never been used
  std::uint64_t waits;               // so far
  std::uint64_t turns;               // so far
  TurnSlot slots[k_max_threads];
};

class Scheduler {
 public:
  static constexpr std::uint64_t k_forever = std::numeric_limits<std::uint64_t>::max();

  // `page` is all zero at first. The calling thread is `thread`, and it is its turn.
  Scheduler(SchedulerPage& page, std::uint32_t thread);

  // Whether there is anybody to take turns with.
  [[nodiscard]] bool alone() const { return page_.alive.load(std::memory_order_relaxed) <= 1; }
  [[nodiscard]] std::uint32_t alive() const { return page_.alive.load(std::memory_order_relaxed); }
  [[nodiscard]] bool repeatable() const { return page_.unrepeatable.load(std::memory_order_relaxed) == 0; }

  // A thread will begin where its creator is. False when there is no room for more: it then runs beside the
  // others, and nothing repeats.
  bool begin(std::uint32_t thread, std::uint32_t creator);
  // The calling thread is `thread`; returns when it is its turn.
  void arrive(std::uint32_t thread);
  // It ends: the turn goes to another. It can be joined until `forget`.
  void end(std::uint32_t thread);
  [[nodiscard]] bool ended(std::uint32_t thread) const;
  void forget(std::uint32_t thread);

  // The thread has got on by that much; whose turn it is does not change.
  void advance(std::uint32_t thread, std::uint64_t progress);
  [[nodiscard]] std::uint64_t progress(std::uint32_t thread) const;
  // Whoever is furthest behind goes on; returns when it is this thread's turn again. True when another had it.
  bool pass(std::uint32_t thread);
  // Waits until somebody wakes the key, or until its progress would be `deadline`. False when the time was over.
  bool wait(std::uint32_t thread, std::uint64_t key, std::uint64_t deadline = k_forever);
  // Those who have waited longest for a key, `most` of them, can run again; they are no further behind than
  // `waker`. Their numbers go to `woken` as far as there is room. Returns how many there were.
  std::uint32_t wake(std::uint32_t waker, std::uint64_t key, std::uint32_t most,
                     std::span<std::uint32_t> woken = {});
  // One thread that waits, whatever it waits for. False when it does not.
  bool wake_thread(std::uint32_t waker, std::uint32_t thread);
  // They have waited for one another: nobody is further behind than the others.
  void meet(std::span<const std::uint32_t> threads);
  // Those who wait for `from` wait for `to` from now on, but `most` at most.
  std::uint32_t requeue(std::uint64_t from, std::uint64_t to, std::uint32_t most);
  // Something happens that is known not to repeat.
  void not_repeatable() { page_.unrepeatable.store(1, std::memory_order_relaxed); }
  // The calling thread goes where nobody can follow (a wait inside another library): the turn goes on without it.
  void leave(std::uint32_t thread);
  void come_back(std::uint32_t thread);
  // From now on everybody runs as the system wants: the process ends.
  void stop();
  [[nodiscard]] bool stopped() const { return page_.stopped.load(std::memory_order_relaxed) != 0; }

 private:
  class Locked;
  [[nodiscard]] TurnSlot* find(std::uint32_t thread) const;
  void give();  // the turn to whom it belongs, if anybody can run; locked
  void await(TurnSlot& slot);
  void look_after(bool stuck);

  SchedulerPage& page_;
};

}  // namespace terrace::sim
