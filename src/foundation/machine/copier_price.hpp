// SPDX-License-Identifier: Apache-2.0
// Defines the cost model of chunk migration by a copier, the code that moves pages between places ([[copier]] in a
// machine file). The planners that predict migrations and the simulator that charges them use the same model.
//
// A chunk is migrated in pieces, one system call each, and its pages are remapped one by one. Its bytes are copied
// by cores, whose rate is limited by the lines that they have in flight (Little's law). The program pays, too:
// each piece stalls its running threads, and a thread that accesses a chunk in flight traps and waits for the rest
// of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::machine {

class Machine;
struct Initiator;

inline constexpr std::uint32_t k_max_mover_threads = 1024;

struct PagePrice {
  Bytes page;
  Seconds remap;

  bool operator==(const PagePrice&) const = default;
};

struct CopierPrice {
  std::string name;
  Bytes piece{};                   // most bytes that one call migrates; 0: unlimited
  Seconds call{};                  // time of the mover for each piece
  std::vector<PagePrice> pages{};  // ascending by page size; empty: remapping costs nothing
  Seconds stall{};                 // time of each running thread of the program for each piece
  std::optional<Seconds> trap{};   // none: a chunk in flight stays accessible at its old place
  std::uint32_t threads = 0;       // threads of the mover, one a core; 0: no core copies
  double lines = 0;                // in flight for each thread; 0: the initiator's prefetch_mlp

  bool operator==(const CopierPrice&) const = default;
};

// Name of a hypothetical copier that costs bytes over bandwidth and nothing else. Every machine has it; it is the
// default of a machine that states no copier.
inline constexpr const char* k_ideal_copier = "ideal";

// Returns the mover's time for a chunk without the copy of its bytes: calls, and remapping of the largest pages
// that fit into the chunk.
Seconds remapping_time(const CopierPrice& price, Bytes size);
// Returns the time that a migration stalls each running thread of the program.
Seconds stall_time(const CopierPrice& price, Bytes size);
// Returns the time of a thread that accesses a chunk with a sentinel (progress by sentinel): the trap, and
// unmapping and mapping the chunk's first piece, with the stalls of both.
Seconds sentinel_time(const CopierPrice& price, Bytes size);
// Returns the mover's threads that run concurrently with a program on `busy` of the initiator's cores: at most one
// on each free core, and at least one.
std::uint32_t mover_threads(const CopierPrice& price, const Initiator& initiator, double busy);
// Returns the rate at which `threads` of the mover copy, as `initiator` sees both places: the least of the
// bandwidths of the paths, the machine's copy bandwidth, and lines in flight over latency.
BytesPerSecond copy_rate(const Machine& machine, const CopierPrice& price, std::uint32_t threads,
                         InitiatorId initiator, PlaceId from, PlaceId to);

// Returns the mover's total time for a chunk, without contention for the places and its cores.
Seconds move_time(const Machine& machine, InitiatorId initiator, double busy, PlaceId from, PlaceId to,
                  Bytes size);

}  // namespace terrace::machine
