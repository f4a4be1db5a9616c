// SPDX-License-Identifier: Apache-2.0
// Implements the network, the L2 slices and the links between a simulated GPU's SMs and its DRAM channels. SMs
// send requests, PageMover copies pages through it. See memory_side.hpp.
#include "gpu_sim/engine/memory_side.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace terrace::gpu_sim {
namespace {

constexpr std::uint64_t k_interleave_bytes = 256;  // interleaving unit of a frame over the channels, in bytes
constexpr std::uint32_t k_all_sectors = 15;

std::uint32_t bytes_of(std::uint32_t sectors) {
  return static_cast<std::uint32_t>(std::popcount(sectors)) * k_sector_bytes;
}

}  // namespace

MemorySide::Slice::Slice(const machine::Gpu& gpu, const machine::GpuMemory& of, std::uint32_t number)
    : memory(number),
      cache(gpu.l2.bytes, gpu.l2.ways, k_line_bytes),
      mshrs(gpu.l2.mshrs, gpu.l2.merges),
      dram(of, gpu.hertz) {}

MemorySide::MemorySide(const machine::Gpu& gpu, EventWheel& events)
    : gpu_(gpu), events_(events), links_(gpu.memories.size()), processor_in_free_(gpu.processors) {
  for (std::uint32_t m = 0; m < gpu.memories.size(); ++m) {
    first_channel_.push_back(static_cast<std::uint32_t>(slices_.size()));
    for (std::uint32_t i = 0; i < gpu.memories[m].channels; ++i) slices_.emplace_back(gpu, gpu.memories[m], m);
  }
}

void MemorySide::locate(std::uint32_t memory, std::uint64_t frame_address, Request& request) const {
  const auto channels = gpu_.memories[memory].channels;
  const auto piece = frame_address / k_interleave_bytes;
  request.memory = memory;
  request.channel = first_channel_[memory] + static_cast<std::uint32_t>(piece % channels);
  request.line = (piece / channels * k_interleave_bytes + frame_address % k_interleave_bytes) / k_line_bytes;
}

void MemorySide::send(Request request) {
  auto& slice = slices_[request.channel];
  if (!gpu_.sectored && request.kind != StepKind::store) request.sectors = k_all_sectors;
  const auto& memory = gpu_.memories[request.memory];
  const auto data = request.kind == StepKind::store ? bytes_of(request.sectors) : 0;
  auto at = events_.now() + gpu_.network_latency;
  at = cross_link(request.memory, links_[request.memory].out_free, at, data) + memory.link_latency;
  at = std::max(at, slice.in_free);
  slice.in_free = at + 1 + data / gpu_.network_bytes;
  events_.schedule(at, {EventKind::request, 0, requests_.add(request)});
}

// Returns when `bytes` that enter the link at `at` have crossed it; at once if the memory has no link.
Cycle MemorySide::cross_link(std::uint32_t memory, double& free, Cycle at, std::uint32_t bytes) const {
  const auto rate = gpu_.memories[memory].link_bytes_per_second;
  if (rate == 0) return at;
  free = std::max(free, static_cast<double>(at)) + bytes * gpu_.hertz / rate;
  return static_cast<Cycle>(std::ceil(free));
}

bool MemorySide::look_up_request(std::uint32_t channel, std::uint32_t number) {
  auto& slice = slices_[channel];
  const auto& request = requests_[number];
  const auto now = events_.now();
  const auto latency = gpu_.l2.latency;
  if (request.kind == StepKind::store) {
    ++slice.counts.writes;
    slice.camat.add_hit(now, latency);
    // Whole sectors are written, so nothing is fetched.
    write(channel, request);
    send_answer(number, now + latency);
    return true;
  }
  const auto missing = request.sectors & ~slice.cache.look_up(request.line, request.sectors);
  if (missing == 0) {
    slice.camat.add_hit(now, latency);
    if (request.kind == StepKind::atomic) write(channel, request);
    send_answer(number, now + latency);
  } else {
    std::uint32_t mshr = 0;
    const auto result = slice.mshrs.wait(request.line, missing, {number, 0}, mshr);
    if (result == MshrTable<Waiter>::Result::full) return false;
    slice.mshrs[mshr].waiters.back().miss = slice.camat.add_miss(now, latency);
    if (result == MshrTable<Waiter>::Result::added) {
      slice.counts.fetched_sectors += static_cast<std::uint32_t>(std::popcount(missing));
      count_page_bytes(request.page, missing);
      events_.schedule(now + latency, {EventKind::fetch, channel, mshr});
    }
  }
  ++slice.counts.reads;
  return true;
}

// Writes into the slice. Sectors that become dirty count as the page's traffic, because they will be written back.
void MemorySide::write(std::uint32_t channel, const Request& request) {
  const auto filled = slices_[channel].cache.fill(request.line, request.sectors, request.sectors);
  write_back(channel, filled.victim);
  count_page_bytes(request.page, filled.dirtied);
}

void MemorySide::count_page_bytes(std::uint32_t page, std::uint32_t sectors) {
  if (page >= page_bytes_.size()) page_bytes_.resize(page + std::size_t{1});
  page_bytes_[page] += bytes_of(sectors);
}

void MemorySide::on_fill(std::uint32_t channel, std::uint32_t mshr) {
  auto& slice = slices_[channel];
  auto& entry = slice.mshrs[mshr];
  const auto now = events_.now();
  write_back(channel, slice.cache.fill(entry.line, entry.sectors, 0).victim);
  for (const auto& waiter : entry.waiters) {
    slice.camat.end_miss(waiter.miss, now);
    const auto& request = requests_[waiter.request];
    if (request.kind == StepKind::atomic) write(channel, request);
    send_answer(waiter.request, now);
  }
  slice.mshrs.release(mshr);
  while (!slice.refused.empty() && look_up_request(channel, slice.refused.front())) slice.refused.pop_front();
}

// Sends the data of a request back over link and network, each for its time.
void MemorySide::send_answer(std::uint32_t number, Cycle ready) {
  const auto& request = requests_[number];
  auto& slice = slices_[request.channel];
  const auto& memory = gpu_.memories[request.memory];
  // The answer to a store carries no data.
  const auto data = request.kind == StepKind::store ? 0 : bytes_of(request.sectors);
  const auto busy = static_cast<double>(data) / gpu_.network_bytes;
  slice.out_free = std::max(slice.out_free, static_cast<double>(ready)) + busy;
  auto at = static_cast<Cycle>(std::ceil(slice.out_free));
  at = cross_link(request.memory, links_[request.memory].in_free, at, data) + memory.link_latency +
       gpu_.network_latency;
  auto& in = processor_in_free_[request.processor];
  in = std::max(in, static_cast<double>(at) - busy) + busy;
  events_.schedule(std::max(events_.now() + 1, static_cast<Cycle>(std::ceil(in))), {EventKind::answer, 0, number});
}

Request MemorySide::take_answer(std::uint32_t number) {
  const auto request = requests_[number];
  requests_.release(number);
  return request;
}

void MemorySide::enqueue_transfer(std::uint32_t channel, std::uint64_t line, std::uint32_t sectors,
                                  TransferOwner::Kind kind, std::uint32_t number) {
  slices_[channel].dram.add(events_.now(), line, bytes_of(sectors), {kind, number});
  run_channel(channel);
}

// Lets the channel start transfers and schedules the events of their ends and of its next run.
void MemorySide::run_channel(std::uint32_t channel) {
  auto& slice = slices_[channel];
  const auto next = slice.dram.run(events_.now());
  for (const auto& completion : slice.dram.started())
    events_.schedule(std::max(events_.now() + 1, completion.at),
                     {EventKind::transferred, channel, completions_.add(completion)});
  slice.dram.started().clear();
  // One channel event at a time: an earlier one replaces a later one, which then finds nothing to do.
  if (next == 0 || (slice.runs_at > events_.now() && slice.runs_at <= next)) return;
  slice.runs_at = next;
  events_.schedule(next, {EventKind::channel, channel, 0});
}

void MemorySide::write_back(std::uint32_t channel, const SectorCache::Victim& victim) {
  if (victim.dirty == 0) return;
  auto& slice = slices_[channel];
  slice.counts.written_sectors += static_cast<std::uint32_t>(std::popcount(victim.dirty));
  enqueue_transfer(channel, victim.line, victim.dirty, TransferOwner::Kind::write_back, 0);
}

void MemorySide::copy_line(std::uint32_t memory, std::uint64_t frame_address, bool write, std::uint32_t number) {
  Request where;
  locate(memory, frame_address, where);
  enqueue_transfer(where.channel, where.line, k_all_sectors,
                   write ? TransferOwner::Kind::move_write : TransferOwner::Kind::move_read, number);
}

void MemorySide::write_sample(std::uint32_t memory, std::uint64_t frame_address) {
  Request where;
  locate(memory, frame_address, where);
  cross_link(memory, links_[memory].out_free, events_.now(), k_line_bytes);
  enqueue_transfer(where.channel, where.line, k_all_sectors, TransferOwner::Kind::record, 0);
}

Cycle MemorySide::cross_links(std::uint32_t from, std::uint32_t to) {
  auto at = events_.now();
  at = cross_link(from, links_[from].in_free, at, k_line_bytes) + gpu_.memories[from].link_latency;
  return cross_link(to, links_[to].out_free, at, k_line_bytes) + gpu_.memories[to].link_latency;
}

void MemorySide::flush_frame(std::uint32_t memory, std::uint64_t frame_address, std::uint64_t bytes) {
  for (std::uint64_t offset = 0; offset < bytes; offset += k_line_bytes) {
    Request where;
    locate(memory, frame_address + offset, where);
    write_back(where.channel, {where.line, slices_[where.channel].cache.drop(where.line)});
  }
}

void MemorySide::write_back_all() {
  for (std::uint32_t channel = 0; channel < slices_.size(); ++channel)
    slices_[channel].cache.clean([&](std::uint64_t line, std::uint32_t dirty) {
      write_back(channel, {line, dirty});
    });
}

std::optional<MemorySide::MovedLine> MemorySide::handle(const Event& event) {
  if (event.kind == EventKind::request) {
    const auto channel = requests_[event.detail].channel;
    auto& slice = slices_[channel];
    if (!slice.refused.empty() || !look_up_request(channel, event.detail)) slice.refused.push_back(event.detail);
    return std::nullopt;
  }
  auto& slice = slices_[event.subject];
  if (event.kind == EventKind::fetch) {
    const auto& entry = slice.mshrs[event.detail];
    enqueue_transfer(event.subject, entry.line, entry.sectors, TransferOwner::Kind::fill, event.detail);
    return std::nullopt;
  }
  if (event.kind == EventKind::channel) {
    if (slice.runs_at != events_.now()) return std::nullopt;
    slice.runs_at = 0;
    run_channel(event.subject);
    return std::nullopt;
  }
  const auto done = completions_[event.detail];
  completions_.release(event.detail);
  slice.dram.complete(events_.now(), done);
  const auto kind = done.owner.kind;
  if (kind == TransferOwner::Kind::fill) on_fill(event.subject, done.owner.number);
  if (kind == TransferOwner::Kind::move_read) return MovedLine{done.owner.number, false};
  if (kind == TransferOwner::Kind::move_write) return MovedLine{done.owner.number, true};
  return std::nullopt;
}

std::uint64_t MemorySide::move_bytes(std::uint32_t memory) const {
  std::uint64_t bytes = 0;
  for (const auto& slice : slices_)
    if (slice.memory == memory) bytes += slice.dram.counts().move_bytes();
  return bytes;
}

std::uint64_t MemorySide::demand_bytes(std::uint32_t memory) const {
  std::uint64_t bytes = 0;
  for (const auto& slice : slices_)
    if (slice.memory == memory) bytes += slice.dram.counts().demand_bytes();
  return bytes;
}

SliceCounts& SliceCounts::operator+=(const SliceCounts& other) {
  reads += other.reads;
  writes += other.writes;
  fetched_sectors += other.fetched_sectors;
  written_sectors += other.written_sectors;
  return *this;
}

}  // namespace terrace::gpu_sim
