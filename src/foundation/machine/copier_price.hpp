// At what price chunks are moved ([[copier]] in a machine file): one law, for those who plan and pay and for those
// who simulate and charge.
//
// A chunk is moved in pieces, one call each, and its pages are remapped one by one; its bytes are copied by cores,
// which stream no faster than the lines that they have in flight let them (Little's law). The program pays, too:
// each piece stalls its running threads, and who touches a chunk in flight traps and waits for the rest of it.
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
  Bytes piece{};                   // the most that one call moves; 0: any amount
  Seconds call{};                  // the mover's, for each piece
  std::vector<PagePrice> pages{};  // ascending; empty: remapping costs nothing
  Seconds stall{};                 // of each running thread of the program, for each piece
  std::optional<Seconds> trap{};   // none: who touches a chunk in flight is served from where it resides
  std::uint32_t threads = 0;       // of the mover, on cores; 0: no core copies
  double lines = 0;                // that each has in flight; 0: the initiator's prefetch_mlp

  bool operator==(const CopierPrice&) const = default;
};

// Bytes over bandwidth and nothing else: no copier that exists. It is every machine's, and the one of a machine
// that states none.
inline constexpr const char* k_ideal_copier = "ideal";

// What moving a chunk takes of the mover beside the copy of its bytes: calls and pages, as large ones as the chunk
// holds.
Seconds remapping_time(const CopierPrice& price, Bytes size);
// What it takes of each running thread of the program.
Seconds stall_time(const CopierPrice& price, Bytes size);
// What it takes who touches a chunk that is watched (progress by sentinel): the trap, and the piece that it begins
// with put aside before and back now, with what both take of a running thread.
Seconds watching_time(const CopierPrice& price, Bytes size);
// Of the mover that run beside a program on `busy` of the initiator's cores: on those that it leaves free, or one.
std::uint32_t mover_threads(const CopierPrice& price, const Initiator& initiator, double busy);
// How fast `threads` of the mover copy, as `initiator` sees both places: no faster than the paths or what the
// machine says of copies, nor than lines over latencies.
BytesPerSecond copy_rate(const Machine& machine, const CopierPrice& price, std::uint32_t threads,
                         InitiatorId initiator, PlaceId from, PlaceId to);

// All of a chunk's move, of the mover: where it has the places and its cores for itself.
Seconds move_time(const Machine& machine, InitiatorId initiator, double busy, PlaceId from, PlaceId to,
                  Bytes size);

}  // namespace terrace::machine
