// SPDX-License-Identifier: Apache-2.0
// Implements the FR-FCFS scheduling of a DRAM channel, with write draining and refresh. MemorySide calls it for
// each request behind the L2 cache. See dram_channel.hpp.
#include "gpu_sim/engine/dram_channel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace terrace::gpu_sim {

DramChannel::DramChannel(const machine::GpuMemory& memory, double core_hertz)
    : banks_count_(memory.banks),
      lines_per_row_(memory.row_bytes / 128),
      window_(memory.queue),
      cycles_per_byte_(core_hertz * memory.channels / memory.bytes_per_second),
      banks_(memory.banks) {
  const auto scale = core_hertz / memory.command_hertz;
  row_to_column_ = memory.row_to_column * scale;
  precharge_ = memory.precharge * scale;
  row_cycle_ = memory.row_cycle * scale;
  row_to_row_ = memory.row_to_row * scale;
  read_latency_ = memory.read_latency * scale;
  write_latency_ = memory.write_latency * scale;
  write_to_read_ = memory.write_to_read * scale;
  read_to_write_ = memory.read_to_write * scale;
  refresh_interval_ = memory.refresh_interval * scale;
  refresh_ = memory.refresh * scale;
  next_refresh_ = refresh_ > 0 ? refresh_interval_ : std::numeric_limits<double>::infinity();
  for (auto& bank : banks_) bank.activated = -row_cycle_;
}

void DramChannel::add(Cycle now, std::uint64_t line, std::uint32_t bytes, TransferOwner owner) {
  const auto row = line / lines_per_row_;
  QueuedRequest waiting;
  waiting.row = static_cast<std::int64_t>(row / banks_count_);
  // Hash the bank, so that neighbouring rows, and rows a power of two apart, are in different banks.
  waiting.bank = static_cast<std::uint32_t>((row ^ (row / banks_count_)) % banks_count_);
  waiting.bytes = bytes;
  waiting.owner = owner;
  waiting.access = camat_.add_miss(now, 0);
  if (queue_.size() < window_)
    enqueue(waiting);
  else
    overflow_.push_back(waiting);
}

void DramChannel::enqueue(QueuedRequest waiting) {
  auto& bank = banks_[waiting.bank];
  ++bank.waiting[waiting.writes()];
  if (bank.row == waiting.row) ++bank.hits[waiting.writes()];
  if (waiting.writes()) ++writes_;
  queue_.push_back(waiting);
}

Cycle DramChannel::run(Cycle now_cycle) {
  const auto now = static_cast<double>(now_cycle);
  refresh(now);
  // A transfer may begin within the cycle, because the bus is not synchronous with the core's clock.
  while (bus_free_ < now + 1 && transfer(std::max(now, bus_free_))) {
  }
  open_rows(now);
  if (queue_.empty()) return 0;
  auto next = std::numeric_limits<double>::infinity();
  for (const auto& bank : banks_)
    if (bank.hit()) next = std::min(next, std::max(bank.ready, bus_free_));
  return std::max(now_cycle + 1, static_cast<Cycle>(std::floor(std::max(next, waits_until_))));
}

// Refreshes all banks at once, when refresh is due and the bus is free. Of the refreshes that were due in an idle
// period only the last one counts.
void DramChannel::refresh(double now) {
  if (now < next_refresh_) return;
  const auto due = next_refresh_ + std::floor((now - next_refresh_) / refresh_interval_) * refresh_interval_;
  next_refresh_ = due + refresh_interval_;
  bus_free_ = std::max(bus_free_, due) + refresh_;
  for (auto& bank : banks_) {
    bank.row = -1;
    bank.hits = {};
    bank.activated = bus_free_ - row_cycle_;
  }
}

// Returns whether writes go first. Writes are buffered to avoid turnarounds: they are drained from the time when
// they fill half of the queue until they fill an eighth.
bool DramChannel::prefers_writes() {
  if (writes_ >= (window_ + 1) / 2) is_draining_writes_ = true;
  if (writes_ <= window_ / 8) is_draining_writes_ = false;
  return is_draining_writes_;
}

// Opens rows for waiting requests. The preferred direction may close a row that the other still has requests for.
void DramChannel::open_rows(double now) {
  const bool first = prefers_writes();
  for (std::uint32_t number = 0; number < banks_count_; ++number) {
    const auto& bank = banks_[number];
    const bool may_close = !bank.hit() || bank.ready <= now;
    if (bank.waiting[first] != 0 && bank.hits[first] == 0 && may_close)
      open_row(number, first, now);
    else if (bank.waiting[!first] != 0 && !bank.hit())
      open_row(number, !first, now);
  }
}

// Opens the row of the oldest request of that direction for the bank.
void DramChannel::open_row(std::uint32_t number, bool writes, double now) {
  auto& bank = banks_[number];
  const auto oldest = std::find_if(queue_.begin(), queue_.end(), [&](const QueuedRequest& waiting) {
    return waiting.bank == number && waiting.writes() == writes;
  });
  const auto closed = std::max({now, bank.last_write, bank.activated + row_cycle_ - precharge_});
  bank.activated = bank.row < 0 ? std::max(now, bank.activated + row_cycle_) : closed + precharge_;
  bank.activated = std::max(bank.activated, last_activation_ + row_to_row_);
  last_activation_ = bank.activated;
  bank.ready = bank.activated + row_to_column_;
  bank.row = oldest->row;
  bank.hits = {};
  ++counts_.activations;
  for (const auto& other : queue_)
    if (other.bank == number && other.row == bank.row) ++bank.hits[other.writes()];
}

// Starts the transfer of the request that goes first, if its row is open. Returns false if none can start.
bool DramChannel::transfer(double now) {
  const bool writes_first = prefers_writes();
  const auto there_and_back = write_to_read_ + read_to_write_;
  waits_until_ = 0;
  auto chosen = queue_.end();
  auto soon = std::numeric_limits<double>::infinity();  // when a request of the preferred direction has its row
  for (auto at = queue_.begin(); at != queue_.end(); ++at) {
    const auto& bank = banks_[at->bank];
    if (bank.row != at->row) continue;
    if (bank.ready > now) {
      if (at->writes() == writes_first) soon = std::min(soon, bank.ready);
      continue;
    }
    if (chosen == queue_.end()) chosen = at;
    if (at->writes() != writes_first) continue;
    chosen = at;
    break;
  }
  if (chosen == queue_.end()) return false;
  // Two turnarounds for a single transfer take longer than to wait.
  if (chosen->writes() != writes_first && wrote_ == writes_first && soon <= now + there_and_back) {
    waits_until_ = soon;
    return false;
  }
  auto& bank = banks_[chosen->bank];
  const auto busy = chosen->bytes * cycles_per_byte_;
  const bool writes = chosen->writes();
  const auto turnaround = writes == wrote_ ? 0 : writes ? read_to_write_ : write_to_read_;
  wrote_ = writes;
  bus_free_ = std::max(now, bus_free_ + turnaround) + busy;
  if (writes) {
    --writes_;
    bank.last_write = bus_free_ + write_latency_;
  }
  const auto done = bus_free_ + (writes ? 0 : read_latency_);
  started_.push_back({static_cast<Cycle>(std::ceil(done)), chosen->owner, chosen->access});
  --bank.waiting[writes];
  --bank.hits[writes];
  count(*chosen);
  queue_.erase(chosen);
  if (!overflow_.empty()) {
    enqueue(overflow_.front());
    overflow_.pop_front();
  }
  return true;
}

void DramChannel::count(const QueuedRequest& waiting) {
  ++counts_.transfers;
  switch (waiting.owner.kind) {
    case TransferOwner::Kind::fill:
      counts_.fill_bytes += waiting.bytes;
      break;
    case TransferOwner::Kind::write_back:
      counts_.write_back_bytes += waiting.bytes;
      break;
    case TransferOwner::Kind::move_read:
      counts_.move_read_bytes += waiting.bytes;
      break;
    case TransferOwner::Kind::move_write:
      counts_.move_write_bytes += waiting.bytes;
      break;
    case TransferOwner::Kind::record:
      counts_.record_bytes += waiting.bytes;
      break;
  }
}

DramCounts& DramCounts::operator+=(const DramCounts& other) {
  fill_bytes += other.fill_bytes;
  write_back_bytes += other.write_back_bytes;
  move_read_bytes += other.move_read_bytes;
  move_write_bytes += other.move_write_bytes;
  record_bytes += other.record_bytes;
  transfers += other.transfers;
  activations += other.activations;
  return *this;
}

}  // namespace terrace::gpu_sim
