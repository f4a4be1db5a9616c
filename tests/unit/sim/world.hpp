// A small machine with two or three kinds of memory, and everything that a virtual machine needs, for tests.
#pragma once

#include <memory>
#include <vector>

#include "memory/ledger.hpp"
#include "sim/engine/synthetic_generator.hpp"
#include "sim/engine/virtual_machine.hpp"

namespace terrace::sim {

// Unimem's machine (fast 16 GB/s, 86 ns; slow memory `bandwidth` and `latency` times that), one core of 2.4 GHz.
struct MachineChoice {
  double bandwidth = 0.5;
  double latency = 1;
  double instruction_ns = 0.25;
  double mlp = 10;
  double prefetch_mlp = 20;
  double copy = 0;     // bytes/s; 0: the lower bandwidth of both memories
  double write = 1;    // ratio of write to read bandwidth
  bool third = false;  // a third kind, half as fast as the slow one
  machine::CopierPrice copier{.name = machine::k_ideal_copier};
  std::uint32_t cores = 1;
};

inline machine::Machine test_machine(const MachineChoice& choice = {}) {
  machine::MachineParts parts;
  parts.name = "test";
  const double read = 16e9;
  const double latency = 86e-9;
  parts.places = {{"fast", "dram", {1ull << 30}, {4096}, 0, -1}, {"slow", "nvm", {16ull << 30}, {4096}, 0, -1}};
  parts.paths = {
      {0, 0, {read}, {read * choice.write}, {latency}},
      {0, 1, {read * choice.bandwidth}, {read * choice.bandwidth * choice.write}, {latency * choice.latency}}};
  if (choice.third) {
    parts.places.push_back({"far", "cxl", {8ull << 30}, {4096}, 0, -1});
    parts.paths.push_back({0,
                           2,
                           {read * choice.bandwidth / 2},
                           {read * choice.bandwidth * choice.write / 2},
                           {latency * choice.latency * 2}});
  }
  parts.copiers = {choice.copier};
  if (choice.copy > 0) parts.copies = {{0, 1, {choice.copy}}, {1, 0, {choice.copy}}};
  machine::Initiator initiator;
  initiator.name = "core";
  initiator.cores = choice.cores;
  initiator.frequency_hz = 2.4e9;
  initiator.instruction_time = {choice.instruction_ns * 1e-9};
  initiator.mlp = choice.mlp;
  initiator.prefetch_mlp = choice.prefetch_mlp;
  initiator.caches = {{"l1", {32u << 10}, 8, false, {1e-9}},
                      {"l2", {256u << 10}, 8, false, {4e-9}},
                      {"l3", {1u << 20}, 16, true, {20e-9}}};
  parts.initiators = {initiator};
  parts.domains = {{"node", 0, {}}};
  return machine::Machine(parts);
}

class TestWorld {
 public:
  explicit TestWorld(machine::Machine with = test_machine(), const machine::Budget& budget = {}, double cores = 1,
                     InitiatorId initiator = 0)
      : machine(std::move(with)),
        page(std::make_unique<memory::LedgerPage>()),
        ledger(*page, budget.empty() ? whole(machine) : budget),
        virtual_machine(machine, initiator, cores, chunks, ledger) {}

  static machine::Budget whole(const machine::Machine& of) {
    machine::Budget budget;
    for (const auto& place : of.places()) budget.push_back(place.capacity);
    return budget;
  }

  // Adds `count` chunks of `size` bytes on `place`, charged to the ledger as the runtime does.
  ChunkId add_chunks(std::uint32_t count, std::uint32_t size, PlaceId place) {
    const auto first = static_cast<ChunkId>(chunks.size());
    const DomainId domain = place == k_no_place ? DomainId{0} : machine.place(place).domain;
    for (std::uint32_t i = 0; i < count; ++i) {
      chunks.add(0x100000 + std::uint64_t{first + i} * size, size, 0, domain, place);
      if (place != k_no_place && !ledger.take(place, {size})) throw Error(Code::no_memory, "test: no room");
    }
    return first;
  }
  // Adds an array of `lines` lines in chunks of 1,024 lines, on `place`.
  SyntheticArray add_array(std::uint32_t lines, PlaceId place) {
    constexpr std::uint32_t k_lines = 1024;  // of a chunk
    const auto count = (lines + k_lines - 1) / k_lines;
    return {add_chunks(count, k_lines * 64, place), lines, k_lines};
  }
  double now() { return virtual_machine.now().value; }

  machine::Machine machine;
  std::unique_ptr<memory::LedgerPage> page;
  memory::ChunkTable chunks;
  memory::Ledger ledger;
  VirtualMachine virtual_machine;
};

}  // namespace terrace::sim
