// SPDX-License-Identifier: Apache-2.0
// Implements the mover thread and its queue of transfers, which the runtime fills in a program on real memory. See
// move_queue.hpp.
#include "transfer/move_queue.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>

#include "core/error.hpp"
#include "core/internal_thread.hpp"
#include "core/system_time.hpp"
#include "memory/numa_node.hpp"

namespace terrace::transfer {

namespace {

// Max size of a group: larger calls are hardly cheaper per page, and a wait for one chunk is a wait for its group.
constexpr std::size_t k_group_bytes = 512 * k_page;
constexpr std::size_t k_group_chunks = 512;
constexpr double k_max_throttle_seconds = 0.1;
constexpr double k_max_due_wait_seconds = 10;  // then the clock is read again

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

timespec add_seconds(const timespec& time, double seconds) {
  return add_ns(time, static_cast<std::int64_t>(seconds * 1e9));
}

// Reserves capacity for results, geometrically: the mover thread must not allocate, as it could not report a
// failure.
template <class Element>
void reserve_capacity(std::vector<Element>& list, std::size_t elements) {
  if (list.capacity() < elements) list.reserve(std::max(elements, 2 * list.capacity()));
}

void refuse(TransferResult& result, const memory::Chunk& chunk, Seconds now) {
  result.from = chunk.place.load(std::memory_order_relaxed);
  result.begun = result.done = now;
  result.refused = true;
}

// Replaces a sentinel that cannot report by its fallback time.
void fall_back_to_time(TransferStart& start) {
  start.due = start.fallback_due;
  start.sentinel = memory::k_no_chunk;
}

}  // namespace

MoveQueue::MoveQueue(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger,
                     Clock& clock, void (*enter)())
    : machine_(machine),
      chunks_(chunks),
      ledger_(ledger),
      clock_(clock),
      enter_(enter),
      copiers_({machine, chunks, ledger, enter}) {}

MoveQueue::~MoveQueue() { stop_thread(); }

void MoveQueue::stop_thread() {
  {
    const Lock lock(mutex_);
    stop_ = true;
    pthread_cond_signal(&work_available_);
  }
  if (is_running_) pthread_join(thread_, nullptr);
  is_running_ = false;
}

void MoveQueue::end() {
  stop_thread();
  sentinels_.reset();
  copiers_.clear();
}

// Starts the mover thread on first use. Requires the mutex. Lazy, because most programs move nothing and some
// system calls fail in a multithreaded process.
bool MoveQueue::ensure_thread() {
  if (is_running_) return true;
  migrations_.reserve(k_group_chunks);
  group_.reserve(k_group_chunks);
  is_running_ = start_signal_masked_thread(thread_, "terrace/mover", thread_body, this);
  return is_running_;
}

Ticket MoveQueue::submit(std::span<const TransferRequest> requests) {
  for (const auto& request : requests)
    if (request.to >= machine_.places().size())
      throw Error(Code::invalid, "data cannot be moved to place number " + std::to_string(request.to) +
                                     ": the machine has " + std::to_string(machine_.places().size()) +
                                     " places, numbered from 0");
  Transfer transfer;
  transfer.result.asked = clock_.now();
  const Lock lock(mutex_);
  const auto first = next_;
  const bool refused = !requests.empty() && !ensure_thread();
  reserve_capacity(finished_, finished_.size() + group_.size() + queue_.size() + requests.size());
  reserve_capacity(split_chunks_, split_chunks_.size() + group_.size() + queue_.size() + requests.size());
  for (const auto& request : requests) {
    transfer.chunk = &chunks_[request.chunk];
    transfer.result.ticket = next_++;
    transfer.result.chunk = request.chunk;
    transfer.result.to = request.to;
    transfer.start = request.start;
    transfer.sentinel = request.start.sentinel != memory::k_no_chunk ? &chunks_[request.start.sentinel] : nullptr;
    transfer.epoch = epoch_;
    if (refused) {
      refuse(transfer.result, *transfer.chunk, transfer.result.asked);
      finished_.push_back(transfer.result);
      continue;
    }
    sentinels_changed_ = sentinels_changed_ || transfer.sentinel;
    queue_.push_back(transfer);
  }
  pthread_cond_signal(&work_available_);
  return first;
}

bool MoveQueue::is_finished(Ticket ticket) const {
  const auto is_it = [&](const Transfer& one) { return one.result.ticket == ticket; };
  const auto before = [](const Transfer& one, Ticket wanted) { return one.result.ticket < wanted; };
  const auto queued = std::lower_bound(queue_.begin(), queue_.end(), ticket, before);
  return (queued == queue_.end() || !is_it(*queued)) && std::none_of(group_.begin(), group_.end(), is_it);
}

bool MoveQueue::done(Ticket ticket) {
  const Lock lock(mutex_);
  return is_finished(ticket);
}

void MoveQueue::wait(Ticket ticket) {
  const Lock lock(mutex_);
  for (auto& transfer : queue_)
    if (transfer.result.ticket <= ticket) transfer.start = {};
  sentinels_changed_ = true;
  ++num_waiting_;
  pthread_cond_signal(&work_available_);
  while (!is_finished(ticket)) pthread_cond_wait(&transfer_finished_, &mutex_);
  --num_waiting_;
}

void MoveQueue::expedite_pending() {
  const Lock lock(mutex_);
  for (auto& transfer : queue_) transfer.start = {};
  ++epoch_;
  sentinels_changed_ = true;
  group_rate_ = 0;
  pthread_cond_signal(&work_available_);
}

void MoveQueue::limit_rate(double share) {
  const Lock lock(mutex_);
  rate_limit_ = share;
  pthread_cond_signal(&work_available_);
}

// Pauses after `worked` of transfer time so that the rate limit holds, unless a thread waits.
void MoveQueue::throttle(Seconds worked) {
  const auto begun = read_clock(CLOCK_MONOTONIC);
  for (;;) {
    const auto rate = group_rate_ > 0 ? group_rate_ : rate_limit_;
    if (rate >= 1 || num_waiting_ > 0 || stop_) return;
    const auto pause = std::min(worked.value * (1 / rate - 1), k_max_throttle_seconds);
    const auto end = add_seconds(begun, pause);
    if (pthread_cond_clockwait(&work_available_, &mutex_, CLOCK_MONOTONIC, &end) == ETIMEDOUT) return;
  }
}

bool MoveQueue::in_group(ChunkId first, std::uint32_t count) const {
  return std::any_of(group_.begin(), group_.end(),
                     [&](const Transfer& one) { return one.result.chunk - first < count; });
}

// Called before the memory of a freed object is reused.
void MoveQueue::forget(ChunkId first, std::uint32_t count) {
  const Lock lock(mutex_);
  ++num_forgetting_;
  disarm(first, count);
  for (auto& transfer : queue_)
    if (transfer.start.sentinel - first < count) fall_back_to_time(transfer.start);
  const auto now = clock_.now();
  std::erase_if(queue_, [&](Transfer& one) {
    if (one.result.chunk - first >= count) return false;
    refuse(one.result, *one.chunk, now);
    finished_.push_back(one.result);
    return true;
  });
  // Threads that wait for one of these return.
  pthread_cond_broadcast(&transfer_finished_);
  while (in_group(first, count)) pthread_cond_wait(&transfer_finished_, &mutex_);
  std::erase_if(split_chunks_, [&](const SplitChunk& one) {
    if (one.chunk - first >= count) return false;
    for (PlaceId place = 0; place < memory::k_ledger_places; ++place)
      if ((one.other_places >> place & 1) != 0) ledger_.give(place, Bytes{chunks_[one.chunk].size});
    return true;
  });
  for (auto id = first; id - first < count; ++id) {
    auto& chunk = chunks_[id];
    const auto place = chunk.place.exchange(k_no_place, std::memory_order_relaxed);
    if (place != k_no_place) ledger_.give(place, Bytes{chunk.size});
  }
  if (--num_forgetting_ == 0) pthread_cond_signal(&work_available_);
}

std::vector<TransferResult> MoveQueue::completions() {
  const Lock lock(mutex_);
  std::vector<TransferResult> results(finished_.begin(), finished_.end());
  finished_.clear();  // keeps its capacity
  return results;
}

void* MoveQueue::thread_body(void* self) {
  auto& mover = *static_cast<MoveQueue*>(self);
  if (mover.enter_ != nullptr) mover.enter_();
  mover.run();
  return nullptr;
}

// Loop of the mover thread: waits until a group of transfers is due, and migrates it.
void MoveQueue::run() noexcept {
  const Lock lock(mutex_);
  for (;;) {
    await_due();
    if (stop_) return;
    take_group();
    for (const auto& transfer : group_) disarm(transfer.result.chunk, 1);
    pthread_mutex_unlock(&mutex_);
    migrate_group();
    pthread_mutex_lock(&mutex_);
    const auto worked = group_.front().result.done - group_.front().result.begun;
    record_results();
    pthread_cond_broadcast(&transfer_finished_);
    throttle(worked);
  }
}

// Reads the clock only if the result depends on it.
bool MoveQueue::is_due(const Transfer& transfer) {
  const auto due = transfer.start.due;
  return due.value <= 0 || (due < k_never && due <= clock_.now());
}

// Waits until the first transfer is due or the mover stops.
void MoveQueue::await_due() {
  while (!stop_) {
    if (sentinels_changed_) arm_sentinels();
    if (queue_.empty() || num_forgetting_ > 0 || queue_.front().start.due == k_never) {
      pthread_cond_wait(&work_available_, &mutex_);
      continue;
    }
    if (is_due(queue_.front())) return;
    const auto left = (queue_.front().start.due - clock_.now()).value;
    const auto end = add_seconds(read_clock(CLOCK_MONOTONIC), std::clamp(left, 0.0, k_max_due_wait_seconds));
    pthread_cond_clockwait(&work_available_, &mutex_, CLOCK_MONOTONIC, &end);
  }
}

// Arms exactly the sentinels of queued transfers. A sentinel chunk that migrates is re-armed afterwards, as is one
// of an earlier epoch. Where the system cannot watch a chunk, its transfers use their fallback time.
void MoveQueue::arm_sentinels() {
  sentinels_changed_ = false;
  const auto armed = [&](const Transfer& transfer) {
    return std::ranges::find_if(armed_, [&](const ArmedSentinel& one) {
      return one.chunk == transfer.start.sentinel && one.epoch == transfer.epoch;
    });
  };
  for (auto& one : armed_) one.wanted = false;
  for (const auto& transfer : queue_)
    if (const auto known = armed(transfer); known != armed_.end()) known->wanted = true;
  std::erase_if(armed_, [&](const ArmedSentinel& one) {
    if (!one.wanted) sentinels_->disarm(one.chunk, 1);
    return !one.wanted;
  });
  for (auto& transfer : queue_)
    if (transfer.start.sentinel != memory::k_no_chunk && armed(transfer) == armed_.end() && !arm(transfer))
      fall_back_to_time(transfer.start);
}

// Arms the transfer's sentinel. Returns false where the system cannot watch its chunk.
bool MoveQueue::arm(const Transfer& transfer) {
  if (!sentinels_ && !no_sentinels_) {
    try {
      armed_.reserve(PageSentinels::k_max);
      sentinels_ = std::make_unique<PageSentinels>(on_sentinel_touched, this, enter_);
    } catch (const std::exception&) {
      no_sentinels_ = true;
    }
  }
  const auto& chunk = *transfer.sentinel;
  if (!sentinels_ || !sentinels_->arm(transfer.start.sentinel, transfer.epoch, chunk.address, chunk.size))
    return false;
  armed_.push_back({transfer.start.sentinel, transfer.epoch, true});
  return true;
}

void MoveQueue::disarm(ChunkId first, std::uint32_t count) {
  const auto gone = std::erase_if(armed_, [&](const ArmedSentinel& one) { return one.chunk - first < count; });
  if (gone == 0) return;
  sentinels_->disarm(first, count);
  sentinels_changed_ = true;
}

// Makes the sentinel's transfers and all before them due, whatever their own start conditions.
void MoveQueue::on_touch(ChunkId sentinel, std::uint64_t epoch) {
  const Lock lock(mutex_);
  std::erase_if(armed_, [&](const ArmedSentinel& one) { return one.chunk == sentinel && one.epoch == epoch; });
  const auto last = std::find_if(queue_.rbegin(), queue_.rend(), [&](const Transfer& one) {
    return one.start.sentinel == sentinel && one.epoch == epoch;
  });
  for (auto at = last; at != queue_.rend(); ++at) {
    at->start.due = {};
    at->start.sentinel = memory::k_no_chunk;
  }
  sentinels_changed_ = true;
  pthread_cond_signal(&work_available_);
}

void MoveQueue::on_sentinel_touched(void* self, ChunkId sentinel, std::uint64_t epoch) noexcept {
  static_cast<MoveQueue*>(self)->on_touch(sentinel, epoch);
}

// Takes the next group: transfers at the head of the queue with one copier, target and rate, up to the size
// limits; each chunk occurs once.
void MoveQueue::take_group() {
  migrations_.clear();
  std::size_t bytes = 0;
  while (!queue_.empty() && group_.size() < k_group_chunks) {
    const auto& next = queue_.front();
    auto* const copier = copiers_.find(next.chunk->place.load(std::memory_order_relaxed), next.result.to);
    if (group_.empty()) {
      copier_ = copier;
      group_rate_ = next.start.rate;
    }
    if (!group_.empty() && (copier != copier_ || next.start.rate != group_rate_ || !is_due(next) ||
                            next.result.to != group_.front().result.to ||
                            bytes + next.chunk->size > k_group_bytes || in_group(next.result.chunk, 1)))
      break;
    bytes += next.chunk->size;
    ChunkMigration migration;
    migration.chunk = next.chunk;
    const auto split = std::find_if(split_chunks_.begin(), split_chunks_.end(),
                                    [&](const SplitChunk& one) { return one.chunk == next.result.chunk; });
    if (split != split_chunks_.end()) {
      migration.other_places = split->other_places;
      split_chunks_.erase(split);
    }
    migrations_.push_back(migration);
    group_.push_back(next);
    queue_.pop_front();
  }
}

// Migrates the group. Runs without the mutex, so that requests are accepted meanwhile.
void MoveQueue::migrate_group() {
  const auto begun = clock_.now();
  for (auto& transfer : group_) {
    transfer.result.begun = begun;
    transfer.result.from = transfer.chunk->place.load(std::memory_order_relaxed);
  }
  if (copier_)
    copier_->migrate(migrations_, group_.front().result.to);
  else
    for (auto& migration : migrations_) migration.refuse(ENOTSUP);
  const auto done = clock_.now();
  for (auto& transfer : group_) transfer.result.done = done;
}

// Moves the results of the group to those that completions() returns.
void MoveQueue::record_results() {
  for (std::size_t i = 0; i < group_.size(); ++i) {
    auto& result = group_[i].result;
    result.size = migrations_[i].size;
    result.refused = migrations_[i].refused;
    result.error = migrations_[i].error;
    if (migrations_[i].other_places != 0) split_chunks_.push_back({result.chunk, migrations_[i].other_places});
    finished_.push_back(result);
  }
  group_.clear();
}

}  // namespace terrace::transfer
