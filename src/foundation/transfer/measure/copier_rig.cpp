// SPDX-License-Identifier: Apache-2.0
// Implements the rig that `terrace machine measure` and the benchmarks time copiers with: real chunks to migrate,
// and a concurrent load that measures its slowdown. See copier_rig.hpp.
#include "transfer/measure/copier_rig.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/units.hpp"

namespace terrace::transfer {

namespace {

constexpr double k_max_interrupt_seconds = 100e-6;  // longer pauses are preemptions, shorter ones interrupts
constexpr std::size_t k_calibration_passes = 2001;
constexpr double k_min_share = 0.99;  // of pages on the requested node

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

machine::Machine two_places(int from_node, int to_node) {
  machine::MachineParts parts;
  parts.name = "two-places";
  parts.nodes = {{parts.name, {}, {}}};
  machine::Initiator core;
  core.name = "core";
  core.instruction_time = {1e-9};
  parts.initiators = {core};
  parts.domains = {{"all", 0, {}}};
  for (const PlaceId place : {PlaceId{0}, PlaceId{1}}) {
    const auto name = place == 0 ? std::string("from") : std::string("to");
    parts.nodes.push_back({name, 0, place});
    parts.places.push_back({name, name, {1ULL << 40}, {k_page}, 0, place == 0 ? from_node : to_node});
    parts.paths.push_back({0, place, {1e9}, {1e9}, {1e-7}});
  }
  return machine::Machine(std::move(parts));
}

CopierRig::CopierRig(const CopierVariant& variant, int from_node, int to_node, machine::Pages pages, Bytes memory)
    : machine_(two_places(from_node, to_node)),
      page_(std::make_unique<memory::LedgerPage>()),
      ledger_(*page_, machine::Budget(2, Bytes{1ULL << 40})),
      buffer_(memory, pages, from_node == to_node ? -1 : from_node),
      other_(memory, pages, from_node == to_node ? -1 : to_node),
      copier_(variant.make({machine_, chunks_, ledger_})) {
  if (from_node == to_node) return;
  for (const auto& [buffer, node] : {std::pair{&buffer_, from_node}, {&other_, to_node}})
    if (buffer->share_on(node).value_or(1) < k_min_share)
      throw Error(Code::no_memory, "NUMA node " + std::to_string(node) + " has too little free memory for " +
                                       format(memory) + "; measure again when more is free");
}

std::vector<double> CopierRig::sweep(Bytes size) {
  const auto memory = buffer_.as<std::byte>();
  const auto begin = reinterpret_cast<std::uint64_t>(memory.data());
  const auto to = static_cast<PlaceId>(1 - current_place_);
  std::vector<double> times;
  for (std::size_t at = 0; at + size.value <= memory.size(); at += size.value) {
    const auto id = chunks_.add(begin + at, static_cast<std::uint32_t>(size.value), 0, 0, current_place_);
    ledger_.take(current_place_, size);
    ChunkMigration migration;
    migration.chunk = &chunks_[id];
    const auto begun = seconds_now();
    copier_->migrate(std::span(&migration, 1), to);
    times.push_back(seconds_now() - begun);
    if (migration.refused)
      throw Error(Code::failed, std::string("the system refused to move pages: ") +
                                    std::strerror(migration.error) + "; free memory, and measure again");
    ledger_.give(to, size);
  }
  current_place_ = to;
  return times;
}

std::vector<double> CopierRig::copies(Bytes size) {
  const auto from = buffer_.as<std::byte>();
  const auto to = other_.as<std::byte>();
  std::vector<double> times;
  for (std::size_t at = 0; at + size.value <= from.size(); at += size.value) {
    const auto begun = seconds_now();
    copier_->copy(&to[at], &from[at], size.value);
    times.push_back(seconds_now() - begun);
  }
  return times;
}

void BackgroundLoad::pass() {
  constexpr std::size_t k_step = 8;  // a cache line
  for (std::size_t i = 0; i < data_.size(); i += k_step) {
    auto& number = static_cast<volatile std::uint64_t&>(data_[i]);
    number = number + 1;
  }
}

void BackgroundLoad::run() {
  std::vector<double> times(k_calibration_passes);
  for (auto& time : times) {
    const auto begun = seconds_now();
    pass();
    time = seconds_now() - begun;
  }
  std::nth_element(times.begin(), times.begin() + k_calibration_passes / 2, times.end());
  const auto usual = times[k_calibration_passes / 2];
  ready_ = true;
  for (double lost = 0; !stop_.load(std::memory_order_relaxed);) {
    const auto begun = seconds_now();
    pass();
    const auto more = seconds_now() - begun - usual;
    if (more > 0 && more < k_max_interrupt_seconds) lost += more;
    lost_.store(lost, std::memory_order_relaxed);
  }
}

void BackgroundLoad::await_calibration() const {
  while (!ready_) std::this_thread::yield();
}

}  // namespace terrace::transfer
