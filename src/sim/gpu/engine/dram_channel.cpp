// FR-FCFS. See dram_channel.hpp.
#include "sim/gpu/engine/dram_channel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace terrace::sim::gpu {

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
  read_latency_ = memory.read_latency * scale;
  write_latency_ = memory.write_latency * scale;
  for (auto& bank : banks_) bank.activated = -row_cycle_;
}

void DramChannel::add(Cycle now, std::uint64_t line, std::uint32_t bytes, TransferOwner owner) {
  const auto row = line / lines_per_row_;
  Waiting waiting;
  waiting.row = static_cast<std::int64_t>(row / banks_count_);
  // Rows of neighbouring numbers are in different banks, also where they are a power of two apart.
  waiting.bank = static_cast<std::uint32_t>((row ^ (row / banks_count_)) % banks_count_);
  waiting.bytes = bytes;
  waiting.owner = owner;
  waiting.access = camat_.miss(now, 0);
  if (queue_.size() < window_)
    take_in(waiting);
  else
    behind_.push_back(waiting);
}

void DramChannel::take_in(Waiting waiting) {
  auto& bank = banks_[waiting.bank];
  if (bank.row == waiting.row) ++bank.hits;
  queue_.push_back(waiting);
}

Cycle DramChannel::run(Cycle now_cycle) {
  const auto now = static_cast<double>(now_cycle);
  // A transfer may begin within the cycle: the bus does not wait for the core's clock.
  while (bus_free_ < now + 1 && transfer(std::max(now, bus_free_))) {
  }
  open_rows(now);
  if (queue_.empty()) return 0;
  auto next = std::numeric_limits<double>::infinity();
  for (const auto& bank : banks_)
    if (bank.hits != 0) next = std::min(next, std::max(bank.ready, bus_free_));
  return std::max(now_cycle + 1, static_cast<Cycle>(std::floor(next)));
}

void DramChannel::open_rows(double now) {
  for (const auto& waiting : queue_) {
    auto& bank = banks_[waiting.bank];
    if (bank.hits != 0 || bank.row == waiting.row) continue;
    const auto closed = std::max({now, bank.last_write, bank.activated + row_cycle_ - precharge_});
    bank.activated = bank.row < 0 ? std::max(now, bank.activated + row_cycle_) : closed + precharge_;
    bank.ready = bank.activated + row_to_column_;
    bank.row = waiting.row;
    ++counts_.activations;
    for (const auto& other : queue_)
      if (other.bank == waiting.bank && other.row == bank.row) ++bank.hits;
  }
}

bool DramChannel::transfer(double now) {
  const auto chosen = std::find_if(queue_.begin(), queue_.end(), [&](const Waiting& waiting) {
    const auto& bank = banks_[waiting.bank];
    return bank.row == waiting.row && bank.ready <= now;
  });
  if (chosen == queue_.end()) return false;
  auto& bank = banks_[chosen->bank];
  const auto busy = chosen->bytes * cycles_per_byte_;
  bus_free_ = now + busy;
  const bool writes =
      chosen->owner.kind != TransferOwner::Kind::fill && chosen->owner.kind != TransferOwner::Kind::move_read;
  if (writes) bank.last_write = bus_free_ + write_latency_;
  const auto done = bus_free_ + (writes ? 0 : read_latency_);
  started_.push_back({static_cast<Cycle>(std::ceil(done)), chosen->owner, chosen->access});
  --bank.hits;
  count(*chosen);
  queue_.erase(chosen);
  if (!behind_.empty()) {
    take_in(behind_.front());
    behind_.pop_front();
  }
  return true;
}

void DramChannel::count(const Waiting& waiting) {
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

}  // namespace terrace::sim::gpu
