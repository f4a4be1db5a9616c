// SPDX-License-Identifier: Apache-2.0
// Determines orderings: all places of the machine in order of preference, for an initiator and an intent (the
// memory attribute of an allocation), by which the agent's heaps place data. One distance cannot say what a memory
// is good for, so each intent has its own ordering; a machine file may state further ones. The paper of system 9
// has one list of nodes for each source node (section 3.3: partial orders, whose ties are kept here).
//
//   bandwidth  by ascending time per line of a stream by all cores of the initiator, Machine::line_time_from():
//              the machine's order by speed, here including places of other domains
//   latency    by ascending latency
//   capacity   by descending capacity
//   normal     as the kernel allocates: the initiator's own ordinary memory first, then by the system's NUMA
//              distance, or by latency if a distance is unknown
//
// A rank begins with the best remaining place and includes all whose value is at most k_tie worse than that one's.
// So a tie is never a chain of small steps, and every place has one rank. Distances are compared exactly.
// Processing-in-memory places come after all others, because data are placed there only by name; places without a
// path from the initiator come last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

// Tolerance of a tie: repeated medians of a path's bandwidth or latency differ by up to this on an idle machine.
inline constexpr double k_tie = 0.05;

// The quantity that determines a place's rank.
enum class Basis : std::uint8_t {
  bandwidth,  // value: bytes/s, of a stream by all cores
  latency,    // seconds
  capacity,   // bytes
  distance,   // 10 for local memory
  stated,     // named by an ordering of the machine file
  no_path,    // unknown
};

// A place of an ordering with its rank and the reason for it.
struct RankedPlace {
  PlaceId place = 0;
  std::uint32_t rank = 0;  // from 0, without gaps; places of equal rank are a tie
  Basis basis = Basis::no_path;
  double value = 0;
  std::optional<Source> source{};  // of the path's figure
  bool own_ordinary = false;       // `normal`: the initiator's own memory of an ordinary kind
  bool computes = false;           // processing in memory: after all others
};

// Returns whether the kind is ordinary DRAM, the main memory of machines.
bool is_ordinary(std::string_view kind);

// Returns the four intents of every machine, then those of the machine file, in its order.
std::vector<std::string> intents(const Machine& machine);
// Returns the ordering that the machine file states, or null if the rules above apply.
const StatedOrdering* stated_ordering(const Machine& machine, InitiatorId initiator, std::string_view intent);

// Returns every place once, best first, and nearest first within a tie. An intent stated only for other initiators
// is ordered as `normal`. Throws Error{not_found} for an unknown intent, with the known ones.
std::vector<RankedPlace> rank_places(const Machine& machine, InitiatorId initiator, std::string_view intent);
// Returns the places alone, one entry for each rank.
std::vector<std::vector<PlaceId>> ordering(const Machine& machine, InitiatorId initiator, std::string_view intent);

// Returns why the ordering is invalid for a machine with these places, or nothing.
std::optional<std::string> find_problem(const StatedOrdering& ordering, const std::vector<Place>& places);

}  // namespace terrace::machine
