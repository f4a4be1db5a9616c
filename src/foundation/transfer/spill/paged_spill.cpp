// See paged_spill.hpp.
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
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr long k_soon = 2'000'000;       // nanoseconds between two looks at what the process has
constexpr long k_later = 20'000'000;     // where it has room
constexpr long k_in_vain = 100'000'000;  // where all that could leave has left
constexpr std::uint64_t k_step = 16;     // chunks whose pages leave at once

void wait_for(sem_t& semaphore) noexcept {
  while (sem_wait(&semaphore) != 0) {
  }
}

// False after so many nanoseconds.
bool wait_for(sem_t& semaphore, long most) noexcept {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += most;
  if (until.tv_nsec >= 1'000'000'000) {
    until.tv_nsec -= 1'000'000'000;
    ++until.tv_sec;
  }
  for (;;) {
    if (sem_timedwait(&semaphore, &until) == 0) return true;
    if (errno != EINTR) return false;
  }
}

}  // namespace

PagedSpill::PagedSpill(const Parts& parts) : SpillEngine(parts), count_(parts.size / k_chunk) {
  const auto got = syscall(SYS_mmap, nullptr, count_ * sizeof(State), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (got == -1) throw Error(Code::failed, "no address space for memory over a file");
  states_ = static_cast<State*>(memory_at(static_cast<std::uint64_t>(got)));
  sem_init(&called_, 0, 0);
  sem_init(&begun_, 0, 0);
  if (!start_signal_masked_thread(thread_, "terrace/spill", thread_body, this))
    problem_ = "no thread for memory over a file";
  else
    wait_for(begun_);
  if (problem_.empty()) return;
  if (thread_ != pthread_t{}) pthread_join(thread_, nullptr);
  syscall(SYS_munmap, states_, count_ * sizeof(State));
  throw Error(Code::failed, problem_);
}

PagedSpill::~PagedSpill() {
  call({});
  pthread_join(thread_, nullptr);
  syscall(SYS_munmap, states_, count_ * sizeof(State));
}

// The caller may be told to end: nothing here is a place where pthread_cancel(3) is heard.
void PagedSpill::call(const Call& call) noexcept {
  const std::lock_guard guard(calling_);
  const auto before = answers_.load(std::memory_order_relaxed);
  call_ = call;
  sem_post(&called_);
  answers_.wait(before, std::memory_order_acquire);
}

void PagedSpill::reserve(std::uint64_t address, std::size_t size) noexcept {
  call(about(Call::What::reserve, address, size));
}

void PagedSpill::release(std::uint64_t address, std::size_t size) noexcept {
  call(about(Call::What::release, address, size));
}

void PagedSpill::discard(std::uint64_t address, std::size_t size) noexcept {
  call(about(Call::What::discard, address, size));
}

void PagedSpill::leave(std::uint64_t address, std::size_t size) noexcept {
  call(about(Call::What::settle, address, size));
}

// A mapping of the file keeps them.
void PagedSpill::change_rights(std::uint64_t, std::size_t, bool) noexcept {}

// Nobody calls until after_fork(), and the thread waits meanwhile.
void PagedSpill::before_fork(std::span<const std::uint64_t>) noexcept {
  call({Call::What::settle, 0, end_});
  calling_.lock();
}

void PagedSpill::after_fork() noexcept { calling_.unlock(); }

void PagedSpill::in_child() noexcept { calling_.unlock(); }

// --- the thread ---

void* PagedSpill::thread_body(void* self) {
  auto& spill = *static_cast<PagedSpill*>(self);
  if (spill.parts_.enter) spill.parts_.enter();
  have_own_files();
  try {
    spill.file_.emplace(spill.parts_.folder);
  } catch (const std::exception& error) {
    spill.problem_ = error.what();
  }
  const bool begun = spill.problem_.empty();
  if (begun) spill.parts_.counts->limit.store(spill.parts_.memory.value, std::memory_order_relaxed);
  sem_post(&spill.begun_);
  if (begun) spill.run();
  spill.file_.reset();
  return nullptr;
}

void PagedSpill::run() noexcept {
  long pause = k_later;
  while (true) {
    if (wait_for(called_, pause)) {
      const bool stops = call_.what == Call::What::stop;
      carry_out();
      answers_.fetch_add(1, std::memory_order_release);
      answers_.notify_all();
      if (stops) return;
    }
    const bool held = hold_to_memory();
    note_fault_waits();
    const auto has = parts_.counts->in_memory.load(std::memory_order_relaxed);
    pause = !held ? k_in_vain : has > parts_.memory.value / 2 ? k_soon : k_later;
  }
}

void PagedSpill::note_fault_waits() noexcept {
  if (in_file_ == 0) return fault_waits_.pause();
  if (const auto now = steady_ns(); fault_waits_.is_due(now))
    parts_.counts->paged_waited.fetch_add(fault_waits_.look(now), std::memory_order_relaxed);
}

// Runs of the range's chunks in the same state.
template <class Body>
void PagedSpill::by_state(const Call& range, Body&& body) noexcept {
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

void PagedSpill::carry_out() noexcept {
  by_state(call_, [&](State state, std::uint64_t first, std::uint64_t count) {
    switch (call_.what) {
      case Call::What::stop:
        return;
      case Call::What::reserve:
        return state == State::memory ? reserve_now(first, count) : void();
      case Call::What::release:
        return state != State::memory ? drop(first, count) : void();
      case Call::What::discard:
        return discard_now(state, first, count);
      case Call::What::settle:
        return state == State::file ? settle(first, count) : void();
    }
  });
  if (call_.what == Call::What::settle && mapped_ == 0) file_.reset();
}

void PagedSpill::set(std::uint64_t first, std::uint64_t count, State state) noexcept {
  const auto add = [count](std::uint64_t& sum, bool was, bool is) {
    if (was) sum -= count;
    if (is) sum += count;
  };
  add(in_file_, states_[first] != State::memory, state != State::memory);
  add(mapped_, states_[first] == State::file, state == State::file);
  std::fill_n(states_ + first, count, state);
  end_ = std::max(end_, first + count);
  auto& counts = *parts_.counts;
  const auto content = in_file_ * k_chunk;
  for (auto* const now : {&counts.content, &counts.given}) now->store(content, std::memory_order_relaxed);
  for (auto* const most : {&counts.most, &counts.max_given})
    if (content > most->load(std::memory_order_relaxed)) most->store(content, std::memory_order_relaxed);
}

bool PagedSpill::has_file() noexcept {
  try {
    if (!file_) file_.emplace(parts_.folder);
  } catch (const std::exception&) {  // not any more
  }
  return file_.has_value();
}

// Touching memory of which the file has no room for a page would be a bus error.
void PagedSpill::reserve_now(std::uint64_t first, std::uint64_t count) noexcept {
  const auto size = count * k_chunk;
  int error = has_file() ? file_->make_zero(first * k_chunk, size) : EIO;
  if (error == EOPNOTSUPP)
    error = file_->reserve(first * k_chunk, size);  // what was there before has been released
  if (error == 0) error = file_->map(place(first), first * k_chunk, size);
  if (error == 0) return set(first, count, State::file);
  drop(first, count);
  parts_.counts->refused.fetch_add(size, std::memory_order_relaxed);
  say_once(said_full_, k_full, error);
}

void PagedSpill::discard_now(State state, std::uint64_t first, std::uint64_t count) noexcept {
  if (state == State::file && file_->make_zero(first * k_chunk, count * k_chunk) == 0) return;
  drop(first, count);
}

// Both sides of a fork, or what is left to the program, see the file as it is now; what they write is their own.
void PagedSpill::settle(std::uint64_t first, std::uint64_t count) noexcept {
  if (file_->map_private(place(first), first * k_chunk, count * k_chunk) == 0) set(first, count, State::settled);
}

// Memory as it was in the beginning.
void PagedSpill::drop(std::uint64_t first, std::uint64_t count) noexcept {
  syscall(SYS_mmap, place(first), count * k_chunk, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L);
  set(first, count, State::memory);
  if (file_) file_->release(first * k_chunk, count * k_chunk);
}

// Pages of blocks leave while the process has more than its memory: those that were written are on their way to
// the file first, so that it takes a few looks. False where that was not enough.
bool PagedSpill::hold_to_memory() noexcept {
  auto& counts = *parts_.counts;
  const auto has = resident().all;
  counts.in_memory.store(has, std::memory_order_relaxed);
  if (has <= parts_.memory.value || in_file_ == 0) return true;
  auto excess = has - parts_.memory.value;
  for (std::uint64_t tried = 0; excess > 0 && tried < end_;) {
    if (hand_ >= end_) hand_ = 0;
    const auto count = std::min(k_step, end_ - hand_);
    by_state({Call::What::stop, hand_, count}, [&](State state, std::uint64_t first, std::uint64_t run) {
      if (state != State::memory) madvise(memory_at(place(first)), run * k_chunk, k_page_out);
    });
    hand_ += count;
    tried += count;
    const auto left = resident().all;
    excess = left > parts_.memory.value ? left - parts_.memory.value : 0;
  }
  return excess == 0;
}

}  // namespace terrace::transfer
