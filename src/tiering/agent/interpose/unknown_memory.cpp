// SPDX-License-Identifier: Apache-2.0
// Registers memory at its first access that was not announced by an interposed call: growing stacks, blocks of the
// next allocator, static data of libraries, foreign mappings. The access pipeline calls it for an address that
// belongs to no object.
//
// The size of a registered range depends on the program alone, where possible, not on the environment or on
// address space randomisation, because sizes of objects determine canonical addresses.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "agent/heap/object_registry.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/modules.hpp"
#include "core/maps_reader.hpp"
#include "core/rounding.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/objects/address_map.hpp"

namespace terrace::agent {

namespace {

using observe::ObjectKind;

// First step of a stack's registration; steps double.
constexpr std::uint64_t k_stack_step = 256 << 10;
// Size of the region above the main stack: arguments and environment.
constexpr std::uint64_t k_above_stack = 256 << 10;

constinit std::atomic<std::uint64_t> g_stack_top{0};
// Pieces above it. Set while single-threaded. Never destroyed, because exit handlers may read arguments.
std::vector<StackPiece>* g_above_stack = nullptr;

// Reads the process's mappings into `mapping`, one after the other, until `wanted()` returns true.
template <class Wanted>
bool search_mappings(MemoryMapping& mapping, Wanted wanted) {
  MapsReader reader("/proc/self/maps");
  char line[256];
  while (reader.read_line(line, sizeof line)) {
    const char* at = line;
    mapping.low = read_hexadecimal(at);
    if (*at == '-') ++at;
    mapping.high = read_hexadecimal(at);
    mapping.heap = std::strstr(at, "[heap]") != nullptr;
    mapping.stack = std::strstr(at, "[stack]") != nullptr;
    if (wanted()) return true;
  }
  return false;
}

// Registers a stack that grows down from `top` as far as the address.
bool grow_stack(Process& here, const char* name, std::uint64_t address, std::uint64_t top) {
  const auto depth = std::bit_ceil(std::max(top - address, k_stack_step));
  const auto free = here.objects->gap(address, top - depth, top);
  return free.low < free.high && here.objects->add(name, ObjectKind::stack, free.low, free.high);
}

// Gives arguments and environment canonical addresses that are independent of the environment's length.
void map_above_stack(observe::AddressMap& map, std::uint64_t low, std::uint64_t high) noexcept {
  try {
    const auto base = map.add_range(low, high - low, k_stack_slots * k_stack_slot);
    for (const auto& piece : *g_above_stack)
      if (low <= piece.low && piece.high <= high)
        map.add_at(piece.low, piece.high - piece.low, base + piece.place);
  } catch (const std::exception&) {
    // No memory: the pieces keep their real offsets.
  }
}

// Registers the part of the main thread's stack, or of the arguments and environment above it, at the address.
bool note_main_stack_part(Process& here, std::uint64_t address) {
  const auto top = g_stack_top.load(std::memory_order_relaxed);
  if (top == 0) return false;
  if (address < top) return grow_stack(here, "(stack)", address, top);
  const auto free = here.objects->gap(address, top, top + k_above_stack);
  if (here.map && g_above_stack && free.low < free.high) map_above_stack(*here.map, free.low, free.high);
  return free.low < free.high && here.objects->add("(environment)", ObjectKind::stack, free.low, free.high);
}

// Registers the mapping at the address, as far as no object covers it.
bool note_mapping(Process& here, std::uint64_t address) {
  MemoryMapping mapping;
  if (!find_mapping(address, mapping)) return false;
  if (mapping.stack && note_main_stack_part(here, address)) return true;
  auto kind = ObjectKind::mapping;
  char name[256] = "(other)";
  if (mapping.heap) {
    kind = ObjectKind::small;
    std::strcpy(name, "(small blocks)");
  } else if (const auto found = find_symbol(here, address); found.site.module >= 0) {
    kind = ObjectKind::fixed;
    const char* const slash = std::strrchr(found.path, '/');
    std::snprintf(name, sizeof name, "(globals %s)", slash ? slash + 1 : found.path);
  }
  const auto free = here.objects->gap(address, mapping.low, mapping.high);
  return free.low < free.high && here.objects->add(name, kind, free.low, free.high);
}

}  // namespace

bool find_mapping(std::uint64_t address, MemoryMapping& mapping) noexcept {
  return search_mappings(mapping, [&] { return mapping.low <= address && address < mapping.high; });
}

bool register_touched_memory(std::uint64_t address) noexcept {
  Process* const here = process();
  if (!here) return false;
  const observe::AgentScope scope;
  return note_mapping(*here, address);
}

void note_main_stack(Process& process, std::uint64_t top, std::vector<StackPiece> above) noexcept {
  g_above_stack = new (std::nothrow) std::vector<StackPiece>(std::move(above));
  g_stack_top.store(top, std::memory_order_relaxed);
  note_main_stack_part(process, top - 1);
}

void note_thread_stack(Process& process, std::uint64_t low, std::uint64_t high) noexcept {
  // The lower part is registered when it is used, by its mapping.
  const auto top = high / k_page * k_page;
  process.objects->add("(thread stack)", ObjectKind::stack, std::max(low, top - std::min(top, k_stack_step)), top);
}

void note_small_blocks(Process& process) noexcept {
  MemoryMapping mapping;
  if (!search_mappings(mapping, [&] { return mapping.heap; })) return;
  const auto free = process.objects->gap(mapping.low, mapping.low, mapping.high);
  if (free.low < free.high) process.objects->add("(small blocks)", ObjectKind::small, free.low, free.high);
}

}  // namespace terrace::agent
