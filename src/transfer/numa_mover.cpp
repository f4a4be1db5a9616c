#include "transfer/numa_mover.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "access/thread.hpp"
#include "base/error.hpp"
#include "memory/numa_node.hpp"

namespace terrace::transfer {

using backend::Ticket;
using backend::TransferResult;

namespace {

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

NumaMover::NumaMover(const machine::Machine& machine, memory::ChunkTable& chunks, memory::Ledger& ledger,
                     backend::Clock& clock)
    : machine_(machine), chunks_(chunks), ledger_(ledger), clock_(clock) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto body = [](void* self) -> void* {
    const access::Inside inside;
    static_cast<NumaMover*>(self)->run();
    return nullptr;
  };
  const int problem = pthread_create(&thread_, nullptr, body, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem != 0) throw Error(Code::failed, "the system gives no thread for moving data");
}

NumaMover::~NumaMover() {
  {
    const Lock lock(mutex_);
    stop_ = true;
    pthread_cond_broadcast(&changed_);
  }
  pthread_join(thread_, nullptr);
}

Ticket NumaMover::submit(const backend::TransferRequest& request) {
  const Lock lock(mutex_);
  TransferResult transfer;
  transfer.ticket = next_++;
  transfer.chunk = request.chunk;
  transfer.to = request.to;
  transfer.asked = clock_.now();
  queue_.push_back(transfer);
  pthread_cond_broadcast(&changed_);
  return transfer.ticket;
}

bool NumaMover::finished(Ticket ticket) const {
  if (ticket >= next_) return true;
  if (busy_ && current_.ticket == ticket) return false;
  return std::none_of(queue_.begin(), queue_.end(), [&](const auto& one) { return one.ticket == ticket; });
}

bool NumaMover::done(Ticket ticket) {
  const Lock lock(mutex_);
  return finished(ticket);
}

void NumaMover::wait(Ticket ticket) {
  const Lock lock(mutex_);
  while (!finished(ticket)) pthread_cond_wait(&changed_, &mutex_);
}

void NumaMover::forget(memory::ChunkId first, std::uint32_t count) {
  const Lock lock(mutex_);
  const auto among = [&](const TransferResult& one) { return one.chunk >= first && one.chunk < first + count; };
  std::erase_if(queue_, among);
  while (busy_ && among(current_)) pthread_cond_wait(&changed_, &mutex_);
  pthread_cond_broadcast(&changed_);
}

std::vector<TransferResult> NumaMover::harvest() {
  const Lock lock(mutex_);
  return std::exchange(finished_, {});
}

void NumaMover::run() {
  const Lock lock(mutex_);
  for (;;) {
    while (queue_.empty() && !stop_) pthread_cond_wait(&changed_, &mutex_);
    if (stop_) return;
    current_ = queue_.front();
    queue_.pop_front();
    busy_ = true;
    pthread_mutex_unlock(&mutex_);
    carry_out(current_);
    pthread_mutex_lock(&mutex_);
    busy_ = false;
    finished_.push_back(current_);
    pthread_cond_broadcast(&changed_);
  }
}

void NumaMover::carry_out(TransferResult& transfer) {
  auto& chunk = chunks_[transfer.chunk];
  transfer.begun = clock_.now();
  transfer.from = chunk.place.load(std::memory_order_relaxed);
  transfer.done = transfer.begun;
  if (transfer.from == transfer.to) return;
  const Bytes size{chunk.size};
  const auto node = machine_.place(transfer.to).numa_node;
  if (!ledger_.take(transfer.to, size)) {
    transfer.refused = true;
    return;
  }
  status_.assign((chunk.size + memory::k_page - 1) / memory::k_page, 0);
  int problem = memory::prefer_node(chunk.address, status_.size() * memory::k_page, node);
  if (problem == 0) problem = memory::move_pages_to(chunk.address, node, status_);
  // Pages that are not there yet will come from the target; any other page that stayed behind is a refusal.
  const auto arrived = [&](int page) { return page == node || page == -ENOENT || page == -EFAULT; };
  const auto stayed = static_cast<std::size_t>(
      std::count_if(status_.begin(), status_.end(), [&](int page) { return !arrived(page); }));
  transfer.done = clock_.now();
  transfer.size = Bytes{(status_.size() - stayed) * memory::k_page};
  if (problem != 0 || stayed > status_.size() / 2) {
    // Most of it did not come: the account follows the pages, and what came by itself goes back.
    const auto home = machine_.place(transfer.from).numa_node;
    memory::prefer_node(chunk.address, status_.size() * memory::k_page, home);
    memory::move_pages_to(chunk.address, home, status_);
    ledger_.give(transfer.to, size);
    transfer.refused = true;
    transfer.size = Bytes{};
    return;
  }
  if (transfer.from != machine::k_no_place) ledger_.give(transfer.from, size);
  chunk.place.store(transfer.to, std::memory_order_relaxed);
}

}  // namespace terrace::transfer
