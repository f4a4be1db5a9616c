// The doors' side of taking turns. See scheduler.hpp.
#include "agent/interpose/scheduling.hpp"

#include <algorithm>
#include <utility>

#include "agent/lifecycle/process.hpp"
#include "core/clock.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/runtime.hpp"
#include "sim/scheduler/scheduler.hpp"
#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::agent {

namespace {

constexpr std::uint64_t k_nominal = 1'000'000'000;  // progress a second
// In progress. An attempt in vain: a few cache lines fetched. A place where threads compete: one.
constexpr std::uint64_t k_attempt = 200;
constexpr std::uint64_t k_competition = 32;

// What is done here is Terrace's doing, and so is the time that it takes, waiting for a turn included.
struct Ours {
  observe::Inside inside;
  observe::OwnTime time;
};

// A thread of the program's run-time library that has no turn to wait for: what it does meanwhile, in real time,
// is nothing that the program does in virtual time.
void rest() {
  if (auto* const samples = observe::t_thread.samples;
      samples && !std::exchange(observe::t_thread.is_parked, true))
    samples->enter_own();
}
void stop_resting() {
  if (auto* const samples = observe::t_thread.samples;
      samples && std::exchange(observe::t_thread.is_parked, false))
    samples->leave_own();
}

// The process whose threads take turns. It stays in memory when it has finished, for threads that are still
// waiting for their turn then.
constinit std::atomic<Process*> g_taking_turns{nullptr};

Process* note_taking_turns() noexcept {
  Process* const here = process();
  if (here && g_taking_turns.load(std::memory_order_relaxed) != here)
    g_taking_turns.store(here, std::memory_order_relaxed);
  return here;
}

Process& taking_turns_process() noexcept {
  Process* const here = note_taking_turns();
  return here ? *here : *g_taking_turns.load(std::memory_order_relaxed);
}

sim::Scheduler& scheduler() { return *taking_turns_process().scheduler; }
sim::ThreadClocks& clocks() { return *taking_turns_process().thread_clocks; }

// What this thread accessed so far has its price.
void bring() {
  auto* const pipeline = observe::t_thread.pipeline;
  if (pipeline && process()) pipeline->flush();
}

void note_unless_repeatable() {
  static constinit std::atomic<bool> noted{false};
  if (scheduler().is_repeatable() || noted.exchange(true)) return;
  taking_turns_process().runtime->note(
      "warning",
      "not repeatable: a thread waited in a way that Terrace cannot follow, so the order in "
      "which threads ran was the system's");
}

// It is this thread's turn again, unless the process has finished: then all threads run as they like.
void go_on() {
  if (!process()) return;
  clocks().set_running(this_thread());
  note_unless_repeatable();
}

void count_alive(std::uint32_t threads) {
  observe::g_is_multithreaded.store(threads > 1, std::memory_order_relaxed);
  clocks().set_num_alive(threads);
}

void pass_turn() {
  if (scheduler().yield(this_thread())) go_on();
}

}  // namespace

bool in_virtual_time() noexcept {
  const auto* const here = note_taking_turns();
  return here && here->scheduler && observe::t_thread.inside == 0;
}

bool takes_turns_now() noexcept {
  const auto* const here = note_taking_turns();
  return here && observe::t_thread.inside == 0 && observe::t_thread.is_scheduled && !here->scheduler->alone() &&
         !here->scheduler->stopped();
}

std::uint32_t this_thread() noexcept { return observe::t_thread.number; }

void wait_for(std::uint64_t key) noexcept {
  const Ours ours;
  bring();
  scheduler().wait(this_thread(), key);
  go_on();
}

bool wait_for(std::uint64_t key, double until) noexcept {
  const Ours ours;
  bring();
  auto& clock = *taking_turns_process().clock;
  const auto left = std::clamp(until - clock.now().value, 0.0, 1e9);
  const auto deadline = scheduler().progress(this_thread()) + static_cast<std::uint64_t>(left * k_nominal);
  const bool woken = scheduler().wait(this_thread(), key, deadline);
  go_on();
  if (!woken) clock.charge(Seconds{std::max(until - clock.now().value, 0.0)});
  return woken;
}

std::uint32_t wake(std::uint64_t key, std::uint32_t most) noexcept {
  const Ours ours;
  bring();
  std::uint32_t woken[64];
  std::uint32_t count = 0;
  while (count < most) {
    const auto some =
        scheduler().wake(this_thread(), key, std::min<std::uint32_t>(most - count, std::size(woken)), woken);
    for (std::uint32_t i = 0; i < some; ++i) clocks().advance_to(woken[i], this_thread());
    count += some;
    if (some < std::size(woken)) break;
  }
  return count;
}

std::uint32_t wake_from_beside(std::uint64_t key, std::uint32_t most) noexcept {
  const auto* const here = process();
  if (!here || !here->scheduler || observe::t_thread.inside > 0 || observe::t_thread.is_scheduled) return 0;
  if (here->scheduler->alone() || here->scheduler->stopped()) return 0;
  const Ours ours;
  const auto woken = here->scheduler->wake(this_thread(), key, most);
  if (woken > 0) here->scheduler->not_repeatable();
  return woken;
}

std::uint32_t requeue(std::uint64_t from, std::uint64_t to, std::uint32_t most) noexcept {
  const Ours ours;
  return scheduler().requeue(from, to, most);
}

void interrupt(std::uint32_t thread) noexcept {
  const Ours ours;
  bring();
  if (scheduler().wake_thread(this_thread(), thread)) clocks().advance_to(thread, this_thread());
}

void let_go(std::uint64_t lock) noexcept {
  const Ours ours;
  bring();
  clocks().on_unlock(lock);
}

void take_hold(std::uint64_t lock) noexcept {
  const Ours ours;
  bring();
  clocks().on_lock(lock);
}

void meet(std::span<const std::uint32_t> threads) noexcept {
  const Ours ours;
  bring();
  clocks().synchronize(threads);
  scheduler().synchronize(threads);
}

void follow(std::uint32_t thread, std::uint32_t other) noexcept {
  const Ours ours;
  bring();
  clocks().advance_to(thread, other);
}

void next_turn() noexcept {
  const auto* const here = note_taking_turns();
  if (!here || !here->scheduler || here->scheduler->alone() || !observe::t_thread.is_scheduled) return;
  const observe::OwnTime time;
  pass_turn();
}

void compete() noexcept {
  const Ours ours;
  if (!process()) return;
  scheduler().advance(this_thread(), k_competition);
  if (auto* const pipeline = observe::t_thread.pipeline) pipeline->on_contention();
  pass_turn();
}

void try_later() noexcept {
  const Ours ours;
  bring();
  scheduler().advance(this_thread(), k_attempt);
  taking_turns_process().clock->charge(Seconds{static_cast<double>(k_attempt) / k_nominal});
  pass_turn();
}

void begin_thread(std::uint32_t thread) noexcept {
  const Ours ours;
  taking_turns_process().runtime->on_multithreaded();
  bring();
  scheduler().add_thread(thread, this_thread());
  count_alive(scheduler().num_alive());
  clocks().advance_to(thread, this_thread());
}

void arrive(std::uint32_t thread) noexcept {
  const Ours ours;
  scheduler().enter(thread);
  observe::t_thread.is_scheduled = true;
  stop_resting();
  go_on();
}

void never_began(std::uint32_t thread) noexcept {
  const Ours ours;
  count_alive(scheduler().num_alive() - 1);
  scheduler().end_thread(thread);
  scheduler().remove_thread(thread);
}

void end_turns() noexcept {
  const Ours ours;
  if (!observe::t_thread.is_scheduled) return;
  wake(end_key(this_thread()), k_everybody);
  observe::t_thread.is_scheduled = false;
  count_alive(scheduler().num_alive() - 1);
  scheduler().end_thread(this_thread());
  rest();
}

bool has_ended(std::uint32_t thread) noexcept {
  const Ours ours;
  return scheduler().has_ended(thread);
}

void forget_thread(std::uint32_t thread) noexcept {
  const Ours ours;
  scheduler().remove_thread(thread);
}

std::uint64_t end_key(std::uint32_t thread) noexcept {
  return ~std::uint64_t{0} - thread;  // no address of a program
}

Elsewhere::Elsewhere() noexcept : left_(taking_turns()) {
  if (!left_) return;
  const Ours ours;
  bring();
  scheduler().mark_unrepeatable();
  scheduler().detach(this_thread());
}

Elsewhere::~Elsewhere() {
  if (!left_) return;
  const Ours ours;
  scheduler().reattach(this_thread());
  go_on();
}

}  // namespace terrace::agent
