// The thread of spilled memory, and what happens to chunks. See spill.hpp; what shall happen is in spill_flow.cpp.
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

constexpr std::uint64_t k_adapt = 10'000'000;  // ns between two looks at what the rest of the process takes
using spill_limits::k_wait;
constexpr std::uint64_t k_needed = k_userfault_move | k_userfault_thread | k_userfault_remap;
constexpr std::size_t k_disk_threads = 4;
constexpr std::size_t k_workers = 256;   // threads of the program whose times are known
constexpr std::size_t k_waiting = 4096;  // that are known to wait
constexpr std::size_t k_min_slots = 4096;
alignas(k_page) constexpr std::array<std::byte, k_page> k_zeros{};

std::uint64_t map_anonymous(std::size_t size) {
  const auto got = syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (got == -1) throw Error(Code::failed, "no address space for memory over a file");
  return static_cast<std::uint64_t>(got);
}

}  // namespace

Spill::Spill(const Parts& parts)
    : SpillEngine(parts), base_(parts.base), count_(parts.size / k_chunk), counts_(parts.counts) {
  chunks_ = static_cast<Chunk*>(memory_at(map_anonymous(count_ * sizeof(Chunk))));
  heaps_ = static_cast<BlockUse*>(memory_at(map_anonymous(heaps() * sizeof(BlockUse))));
  bell_ = map_anonymous(k_page);
  sem_init(&ready_, 0, 0);
  sem_init(&forked_, 0, 0);
  places_ = static_cast<std::uint32_t>(count_);
  if (!start_signal_masked_thread(thread_, "terrace/spill", thread_body, this))
    problem_ = "no thread for memory over a file";
  else
    while (sem_wait(&ready_) != 0) {
    }
  if (problem_.empty()) return;
  if (thread_ != pthread_t{}) pthread_join(thread_, nullptr);
  syscall(SYS_munmap, chunks_, count_ * sizeof(Chunk));
  syscall(SYS_munmap, heaps_, heaps() * sizeof(BlockUse));
  syscall(SYS_munmap, bell_, k_page);
  throw Error(Code::failed, problem_);
}

int Spill::problem_here() noexcept { return Userfault(k_needed).error(); }

Spill::~Spill() {
  call({.what = Call::What::stop});
  pthread_join(thread_, nullptr);
  syscall(SYS_munmap, chunks_, count_ * sizeof(Chunk));
  syscall(SYS_munmap, heaps_, heaps() * sizeof(BlockUse));
  syscall(SYS_munmap, bell_, k_page);
}

// --- the thread ---

void* Spill::thread_body(void* self) {
  auto& spill = *static_cast<Spill*>(self);
  if (spill.parts_.enter) spill.parts_.enter();
  try {
    spill.begin();
  } catch (const std::exception& error) {
    spill.problem_ = error.what();
  }
  const bool begun = spill.problem_.empty();
  if (!begun) spill.end();
  sem_post(&spill.ready_);
  if (!begun) return nullptr;
  spill.run();
  spill.end();
  return nullptr;
}

void Spill::begin() {
  have_own_files();
  faults_.emplace(k_needed);
  if (!faults_->is_there())
    throw Error(Code::failed,
                "memory over a file cannot wait for page faults: " + why_no_userfault(faults_->error()));
  file_.emplace(parts_.folder);
  if (parts_.ring) disk_ = make_ring_queue(file_->file());
  if (!disk_) disk_ = make_thread_queue(file_->file(), k_disk_threads);
  way_ = disk_->name();
  // A chunk at its place has none: those that come, leave, or are put aside are fewer than the memory has chunks;
  // and what goes beyond the limit is at its place.
  const auto chunks = static_cast<std::size_t>(parts_.memory.value / k_chunk);
  pool_.emplace(*faults_, std::min(count_, std::max(2 * chunks, k_min_slots)));
  remapper_.emplace(parts_.enter);
  begun_ = steady_ns();
  begun_with_ = program_time();
  adapt_limit();
  foresight_ = parts_.foresight();
  waiting_.reserve(k_waiting);
  touches_.reserve(k_waiting);
  workers_.reserve(k_workers);
  needy_.reserve(count_);
  leaving_.reserve(count_);
  taken_.resize(count_);
  if (!keep_spare_blocks()) throw std::bad_alloc();
  prepare(base_, count_ * k_chunk);
  for (const auto& [address, size] : {std::pair(base_, count_ * k_chunk), std::pair(bell_, std::size_t{k_page})})
    if (const int error = faults_->watch(address, size); error != 0)
      throw Error(Code::failed,
                  std::string("memory over a file: pages cannot be watched: ") + std::strerror(error));
}

// Huge pages not for what the kernel would put there itself: where a mapping may have them, who touches an absent
// page leaves no page table behind, and the page that comes there stays a huge one. The kernel moves none between
// memory that is locked, as the program may have it for all that comes later, and memory that is not.
void Spill::prepare(std::uint64_t address, std::size_t size) noexcept {
  syscall(SYS_munlock, address, size);
  madvise(memory_at(address), size, MADV_DONTFORK);
  madvise(memory_at(address), size, MADV_HUGEPAGE);
}

// The files are this thread's.
void Spill::end() noexcept {
  disk_.reset();
  remapper_.reset();
  pool_.reset();
  file_.reset();
  faults_.reset();
}

void Spill::run() noexcept {
  while (!stop_ || reads_ + writes_ > 0) {
    pollfd files[] = {{faults_->file(), POLLIN, 0}, {disk_->file(), POLLIN, 0}, {remapper_->ended(), POLLIN, 0}};
    poll(files, 3, given_ > 0 ? fault_waits_.due_in_ms(steady_ns()) : k_wait);
    if (files[2].revents != 0) remapper_->hear();
    take_answers();
    take_faults();
    if (steady_ns() - adapted_ > k_adapt) adapt_limit();
    step();
    if (is_retaking_) go_on_retaking();
    if (giving_since_ > 0)
      go_on_giving();
    else if (given_ > 0)
      try_again();
    if (is_called_) answer_call();
    note_disk();
    keep_account();
  }
}

void Spill::take_faults() noexcept {
  std::uint64_t address = 0;
  std::uint32_t thread = 0;
  while (faults_->next_touch(address, &thread)) take_fault(address, thread);
}

void Spill::take_fault(std::uint64_t address, std::uint32_t thread) noexcept {
  if (address - bell_ < k_page) {
    is_called_ = true;
    answer_call();
  } else if (address - base_ < count_ * k_chunk) {
    touched(address, thread);
  } else {
    faults_->wake(page_down(address), k_page);  // a slot's: nobody's business
  }
}

void Spill::take_answers() noexcept {
  DiskAnswer answer;
  while (disk_->next(answer)) {
    const auto chunk = static_cast<ChunkId>(answer.token);
    if (chunks_[chunk].where == Where::reading)
      read_ended(chunk, answer.error);
    else
      write_ended(chunk, answer.error);
  }
}

void Spill::note_disk() noexcept {
  const auto now = steady_ns();
  if (busy_since_ > 0) counts_->busy.fetch_add(now - busy_since_, std::memory_order_relaxed);
  busy_since_ = reads_ + writes_ > 0 ? now : 0;
}

// How long it was expected to take until this touch, and took.
void Spill::note_predicted(std::uint64_t time) noexcept {
  const auto chunks = [](const std::atomic<std::uint64_t>& bytes) {
    return bytes.load(std::memory_order_relaxed) / k_chunk;
  };
  const auto seconds = [](std::uint64_t ns) { return Seconds{static_cast<double>(ns) * 1e-9}; };
  const auto nanoseconds = [](Seconds value) { return static_cast<std::uint64_t>(value.value * 1e9); };
  SpillMeasured measured;
  measured.now = seconds(time);
  measured.kept = spill_limits::kept(pool_->limit());
  measured.room = pool_->limit() - measured.kept;
  measured.under_way = reads_ + writes_;
  measured.written = chunks(counts_->written);
  measured.moved = chunks(counts_->read) + measured.written;
  measured.busy = seconds(counts_->busy.load(std::memory_order_relaxed));
  measured.foreseen = counts_->foreseen.load(std::memory_order_relaxed);
  measured.demanded = counts_->demanded.load(std::memory_order_relaxed);
  measured.unexpected = unexpected_;
  measured.clean = counts_->clean.load(std::memory_order_relaxed);
  measured.served = served_;
  measured.serving = seconds(serving_);
  const auto told = foresight_->predicted(measured);
  counts_->predicted.store(nanoseconds(told.predicted), std::memory_order_relaxed);
  counts_->measured.store(nanoseconds(told.measured), std::memory_order_relaxed);
  counts_->stretches.store(told.stretches, std::memory_order_relaxed);
  const auto verdict = foresight_->verdict();
  if (!verdict.gain) return;
  counts_->plan_gain.store(*verdict.gain, std::memory_order_relaxed);
  counts_->plan_undone.store(verdict.undone, std::memory_order_relaxed);
  counts_->plan_tried.store(true, std::memory_order_relaxed);
}

// --- what happens to chunks
// --------------------------------------------------------------------------------------

Spill::Worker& Spill::worker(std::uint32_t thread) noexcept {
  const auto known = std::ranges::find(workers_, thread, &Worker::number);
  if (known != workers_.end()) return *known;
  if (workers_.size() == k_workers) workers_.erase(std::ranges::min_element(workers_, {}, &Worker::resumed));
  workers_.push_back({.number = thread});
  return workers_.back();
}

void Spill::touched(std::uint64_t address, std::uint32_t thread) noexcept {
  const auto c = static_cast<ChunkId>((address - base_) / k_chunk);
  auto& chunk = chunks_[c];
  const auto time = steady_ns();
  const auto block = block_of(c);
  if (block != blocks_.end() && block->second.given && !block->second.settling)
    return faults_->wake(place(c), k_chunk);
  if (waiting_.size() < k_waiting) waiting_.push_back({c, thread, time});  // of more it is not known how long
  if (block != blocks_.end() && (block->second.leaving || block->second.settling)) return;
  if (chunk.where == Where::quiet || chunk.where == Where::left) {
    // Another thread was faster; or the program gave the page back to the system, by itself.
    faults_->copy(page_down(address), reinterpret_cast<std::uint64_t>(k_zeros.data()), k_page);
    return resume(c);
  }
  counts_->touches.fetch_add(1, std::memory_order_relaxed);
  auto& toucher = worker(thread);
  const auto before = toucher.resumed;
  const auto worked = processor_ns(thread);
  if (toucher.worked > 0 && worked > toucher.worked) {  // else it is another thread of the same number
    work_ += worked - toucher.worked;
    toucher.work.visited(Seconds{static_cast<double>(worked - toucher.worked) * 1e-9});
  }
  toucher.worked = worked;
  const bool expected =
      foresight_->touched(c, thread, Seconds{before > 0 ? static_cast<double>(time - before) * 1e-9 : 0});
  if (!expected && chunk.where == Where::disk) ++unexpected_;
  note_predicted(time);
  if (chunk.where == Where::ready || (chunk.where == Where::leaving && !chunk.writing)) {
    take_back(c);
    map(c);
    resume(c);
    ++served_;
    serving_ += steady_ns() - time;
    return;
  }
  if (!chunk.wanted && (chunk.where == Where::disk || chunk.where == Where::reading)) {
    loaded_for(c, expected, toucher.work.is_sparse());
    if (block != blocks_.end() && block->second.leaving) return;
  }
  if (!chunk.wanted && (chunk.where == Where::fresh || chunk.where == Where::disk)) needy_.push_back(c);
  chunk.wanted = true;
  tell(c);
}

// The slot's page becomes the chunk's.
void Spill::map(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (pool_->put(chunk.slot, place(c)) != 0) {
    // The kernel moves it not, where the program has changed the rights of a part; it is copied. Until that is
    // done who waits goes on waiting.
    if (!faults_->insist(place(c), pool_->address(chunk.slot), k_chunk)) {
      chunk.where = Where::ready;
      chunk.wanted = true;
      needy_.push_back(c);
      return tell(c);
    }
    pool_->copied(chunk.slot);
    chunk.stays = true;
  }
  chunk.where = Where::quiet;
  chunk.clean = chunk.rescued = false;
  is_foreseen(c, false);
  tell(c);
}

void Spill::resume(ChunkId c) noexcept {
  if (chunks_[c].where == Where::ready && chunks_[c].wanted) return;  // it could not be mapped yet
  chunks_[c].wanted = false;
  tell(c);
  faults_->wake(place(c), k_chunk);
  const auto time = steady_ns();
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.chunk != c) return false;
    counts_->waited.fetch_add(time - one.since, std::memory_order_relaxed);
    worker(one.thread).resumed = time;
    return true;
  });
}

void Spill::read_ended(ChunkId c, int error) noexcept {
  auto& chunk = chunks_[c];
  --reads_;
  if (error != 0) {
    if (++chunk.failed < k_read_tries) return start_read(c, chunk.slot);
    say_once(said_read_, "the spill file cannot be read: who touches what was lost gets a bus error", error);
    faults_->poison(place(c), k_chunk);
    pool_->give(chunk.slot);
    is_foreseen(c, false);
    chunk.where = Where::quiet;
    chunk.stays = true;
    tell(c);
    return resume(c);
  }
  counts_->read.fetch_add(k_chunk, std::memory_order_relaxed);
  chunk.failed = 0;
  chunk.where = Where::ready;
  chunk.clean = true;
  if (!chunk.wanted) return;
  map(c);
  resume(c);
}

void Spill::write_ended(ChunkId c, int error) noexcept {
  auto& chunk = chunks_[c];
  --writes_;
  chunk.writing = false;
  if (error != 0) {
    if (error != ENOSPC || !said_full_)
      say_once(said_write_, "the spill file cannot be written: what it does not take stays in memory", error);
    stay(c);
  } else {
    counts_->written.fetch_add(k_chunk, std::memory_order_relaxed);
    chunk.clean = chunk.has_copy = true;
    if (!chunk.wanted && !chunk.rescued) return;
    take_back(c);
    if (!chunk.wanted) return;
    map(c);
  }
  resume(c);
}

void Spill::stay(ChunkId c) noexcept {
  take_back(c);
  map(c);
  chunks_[c].stays = true;
  set_refused(c, true);
  tell(c);
}

}  // namespace terrace::transfer
