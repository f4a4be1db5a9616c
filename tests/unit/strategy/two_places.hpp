// Test machines with two memories.
#pragma once

#include "core/identifiers.hpp"
#include "machine/machine.hpp"

namespace terrace::strategy {

inline constexpr PlaceId k_fast = 0, k_slow = 1;

// 10 GB/s and 100 ns beside 10 GB/s and 400 ns.
inline machine::Machine two_latencies() {
  machine::MachineParts parts;
  parts.name = "two";
  parts.nodes = {{"machine", {}, {}}, {"fast", 0, 0}, {"slow", 0, 1}};
  parts.places = {{"fast", "hbm", {1ULL << 30}, {4096}, 0, -1}, {"slow", "ddr", {16ULL << 30}, {4096}, 0, -1}};
  machine::Initiator core;
  core.name = "core";
  core.instruction_time = {0.25e-9};
  parts.initiators = {core};
  parts.domains = {{"node", 0, {0, 1}}};
  parts.paths = {{0, 0, {10e9}, {10e9}, {100e-9}}, {0, 1, {10e9}, {10e9}, {400e-9}}};
  return machine::Machine(parts);
}

}  // namespace terrace::strategy
