// SPDX-License-Identifier: Apache-2.0
// Reads and writes the tables [[gpu]] of machine files, for the GPU simulator. Integer keys are in tables that
// both reading and writing use. See gpu_table.hpp.
#include "machine/file/gpu_table.hpp"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace terrace::machine {
namespace {

constexpr std::int64_t k_max = 1 << 24;
constexpr std::size_t k_memories = 2;  // local memory, and the memory beyond the link
constexpr double k_rounding = 0.01;    // relative tolerance of a bandwidth that is stated twice
constexpr std::string_view k_greedy = "greedy-then-oldest";
constexpr std::string_view k_round_robin = "round-robin";

template <class Part>
struct Number {
  const char* key;
  std::uint32_t Part::*member;
  std::int64_t min_value = 1;
  std::int64_t max_value = k_max;
};

constexpr std::array k_gpu_numbers{
    Number<Gpu>{"processors", &Gpu::processors, 1, 1024},
    Number<Gpu>{"schedulers", &Gpu::schedulers, 1, 4},
    Number<Gpu>{"warps", &Gpu::warps, 1, 64},
    Number<Gpu>{"ctas", &Gpu::ctas, 1, 64},
    Number<Gpu>{"registers", &Gpu::registers},
    Number<Gpu>{"instruction_latency", &Gpu::instruction_latency, 1, 63},
    Number<Gpu>{"access_queue", &Gpu::access_queue},
    Number<Gpu>{"stores", &Gpu::stores},
    Number<Gpu>{"network_latency", &Gpu::network_latency},
    Number<Gpu>{"network_bytes", &Gpu::network_bytes},
    Number<Gpu>{"launch", &Gpu::launch_cycles, 0},
    Number<Gpu>{"l1_tlb", &Gpu::l1_tlb_entries},
    Number<Gpu>{"l2_tlb", &Gpu::l2_tlb_entries},
    Number<Gpu>{"l2_tlb_latency", &Gpu::l2_tlb_latency, 0},
    Number<Gpu>{"walk", &Gpu::walk_latency, 0},
    Number<Gpu>{"walkers", &Gpu::walkers},
    Number<Gpu>{"shootdown", &Gpu::shootdown, 0},
    Number<Gpu>{"page_copies", &Gpu::page_copies},
    Number<Gpu>{"notice", &Gpu::notice, 0},
    Number<Gpu>{"fault", &Gpu::fault, 0},
    Number<Gpu>{"fault_batch", &Gpu::fault_batch},
};
constexpr std::array k_cache_numbers{
    Number<GpuCache>{"ways", &GpuCache::ways},
    Number<GpuCache>{"latency", &GpuCache::latency},
    Number<GpuCache>{"mshrs", &GpuCache::mshrs},
    Number<GpuCache>{"merges", &GpuCache::merges},
};
constexpr std::array k_memory_numbers{
    Number<GpuMemory>{"channels", &GpuMemory::channels, 1, 1024},
    Number<GpuMemory>{"banks", &GpuMemory::banks, 1, 1024},
    Number<GpuMemory>{"row_to_column", &GpuMemory::row_to_column},
    Number<GpuMemory>{"precharge", &GpuMemory::precharge},
    Number<GpuMemory>{"row_cycle", &GpuMemory::row_cycle},
    Number<GpuMemory>{"row_to_row", &GpuMemory::row_to_row, 0},
    Number<GpuMemory>{"read_latency", &GpuMemory::read_latency},
    Number<GpuMemory>{"write_latency", &GpuMemory::write_latency},
    Number<GpuMemory>{"write_to_read", &GpuMemory::write_to_read, 0},
    Number<GpuMemory>{"read_to_write", &GpuMemory::read_to_write, 0},
    Number<GpuMemory>{"refresh_interval", &GpuMemory::refresh_interval},
    Number<GpuMemory>{"refresh", &GpuMemory::refresh, 0},
    Number<GpuMemory>{"queue", &GpuMemory::queue, 1, 4096},
    Number<GpuMemory>{"link_latency", &GpuMemory::link_latency, 0},
};

template <class Part, std::size_t size>
void read_numbers(const TomlTable& table, const std::array<Number<Part>, size>& numbers, Part& part) {
  for (const auto& number : numbers)
    part.*number.member =
        static_cast<std::uint32_t>(table.integer(number.key, number.min_value, number.max_value));
}

template <class Part, std::size_t size>
std::vector<std::string> keys_of(const std::array<Number<Part>, size>& numbers, std::vector<std::string> others) {
  for (const auto& number : numbers) others.emplace_back(number.key);
  return others;
}

// Reads a size that is a multiple of 128 bytes and at least `lines` lines.
std::uint64_t read_lines(const TomlTable& table, const char* key, std::uint64_t lines = 1) {
  const auto size = table.size(key);
  if (size.value % 128 != 0 || size.value / 128 < lines)
    table.refuse(key, format(size) + " is no multiple of a line of 128B, or less than " + std::to_string(lines) +
                          " of them");
  return size.value;
}

GpuCache read_cache(const TomlTable& table) {
  table.allow_only(keys_of(k_cache_numbers, {"size"}));
  GpuCache cache;
  read_numbers(table, k_cache_numbers, cache);
  cache.bytes = read_lines(table, "size", cache.ways);
  return cache;
}

// Checks that the path of the GPU states the same bandwidth as the memory.
void compare_with_path(const TomlTable& table, const GpuMemory& memory, const Path& path,
                       const MachineParts& parts) {
  const auto reached = memory.reached_bytes_per_second();
  const auto* key = reached < memory.bytes_per_second ? "link_bandwidth" : "bandwidth";
  for (const auto& [way, rate] : {std::pair("read", path.read), std::pair("write", path.write)})
    if (std::abs(rate.value - reached) > k_rounding * reached)
      table.refuse(key, format_exact(BytesPerSecond{reached}) + ", but the [[path]] from '" +
                            parts.initiators[path.initiator].name + "' to '" + parts.places[path.place].name +
                            "' has " + way + " = \"" + format_exact(rate) + "\"; state the same in both");
}

GpuMemory read_memory(const TomlTable& table, const NameIndex& places) {
  table.allow_only(keys_of(k_memory_numbers, {"place", "row", "bandwidth", "clock", "link_bandwidth"}));
  GpuMemory memory;
  memory.place = static_cast<PlaceId>(places.find(table, "place"));
  read_numbers(table, k_memory_numbers, memory);
  if (memory.refresh >= memory.refresh_interval)
    table.refuse("refresh", "it takes as long as the time between two refreshes, " +
                                std::to_string(memory.refresh_interval) + " cycles; write less");
  memory.row_bytes = static_cast<std::uint32_t>(read_lines(table, "row"));
  memory.bytes_per_second = table.bandwidth("bandwidth").value;
  memory.command_hertz = table.frequency("clock");
  if (table.has("link_bandwidth")) memory.link_bytes_per_second = table.bandwidth("link_bandwidth").value;
  return memory;
}

template <class Part, std::size_t size>
void put_numbers(std::string& out, const std::array<Number<Part>, size>& numbers, const Part& part) {
  for (const auto& number : numbers)
    out += std::string(number.key) + " = " + std::to_string(part.*number.member) + "\n";
}

void put_text(std::string& out, const char* key, const std::string& text) {
  out += std::string(key) + " = \"" + text + "\"\n";
}

void put_cache(std::string& out, const char* head, const GpuCache& cache) {
  out += std::string("\n[gpu.") + head + "]\n";
  put_text(out, "size", format_exact(Bytes{cache.bytes}));
  put_numbers(out, k_cache_numbers, cache);
}

}  // namespace

Gpu read_gpu(const TomlTable& table, const NameIndex& initiators, const NameIndex& places,
             const MachineParts& parts) {
  table.allow_only(keys_of(k_gpu_numbers, {"initiator", "clock", "scheduler", "shared", "sectored", "page",
                                           "shootdown_drains", "l1", "l2", "memory"}));
  Gpu gpu;
  gpu.initiator = static_cast<InitiatorId>(initiators.find(table, "initiator"));
  gpu.hertz = table.frequency("clock");
  read_numbers(table, k_gpu_numbers, gpu);
  if (gpu.schedulers == 3) table.refuse("schedulers", "warps are divided among 1, 2 or 4 of them");
  if (const auto word = table.name("scheduler"); word == k_round_robin)
    gpu.scheduler = WarpScheduler::round_robin;
  else if (word != k_greedy)
    table.refuse("scheduler", "'" + word + "' is none; write \"greedy-then-oldest\" or \"round-robin\"");
  gpu.shared_bytes = table.size("shared").value;
  if (table.has("sectored")) gpu.sectored = table.flag("sectored");
  gpu.page_bytes = table.size("page").value;
  if ((gpu.page_bytes & (gpu.page_bytes - 1)) != 0 || gpu.page_bytes < 256)
    table.refuse("page",
                 format(Bytes{gpu.page_bytes}) + " is no power of two from 256B on; write for example \"4KiB\"");
  if (table.has("shootdown_drains")) gpu.shootdown_drains = table.flag("shootdown_drains");
  gpu.l1 = read_cache(table.table("l1"));
  gpu.l2 = read_cache(table.table("l2"));
  const auto memories = table.entries("memory");
  if (memories.size() != k_memories)
    table.refuse("memory", std::to_string(memories.size()) +
                               " stated; the simulator needs two: the GPU's own first, then the one beyond the "
                               "link");
  for (const auto& memory : memories) {
    gpu.memories.push_back(read_memory(memory, places));
    for (std::size_t i = 0; i + 1 < gpu.memories.size(); ++i)
      if (gpu.memories[i].place == gpu.memories.back().place)
        memory.refuse("place", "a second memory of this place; keep one");
    for (const auto& path : parts.paths)
      if (path.initiator == gpu.initiator && path.place == gpu.memories.back().place)
        compare_with_path(memory, gpu.memories.back(), path, parts);
  }
  return gpu;
}

std::string format_gpu(const Gpu& gpu, const MachineParts& parts) {
  std::string out = "\n[[gpu]]\n";
  put_text(out, "initiator", parts.initiators[gpu.initiator].name);
  put_text(out, "clock", format_exact_frequency(gpu.hertz));
  put_numbers(out, k_gpu_numbers, gpu);
  put_text(out, "scheduler", std::string(gpu.scheduler == WarpScheduler::round_robin ? k_round_robin : k_greedy));
  put_text(out, "shared", format_exact(Bytes{gpu.shared_bytes}));
  out += std::string("sectored = ") + (gpu.sectored ? "true" : "false") + "\n";
  put_text(out, "page", format_exact(Bytes{gpu.page_bytes}));
  out += std::string("shootdown_drains = ") + (gpu.shootdown_drains ? "true" : "false") + "\n";
  put_cache(out, "l1", gpu.l1);
  put_cache(out, "l2", gpu.l2);
  for (const auto& memory : gpu.memories) {
    out += "\n[[gpu.memory]]\n";
    put_text(out, "place", parts.places[memory.place].name);
    put_numbers(out, k_memory_numbers, memory);
    put_text(out, "row", format_exact(Bytes{memory.row_bytes}));
    put_text(out, "bandwidth", format_exact(BytesPerSecond{memory.bytes_per_second}));
    put_text(out, "clock", format_exact_frequency(memory.command_hertz));
    if (memory.link_bytes_per_second > 0)
      put_text(out, "link_bandwidth", format_exact(BytesPerSecond{memory.link_bytes_per_second}));
  }
  return out;
}

}  // namespace terrace::machine
