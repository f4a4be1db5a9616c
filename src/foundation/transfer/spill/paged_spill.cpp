// SPDX-License-Identifier: Apache-2.0
// Implements out-of-core memory by kernel paging: the program's calls, and the thread that executes them and
// enforces the memory limit. See paged_spill.hpp.
#include "transfer/spill/paged_spill.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "core/error.hpp"
#include "core/internal_thread.hpp"
#include "core/rounding.hpp"
#include "core/system_time.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr long k_short_pause_ns = 2'000'000;     // between two measurements of resident memory: near the limit,
constexpr long k_long_pause_ns = 20'000'000;     // far below it,
constexpr long k_futile_pause_ns = 100'000'000;  // and when paging out everything did not suffice
constexpr std::uint64_t k_pageout_batch = 16;    // chunks per MADV_PAGEOUT batch

void wait_for(sem_t& semaphore) noexcept {
  while (sem_wait(&semaphore) != 0) {
  }
}

// Waits for at most `max_ns`. Returns false on a timeout.
bool wait_for(sem_t& semaphore, long max_ns) noexcept {
  const auto until = add_ns(read_clock(CLOCK_REALTIME), max_ns);
  for (;;) {
    if (sem_timedwait(&semaphore, &until) == 0) return true;
    if (errno != EINTR) return false;
  }
}

}  // namespace

PagedSpill::PagedSpill(const Parts& parts) : SpillEngine(parts), count_(parts.size / k_chunk) {
  const auto got = syscall(SYS_mmap, nullptr, count_ * sizeof(State), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (got == -1) throw Error(Code::failed, "--memory: no address space for the table of chunks; raise ulimit -v");
  states_ = static_cast<State*>(memory_at(static_cast<std::uint64_t>(got)));
  sem_init(&called_, 0, 0);
  sem_init(&started_, 0, 0);
  if (!start_signal_masked_thread(thread_, "terrace/spill", thread_body, this))
    problem_ = "--memory: no thread could be started; raise ulimit -u";
  else
    wait_for(started_);
  if (problem_.empty()) return;
  if (thread_ != pthread_t{}) pthread_join(thread_, nullptr);
  syscall(SYS_munmap, states_, count_ * sizeof(State));
  throw Error(Code::failed, problem_);
}

PagedSpill::~PagedSpill() {
  post_and_wait({});
  pthread_join(thread_, nullptr);
  syscall(SYS_munmap, states_, count_ * sizeof(State));
}

// Posts a call and waits for its completion. Contains no cancellation point: the caller may be a cancelled thread.
void PagedSpill::post_and_wait(const Call& call) noexcept {
  const std::lock_guard guard(call_mutex_);
  const auto before = answers_.load(std::memory_order_relaxed);
  call_ = call;
  sem_post(&called_);
  answers_.wait(before, std::memory_order_acquire);
}

void PagedSpill::reserve(std::uint64_t address, std::size_t size) noexcept {
  post_and_wait(make_call(Call::Kind::reserve, address, size));
}

void PagedSpill::release(std::uint64_t address, std::size_t size) noexcept {
  post_and_wait(make_call(Call::Kind::release, address, size));
}

void PagedSpill::discard(std::uint64_t address, std::size_t size) noexcept {
  post_and_wait(make_call(Call::Kind::discard, address, size));
}

void PagedSpill::unmanage(std::uint64_t address, std::size_t size) noexcept {
  post_and_wait(make_call(Call::Kind::detach, address, size));
}

// Does nothing: a file mapping keeps its protection.
void PagedSpill::change_protection(std::uint64_t, std::size_t, bool) noexcept {}

// Holds the mutex until after_fork(): no further calls reach the thread.
void PagedSpill::before_fork(std::span<const std::uint64_t>) noexcept {
  post_and_wait({Call::Kind::detach, 0, end_});
  call_mutex_.lock();
}

void PagedSpill::after_fork() noexcept { call_mutex_.unlock(); }

void PagedSpill::in_child() noexcept { call_mutex_.unlock(); }

// --- the thread ---

void* PagedSpill::thread_body(void* self) {
  auto& spill = *static_cast<PagedSpill*>(self);
  if (spill.parts_.enter) spill.parts_.enter();
  unshare_file_table();
  try {
    spill.file_.emplace(spill.parts_.folder);
  } catch (const std::exception& error) {
    spill.problem_ = error.what();
  }
  const bool begun = spill.problem_.empty();
  if (begun) spill.parts_.counts->limit.store(spill.parts_.memory.value, std::memory_order_relaxed);
  sem_post(&spill.started_);
  if (begun) spill.run();
  spill.file_.reset();
  return nullptr;
}

// Loop of the engine's thread: executes calls, enforces the memory limit, and samples waits in page faults.
void PagedSpill::run() noexcept {
  long pause = k_long_pause_ns;
  while (true) {
    if (wait_for(called_, pause)) {
      const bool stops = call_.kind == Call::Kind::stop;
      execute_call();
      answers_.fetch_add(1, std::memory_order_release);
      answers_.notify_all();
      if (stops) return;
    }
    const bool is_within_limit = enforce_limit();
    sample_fault_waits();
    const auto has = parts_.counts->in_memory.load(std::memory_order_relaxed);
    pause = !is_within_limit                ? k_futile_pause_ns
            : has > parts_.memory.value / 2 ? k_short_pause_ns
                                            : k_long_pause_ns;
  }
}

void PagedSpill::sample_fault_waits() noexcept {
  if (num_in_file_ == 0) return fault_waits_.pause();
  if (const auto now = steady_ns(); fault_waits_.is_due(now))
    parts_.counts->paged_waited.fetch_add(fault_waits_.sample(now), std::memory_order_relaxed);
}

// Calls `body` for each run of chunks in the same state within the range.
template <class Body>
void PagedSpill::for_each_run(const Call& range, Body&& body) noexcept {
  const auto end = std::min(range.first + range.count, count_);
  for (auto first = range.first; first < end;) {
    const auto state = states_[first];
    const auto* const next =
        std::find_if(states_ + first, states_ + end, [state](State other) { return other != state; });
    const auto count = static_cast<std::uint64_t>(next - states_) - first;
    body(state, first, count);
    first += count;
  }
}

// Executes the posted call on the engine's thread.
void PagedSpill::execute_call() noexcept {
  for_each_run(call_, [&](State state, std::uint64_t first, std::uint64_t count) {
    switch (call_.kind) {
      case Call::Kind::stop:
        return;
      case Call::Kind::reserve:
        return state == State::anonymous ? reserve_now(first, count) : void();
      case Call::Kind::release:
        return state != State::anonymous ? unmap_and_release(first, count) : void();
      case Call::Kind::discard:
        return discard_now(state, first, count);
      case Call::Kind::detach:
        return state == State::shared ? detach(first, count) : void();
    }
  });
  if (call_.kind == Call::Kind::detach && num_shared_ == 0) file_.reset();
}

// Changes the state of chunks and the published totals.
void PagedSpill::set_state(std::uint64_t first, std::uint64_t count, State state) noexcept {
  const auto add = [count](std::uint64_t& sum, bool was, bool is) {
    if (was) sum -= count;
    if (is) sum += count;
  };
  add(num_in_file_, states_[first] != State::anonymous, state != State::anonymous);
  add(num_shared_, states_[first] == State::shared, state == State::shared);
  std::fill_n(states_ + first, count, state);
  end_ = std::max(end_, first + count);
  auto& counts = *parts_.counts;
  const auto content = num_in_file_ * k_chunk;
  for (auto* const now : {&counts.content, &counts.kernel_paged}) now->store(content, std::memory_order_relaxed);
  for (auto* const most : {&counts.max_content, &counts.max_kernel_paged})
    if (content > most->load(std::memory_order_relaxed)) most->store(content, std::memory_order_relaxed);
}

bool PagedSpill::ensure_file() noexcept {
  try {
    if (!file_) file_.emplace(parts_.folder);
  } catch (const std::exception&) {  // the folder may have vanished
  }
  return file_.has_value();
}

// Reserves file space before mapping: an access to a page without space would raise SIGBUS.
void PagedSpill::reserve_now(std::uint64_t first, std::uint64_t count) noexcept {
  const auto size = count * k_chunk;
  int error = ensure_file() ? file_->make_zero(first * k_chunk, size) : EIO;
  if (error == EOPNOTSUPP)
    error = file_->reserve(first * k_chunk, size);  // earlier content was released, so the range reads zeros
  if (error == 0) error = file_->map(address_of(first), first * k_chunk, size);
  if (error == 0) return set_state(first, count, State::shared);
  unmap_and_release(first, count);
  parts_.counts->refused_bytes.fetch_add(size, std::memory_order_relaxed);
  say_once(said_full_, k_full, error);
}

void PagedSpill::discard_now(State state, std::uint64_t first, std::uint64_t count) noexcept {
  if (state == State::shared && file_->make_zero(first * k_chunk, count * k_chunk) == 0) return;
  unmap_and_release(first, count);
}

// Maps chunks privately: parent and child of a fork, or the program after unmanage(), see the current content and
// keep their own writes.
void PagedSpill::detach(std::uint64_t first, std::uint64_t count) noexcept {
  if (file_->map_private(address_of(first), first * k_chunk, count * k_chunk) == 0)
    set_state(first, count, State::detached);
}

// Replaces the mapping by fresh anonymous memory, and releases the file space.
void PagedSpill::unmap_and_release(std::uint64_t first, std::uint64_t count) noexcept {
  syscall(SYS_mmap, address_of(first), count * k_chunk, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L);
  set_state(first, count, State::anonymous);
  if (file_) file_->release(first * k_chunk, count * k_chunk);
}

// Pages blocks out while the process exceeds its limit. Dirty pages are written first, so several rounds may be
// needed. Returns false where paging out everything did not suffice.
bool PagedSpill::enforce_limit() noexcept {
  auto& counts = *parts_.counts;
  const auto has = resident_memory().all;
  counts.in_memory.store(has, std::memory_order_relaxed);
  if (has <= parts_.memory.value || num_in_file_ == 0) return true;
  auto excess = has - parts_.memory.value;
  for (std::uint64_t tried = 0; excess > 0 && tried < end_;) {
    if (clock_hand_ >= end_) clock_hand_ = 0;
    const auto count = std::min(k_pageout_batch, end_ - clock_hand_);
    for_each_run({Call::Kind::stop, clock_hand_, count}, [&](State state, std::uint64_t first, std::uint64_t run) {
      if (state != State::anonymous) madvise(memory_at(address_of(first)), run * k_chunk, k_madv_pageout);
    });
    clock_hand_ += count;
    tried += count;
    const auto left = resident_memory().all;
    excess = left > parts_.memory.value ? left - parts_.memory.value : 0;
  }
  return excess == 0;
}

}  // namespace terrace::transfer
