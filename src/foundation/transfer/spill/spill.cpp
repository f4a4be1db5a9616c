// SPDX-License-Identifier: Apache-2.0
// Implements the loop of the pager thread (out-of-core memory, `terrace run --memory`), and the handlers of page
// faults and I/O completions. See spill.hpp; decisions are in spill_flow.cpp.
#include "transfer/spill/spill.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.hpp"
#include "core/internal_thread.hpp"
#include "core/userfault_file.hpp"
#include "transfer/spill/spill_limits.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr std::uint64_t k_adapt_interval_ns =
    10'000'000;  // ns between two measurements of the process's resident memory
using spill_limits::k_max_poll_ms;
constexpr std::uint64_t k_required_features = k_userfault_move | k_userfault_thread | k_userfault_remap;
constexpr std::size_t k_disk_threads = 4;
constexpr std::size_t k_max_workers = 256;   // max threads of the program with recorded times
constexpr std::size_t k_max_waiters = 4096;  // max recorded waiters
constexpr std::size_t k_min_slots = 4096;
alignas(k_page) constexpr std::array<std::byte, k_page> k_zeros{};

std::uint64_t map_anonymous(std::size_t size) {
  const auto got = syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (got == -1) throw Error(Code::failed, "--memory: no address space for the tables of chunks; raise ulimit -v");
  return static_cast<std::uint64_t>(got);
}

}  // namespace

// Maps the tables, starts the pager thread and waits until it has its resources; undoes all where that fails. The
// agent makes one engine in a process, before the first large block.
Spill::Spill(const Parts& parts)
    : SpillEngine(parts), base_(parts.base), count_(parts.size / k_chunk), counts_(parts.counts) {
  chunks_ = static_cast<Chunk*>(memory_at(map_anonymous(count_ * sizeof(Chunk))));
  heaps_ = static_cast<BlockUse*>(memory_at(map_anonymous(heaps() * sizeof(BlockUse))));
  call_page_ = map_anonymous(k_page);
  sem_init(&started_, 0, 0);
  sem_init(&forked_, 0, 0);
  next_file_chunk_ = static_cast<std::uint32_t>(count_);
  if (!start_signal_masked_thread(thread_, "terrace/spill", thread_body, this))
    problem_ = "--memory: no thread could be started; raise ulimit -u";
  else
    while (sem_wait(&started_) != 0) {
    }
  if (problem_.empty()) return;
  if (thread_ != pthread_t{}) pthread_join(thread_, nullptr);
  syscall(SYS_munmap, chunks_, count_ * sizeof(Chunk));
  syscall(SYS_munmap, heaps_, heaps() * sizeof(BlockUse));
  syscall(SYS_munmap, call_page_, k_page);
  throw Error(Code::failed, problem_);
}

int Spill::problem_here() noexcept { return Userfault(k_required_features).error(); }

Spill::~Spill() {
  post_and_wait({.kind = Call::Kind::stop});
  pthread_join(thread_, nullptr);
  syscall(SYS_munmap, chunks_, count_ * sizeof(Chunk));
  syscall(SYS_munmap, heaps_, heaps() * sizeof(BlockUse));
  syscall(SYS_munmap, call_page_, k_page);
}

// --- the thread ---

void* Spill::thread_body(void* self) {
  auto& spill = *static_cast<Spill*>(self);
  if (spill.parts_.enter) spill.parts_.enter();
  try {
    spill.acquire_resources();
  } catch (const std::exception& error) {
    spill.problem_ = error.what();
  }
  const bool begun = spill.problem_.empty();
  if (!begun) spill.release_resources();
  sem_post(&spill.started_);
  if (!begun) return nullptr;
  spill.run();
  spill.release_resources();
  return nullptr;
}

// Opens all files and allocates all memory that the pager needs, on its thread: it must not allocate later.
void Spill::acquire_resources() {
  unshare_file_table();
  faults_.emplace(k_required_features);
  if (!faults_->is_available())
    throw Error(Code::failed, "--memory: page faults cannot be handled, " + why_no_userfault(faults_->error()));
  file_.emplace(parts_.folder);
  if (parts_.ring) disk_ = make_ring_queue(file_->fd());
  if (!disk_) disk_ = make_thread_queue(file_->fd(), k_disk_threads);
  queue_name_ = disk_->name();
  // Mapped chunks have no slot. Reading, evicting and unmapped chunks are fewer than the limit; chunks beyond the
  // limit are mapped.
  const auto chunks = static_cast<std::size_t>(parts_.memory.value / k_chunk);
  pool_.emplace(*faults_, std::min(count_, std::max(2 * chunks, k_min_slots)));
  remapper_.emplace(parts_.enter);
  begun_ns_ = steady_ns();
  cpu_time_at_start_ = program_cpu_time();
  adapt_limit();
  policy_ = parts_.make_policy();
  waiters_.reserve(k_max_waiters);
  deferred_touches_.reserve(k_max_waiters);
  workers_.reserve(k_max_workers);
  fault_queue_.reserve(count_);
  eviction_queue_.reserve(count_);
  frozen_.resize(count_);
  if (!refill_spare_blocks()) throw std::bad_alloc();
  prepare_range(base_, count_ * k_chunk);
  for (const auto& [address, size] :
       {std::pair(base_, count_ * k_chunk), std::pair(call_page_, std::size_t{k_page})})
    if (const int error = faults_->register_range(address, size); error != 0)
      throw Error(Code::failed,
                  std::string("--memory: the kernel refused to watch the data's pages (userfaultfd): ") +
                      std::strerror(error) + "; see `terrace machine check`");
}

// Prepares an anonymous range for chunks. MADV_HUGEPAGE is not for the kernel's own allocations: in such a mapping
// a fault on an absent page leaves no page table behind, so a huge page moved there stays huge. munlock(2): the
// kernel moves no pages between locked and unlocked memory, and the program may have called mlockall(MCL_FUTURE).
void Spill::prepare_range(std::uint64_t address, std::size_t size) noexcept {
  syscall(SYS_munlock, address, size);
  madvise(memory_at(address), size, MADV_DONTFORK);
  madvise(memory_at(address), size, MADV_HUGEPAGE);
}

// Runs on the pager thread, whose file table holds the files.
void Spill::release_resources() noexcept {
  disk_.reset();
  remapper_.reset();
  pool_.reset();
  file_.reset();
  faults_.reset();
}

// Loop of the pager thread: waits for faults, completed I/O or a time-out, and does what is due.
void Spill::run() noexcept {
  while (!stop_requested_ || reads_ + writes_ > 0) {
    pollfd files[] = {
        {faults_->fd(), POLLIN, 0}, {disk_->completion_fd(), POLLIN, 0}, {remapper_->completion_fd(), POLLIN, 0}};
    poll(files, 3, kernel_paged_ > 0 ? fault_waits_.due_in_ms(steady_ns()) : k_max_poll_ms);
    if (files[2].revents != 0) remapper_->clear_event();
    drain_completions();
    drain_faults();
    if (steady_ns() - limit_adapted_ns_ > k_adapt_interval_ns) adapt_limit();
    step();
    if (is_reclaiming_) continue_reclaim();
    if (handover_since_ns_ > 0)
      continue_handover();
    else if (kernel_paged_ > 0)
      review_kernel_blocks();
    if (call_pending_) complete_call();
    account_disk_time();
    update_counts();
  }
}

void Spill::drain_faults() noexcept {
  std::uint64_t address = 0;
  std::uint32_t thread = 0;
  while (faults_->next_fault(address, &thread)) handle_fault(address, thread);
}

// Dispatches a fault: on the call page (a call of the program), in the managed memory, or in a slot of the pool.
void Spill::handle_fault(std::uint64_t address, std::uint32_t thread) noexcept {
  if (address - call_page_ < k_page) {
    call_pending_ = true;
    complete_call();
  } else if (address - base_ < count_ * k_chunk) {
    on_fault(address, thread);
  } else {
    faults_->wake(page_down(address), k_page);  // a pool slot: not the program's
  }
}

void Spill::drain_completions() noexcept {
  DiskCompletion completion;
  while (disk_->next_completion(completion)) {
    const auto chunk = static_cast<ChunkId>(completion.token);
    if (chunks_[chunk].state == ChunkState::reading)
      on_read_done(chunk, completion.error);
    else
      on_write_done(chunk, completion.error);
  }
}

void Spill::account_disk_time() noexcept {
  const auto now = steady_ns();
  if (busy_since_ns_ > 0) counts_->busy.fetch_add(now - busy_since_ns_, std::memory_order_relaxed);
  busy_since_ns_ = reads_ + writes_ > 0 ? now : 0;
}

// Passes the measurements to the policy, and publishes its predicted and measured time up to this access.
void Spill::update_prediction(std::uint64_t time) noexcept {
  const auto chunks = [](const std::atomic<std::uint64_t>& bytes) {
    return bytes.load(std::memory_order_relaxed) / k_chunk;
  };
  const auto seconds = [](std::uint64_t ns) { return Seconds{to_seconds(ns)}; };
  const auto nanoseconds = [](Seconds value) { return static_cast<std::uint64_t>(value.value * 1e9); };
  SpillStatistics measured;
  measured.now = seconds(time);
  measured.kept = spill_limits::eviction_target(pool_->limit());
  measured.room = pool_->limit() - measured.kept;
  measured.under_way = reads_ + writes_;
  measured.written = chunks(counts_->written);
  measured.moved = chunks(counts_->read) + measured.written;
  measured.busy = seconds(counts_->busy.load(std::memory_order_relaxed));
  measured.prefetched = counts_->prefetched.load(std::memory_order_relaxed);
  measured.demanded = counts_->demanded.load(std::memory_order_relaxed);
  measured.unexpected = num_unexpected_;
  measured.clean = counts_->clean.load(std::memory_order_relaxed);
  measured.served = num_soft_faults_;
  measured.serving = seconds(soft_fault_ns_);
  const auto totals = policy_->predicted(measured);
  counts_->predicted.store(nanoseconds(totals.predicted), std::memory_order_relaxed);
  counts_->measured.store(nanoseconds(totals.measured), std::memory_order_relaxed);
  counts_->segments.store(totals.segments, std::memory_order_relaxed);
  const auto verdict = policy_->verdict();
  if (!verdict.gain) return;
  counts_->plan_gain.store(*verdict.gain, std::memory_order_relaxed);
  counts_->plan_undone.store(verdict.undone, std::memory_order_relaxed);
  counts_->plan_tried.store(true, std::memory_order_relaxed);
}

// --- faults and I/O completions ---

// Returns the record of a thread of the program; replaces the one that was idle longest if there are too many.
Spill::Worker& Spill::worker(std::uint32_t thread) noexcept {
  const auto known = std::ranges::find(workers_, thread, &Worker::number);
  if (known != workers_.end()) return *known;
  if (workers_.size() == k_max_workers) workers_.erase(std::ranges::min_element(workers_, {}, &Worker::resumed));
  workers_.push_back({.number = thread});
  return workers_.back();
}

// Reports the access to the policy; maps the chunk if it is resident, else queues it.
void Spill::on_fault(std::uint64_t address, std::uint32_t thread) noexcept {
  const auto c = static_cast<ChunkId>((address - base_) / k_chunk);
  auto& chunk = chunks_[c];
  const auto time = steady_ns();
  const auto block = block_of(c);
  if (block != blocks_.end() && block->second.kernel_paged && !block->second.flushing)
    return faults_->wake(address_of(c), k_chunk);
  if (waiters_.size() < k_max_waiters)
    waiters_.push_back({c, thread, time});  // waits of further threads are not measured
  if (block != blocks_.end() && (block->second.handing_over || block->second.flushing)) return;
  if (chunk.state == ChunkState::mapped || chunk.state == ChunkState::unmanaged) {
    // A fault of another thread mapped it first, or the program freed the page (madvise).
    faults_->copy(page_down(address), reinterpret_cast<std::uint64_t>(k_zeros.data()), k_page);
    return resume_waiters(c);
  }
  counts_->touches.fetch_add(1, std::memory_order_relaxed);
  auto& toucher = worker(thread);
  const auto before = toucher.resumed;
  const auto worked = cpu_time_ns(thread);
  if (toucher.worked > 0 && worked > toucher.worked) {  // else a new thread has the same id
    program_work_ns_ += worked - toucher.worked;
    toucher.work.on_visit(Seconds{to_seconds(worked - toucher.worked)});
  }
  toucher.worked = worked;
  const bool expected = policy_->on_access(c, thread, Seconds{before > 0 ? to_seconds(time - before) : 0});
  if (!expected && chunk.state == ChunkState::swapped_out) ++num_unexpected_;
  update_prediction(time);
  if (chunk.state == ChunkState::unmapped_resident || (chunk.state == ChunkState::evicting && !chunk.writing)) {
    cancel_eviction(c);
    map_chunk(c);
    resume_waiters(c);
    ++num_soft_faults_;
    soft_fault_ns_ += steady_ns() - time;
    return;
  }
  if (!chunk.fault_pending && (chunk.state == ChunkState::swapped_out || chunk.state == ChunkState::reading)) {
    note_load(c, expected, toucher.work.is_sparse());
    if (block != blocks_.end() && block->second.handing_over) return;
  }
  if (!chunk.fault_pending && (chunk.state == ChunkState::empty || chunk.state == ChunkState::swapped_out))
    fault_queue_.push_back(c);
  chunk.fault_pending = true;
  notify_policy(c);
}

// Moves the page from the chunk's slot to its address. After a failure the chunk stays in its slot and is retried.
void Spill::map_chunk(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (pool_->map_to(chunk.slot, address_of(c)) != 0) {
    // UFFDIO_MOVE fails where the program has changed the protection of a part: copy instead. Where that fails,
    // too, the waiting threads keep waiting.
    if (!faults_->force_copy(address_of(c), pool_->address(chunk.slot), k_chunk)) {
      chunk.state = ChunkState::unmapped_resident;
      chunk.fault_pending = true;
      fault_queue_.push_back(c);
      return notify_policy(c);
    }
    pool_->on_copied(chunk.slot);
    chunk.pinned = true;
  }
  chunk.state = ChunkState::mapped;
  chunk.clean = chunk.refault_pending = false;
  set_prefetched(c, false);
  notify_policy(c);
}

// Wakes the threads that wait for a chunk, and accounts for their waits.
void Spill::resume_waiters(ChunkId c) noexcept {
  if (chunks_[c].state == ChunkState::unmapped_resident && chunks_[c].fault_pending)
    return;  // mapping it failed and is retried
  chunks_[c].fault_pending = false;
  notify_policy(c);
  faults_->wake(address_of(c), k_chunk);
  const auto time = steady_ns();
  std::erase_if(waiters_, [&](const Waiter& one) {
    if (one.chunk != c) return false;
    counts_->waited.fetch_add(time - one.since, std::memory_order_relaxed);
    worker(one.thread).resumed = time;
    return true;
  });
}

// Maps a chunk that was read if a thread waits for it; otherwise it stays in its slot. Retries a failed read.
void Spill::on_read_done(ChunkId c, int error) noexcept {
  auto& chunk = chunks_[c];
  --reads_;
  if (error != 0) {
    if (++chunk.failed_reads < k_max_read_attempts) return start_read(c, chunk.slot);
    say_once(said_read_,
             "the backing file cannot be read: accesses to the lost data raise SIGBUS; check the disk, or name "
             "another folder by --spill",
             error);
    faults_->poison(address_of(c), k_chunk);
    pool_->release(chunk.slot);
    set_prefetched(c, false);
    chunk.state = ChunkState::mapped;
    chunk.pinned = true;
    notify_policy(c);
    return resume_waiters(c);
  }
  counts_->read.fetch_add(k_chunk, std::memory_order_relaxed);
  chunk.failed_reads = 0;
  chunk.state = ChunkState::unmapped_resident;
  chunk.clean = true;
  if (!chunk.fault_pending) return;
  map_chunk(c);
  resume_waiters(c);
}

// Marks a chunk clean that was written; cancels its eviction if it is needed again. Pins what the file refused.
void Spill::on_write_done(ChunkId c, int error) noexcept {
  auto& chunk = chunks_[c];
  --writes_;
  chunk.writing = false;
  if (error != 0) {
    if (error != ENOSPC || !said_full_)
      say_once(said_write_,
               "the backing file cannot be written: the rest stays in memory; check the disk, or name another "
               "folder by --spill",
               error);
    pin(c);
  } else {
    counts_->written.fetch_add(k_chunk, std::memory_order_relaxed);
    chunk.clean = chunk.has_copy = true;
    if (!chunk.fault_pending && !chunk.refault_pending) return;
    cancel_eviction(c);
    if (!chunk.fault_pending) return;
    map_chunk(c);
  }
  resume_waiters(c);
}

// Keeps a chunk in memory because the file refused its content.
void Spill::pin(ChunkId c) noexcept {
  cancel_eviction(c);
  map_chunk(c);
  chunks_[c].pinned = true;
  set_refused(c, true);
  notify_policy(c);
}

}  // namespace terrace::transfer
