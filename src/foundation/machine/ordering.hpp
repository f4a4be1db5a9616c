// Orderings: for an initiator and an intent, all places of the machine in the order in which to use them. One
// distance cannot say what memory is good for, so there is an ordering for each intent; a machine file may state
// its own. System 9's paper has one list of nodes for each source node (section 3.3: partial orders, whose ties
// are kept here).
//
//   bandwidth  the least time of a line streamed by all of the initiator's cores first: Machine::line_time_from(),
//              the one order by speed, here with the places of other domains
//   latency    the lower first
//   capacity   the larger first
//   normal     as the kernel does by itself: the initiator's own ordinary memory first, then by the system's NUMA
//              distance; by latency where a distance is not known
//
// A rank begins with the best place that is left, and takes in all whose value is at most k_tie worse than that
// one's. So a tie is never a chain of small steps, and every place has one rank. Distances are compared exactly.
// Places that compute stand behind all others, as data comes there only by name; places without a path from the
// initiator stand last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

// Medians of one path's bandwidth or latency, measured again, differ by up to as much on a quiet machine.
inline constexpr double k_tie = 0.05;

// What a place's rank comes from.
enum class Basis : std::uint8_t {
  bandwidth,  // value: bytes/s, of a stream by all cores
  latency,    // seconds
  capacity,   // bytes
  distance,   // 10 for local memory
  stated,     // the machine file's ordering names it
  no_path,    // nothing is known
};

struct Standing {
  PlaceId place = 0;
  std::uint32_t rank = 0;  // from 0 on, without gaps; places of one rank are a tie
  Basis basis = Basis::no_path;
  double value = 0;
  std::optional<Source> source{};  // of a path's figure
  bool own_ordinary = false;       // first by `normal`: the initiator's own memory of an ordinary kind
  bool computes = false;           // behind the others
};

// What machines are built around, whatever else they have.
bool is_ordinary(std::string_view kind);

// The four of every machine, then those that its file adds, in the file's order.
std::vector<std::string> intents(const Machine& machine);
// The ordering that the machine file states; null where the rule above holds.
const StatedOrdering* stated_ordering(const Machine& machine, InitiatorId initiator, std::string_view intent);

// Every place once, best first; within a tie the nearest first. An intent that is stated for other initiators only
// is as `normal` for this one. Throws Error{not_found} for an unknown intent, naming those that there are.
std::vector<Standing> standings(const Machine& machine, InitiatorId initiator, std::string_view intent);
// The same as places alone: one entry a rank.
std::vector<std::vector<PlaceId>> ordering(const Machine& machine, InitiatorId initiator, std::string_view intent);

// Why an ordering cannot be one of a machine with these places; nothing where it can.
std::optional<std::string> problem_of(const StatedOrdering& ordering, const std::vector<Place>& places);

}  // namespace terrace::machine
