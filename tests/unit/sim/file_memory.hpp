// Runs a program on a machine of one memory with a backing file, for tests.
#pragma once

#include <memory>
#include <vector>

#include "strategy/spill/belady_policy.hpp"
#include "world.hpp"

namespace terrace::sim {

inline constexpr std::uint64_t k_spilled_chunk = 2 << 20;

struct FileChoice {
  double read = 4e9;
  double write = 2e9;
  double latency = 100e-6;
  double memory = 16e9;
  std::uint32_t requests = 64;
  std::uint32_t cores = 4;
  double instruction_ns = 0.25;
};

inline machine::Machine file_machine(const FileChoice& choice = {}) {
  MachineChoice base;
  base.cores = choice.cores;
  base.instruction_ns = choice.instruction_ns;
  base.copier = {"swap", {2 << 20}, {25e-6}, {}, {20e-6}, Seconds{4e-6}, 1, 0};
  auto parts = test_machine(base).parts();
  parts.places.erase(parts.places.begin());
  parts.paths.erase(parts.paths.begin());
  parts.paths[0].place = 0;
  parts.paths[0].read = parts.paths[0].write = {choice.memory};
  parts.nodes.clear();
  parts.domains = {{"node", 0, {}}};
  parts.files = {{"disk", 0, {choice.read}, {choice.write}, {choice.latency}, choice.requests}};
  return machine::Machine(parts);
}

// `memory` 0: no limit, and no file.
class FileWorld {
 public:
  explicit FileWorld(std::uint64_t memory_chunks, const FileChoice& choice = {})
      : world(file_machine(choice)), synthetic(world.virtual_machine, Bytes{64}) {
    if (memory_chunks > 0)
      world.virtual_machine.enable_backing_file(0, Bytes{memory_chunks * k_spilled_chunk},
                                                std::make_unique<strategy::BeladyPolicy>());
  }

  // Adds an object of whole chunks.
  SyntheticArray add(std::uint32_t chunks) {
    const auto first = world.add_chunks(chunks, k_spilled_chunk, k_no_place);
    for (auto c = first; c < first + chunks; ++c) world.chunks[c].object = objects;
    ++objects;
    return {first, chunks * 32768, 32768};
  }
  void remove(const SyntheticArray& array) {
    const auto count = array.lines / array.chunk_lines;
    synthetic.flush();
    world.virtual_machine.forget(array.first, count);
    for (auto c = array.first; c < array.first + count; ++c) world.chunks[c].live = false;
  }
  void read(const SyntheticArray& array) {
    synthetic.stream(StreamKernel::sum, std::vector{array});
    synthetic.flush();
  }
  void write(const SyntheticArray& array) {  // in place
    synthetic.stream(StreamKernel::copy, std::vector{array, array});
    synthetic.flush();
  }
  // Writes lines back only after k_lines more have been read, as a cache does.
  void write_behind(const SyntheticArray& array, std::uint32_t lag) {
    constexpr std::uint32_t k_lines = 2048;  // of a quantum
    std::vector<observe::Miss> misses;
    const auto miss = [&](std::uint32_t line, observe::MissKind kind) {
      misses.push_back(
          {array.first + line / array.chunk_lines, static_cast<std::uint16_t>(line % array.chunk_lines), 0, kind});
    };
    for (std::uint32_t line = 0; line < array.lines + lag; ++line) {
      if (line < array.lines) miss(line, observe::MissKind::prefetched);
      if (line >= lag) miss(line - lag, observe::MissKind::writeback);
      if (misses.size() < k_lines && line + 1 < array.lines + lag) continue;
      observe::Quantum quantum;
      quantum.accesses = 8 * misses.size();
      quantum.instructions = observe::k_instructions_per_access * quantum.accesses;
      quantum.misses = misses;
      world.virtual_machine.quantum(quantum);
      misses.clear();
    }
  }
  void chase(const SyntheticArray& array, std::uint64_t hops) {
    synthetic.chase(array, hops);
    synthetic.flush();
  }
  // Accesses one line of each `step`, in the order of addresses.
  void stride(const SyntheticArray& array, std::uint32_t lines) {
    observe::Quantum quantum;
    std::vector<observe::Miss> misses;
    for (std::uint32_t line = 0; line < array.lines; line += lines)
      misses.push_back({array.first + line / array.chunk_lines,
                        static_cast<std::uint16_t>(line % array.chunk_lines), 0, observe::MissKind::prefetched});
    quantum.accesses = misses.size();
    quantum.instructions = observe::k_instructions_per_access * quantum.accesses;
    quantum.misses = misses;
    world.virtual_machine.quantum(quantum);
  }
  FileIoTotals account() { return *world.virtual_machine.file_account(); }
  double now() { return world.now(); }

  TestWorld world;
  SyntheticGenerator synthetic;
  ObjectId objects = 0;
};

}  // namespace terrace::sim
