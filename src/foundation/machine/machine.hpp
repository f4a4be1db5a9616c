// SPDX-License-Identifier: Apache-2.0
// Defines the machine model, used throughout Terrace: a tree of places (memories), initiators (groups of cores),
// and the paths between them. An immutable value, made by discovery, by measurement, or from a machine file. The
// same type describes the running machine and a simulated one. Nothing here reads files: see machine_file.hpp,
// discovery.hpp, measure.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"
#include "core/identifiers.hpp"
#include "core/units.hpp"
#include "machine/array_geometry.hpp"
#include "machine/copier_price.hpp"
#include "machine/gpu.hpp"
#include "machine/library.hpp"

namespace terrace::machine {

// Node of the tree. Leaves that hold data are places; inner nodes (a package, a board) only group.
struct Node {
  std::string name;
  std::optional<std::uint32_t> parent;  // index into Machine::nodes(); the root has none
  std::optional<PlaceId> place;
};

struct Place {
  std::string name;  // unique in the machine: "hbm0"
  std::string kind;  // technology: "hbm", "ddr", "cxl", "nvm", "gpu", "file"
  Bytes capacity;
  Bytes granule{4096};  // smallest unit that can be mapped
  DomainId domain = 0;
  int numa_node = -1;  // number of the operating system's NUMA node; -1: none (simulated machine)
  std::optional<ArrayGeometry> geometry{};  // of processing in memory; agrees with `capacity`
};

inline constexpr int k_max_distance = 254;  // of the system's NUMA distances; 255 means unreachable

// Origin of a path's bandwidth or latency.
enum class Source : std::uint8_t {
  file,      // stated in a machine file
  measured,  // `terrace machine measure`
  firmware,  // HMAT, as hwloc reports it
  distance,  // scaled from the place's own domain by NUMA distance
  kind,      // default of the place's kind
};

// Convert between a source and its name in machine files and JSON ("file", "measured", ...).
std::string_view source_name(Source source);
std::optional<Source> parse_source(std::string_view word);

// Performance of a place as one initiator sees it, without contention.
struct Path {
  InitiatorId initiator = 0;
  PlaceId place = 0;
  BytesPerSecond read;
  BytesPerSecond write;
  Seconds latency;   // of a dependent load (pointer chase)
  int distance = 0;  // the system's NUMA distance, 10 for local memory; 0: unknown
  Source bandwidth_source = Source::file;
  Source latency_source = Source::file;
};

// A cache of an initiator: one for each core (private), or one for all cores (shared).
struct Cache {
  std::string name;  // "l2", "l3"
  Bytes size;
  std::uint32_t ways = 8;
  bool shared = false;
  Seconds latency;       // of a hit
  Seconds overlapped{};  // reciprocal throughput of independent hits; 0: latency / mlp
};

// The TLB of a core as misses of the first cache see it: the second level, if there are two.
struct Tlb {
  std::uint32_t entries = 0;  // 0: no TLB is modelled, and page walks cost nothing
  std::uint32_t ways = 8;
  Bytes page{4096};
  Seconds walk{};  // cost of one of many independent page walks, beyond the hit that waits for it
};

inline constexpr std::uint32_t k_max_window = 65536;  // accesses
inline constexpr std::uint32_t k_max_store_buffer = 65536;
inline constexpr std::uint32_t k_max_streams = 8192;
inline constexpr std::uint32_t k_max_tlb_entries = 1U << 20;
inline constexpr std::uint32_t k_max_tlb_ways = 255;
inline constexpr Bytes k_min_tlb_page{4096};  // addresses preserve only the offset within this size

// Cores that issue accesses. The time law of virtual time divides latencies by the memory-level parallelism
// (design: "Making time"): `mlp` for independent misses, `prefetch_mlp` for lines that a stream prefetcher
// fetches.
struct Initiator {
  std::string name;
  std::uint32_t cores = 1;
  double frequency_hz = 0;
  Seconds instruction_time;  // core time of an instruction: a default until it is measured
  double mlp = 10;
  double prefetch_mlp = 20;
  std::uint32_t miss_registers = 10;
  std::uint32_t window = 64;        // reorder window: accesses in flight at once
  std::uint32_t store_buffer = 56;  // stores that may wait for their lines to arrive
  std::uint32_t streams = 16;       // streams that its prefetchers follow at a time
  std::vector<Cache> caches;        // from the core outwards
  Tlb tlb{};
  LibraryTimes library{};  // 0: not stated
  DomainId domain = 0;
};

// Returns the initiator's times of library calls; where it states none, the default cycles at its frequency.
LibraryTimes library_times(const Initiator& initiator);

// Returns the share of its latency that a prefetched line exposes if `cores` cores of the initiator stream: the
// latencies of all lines in flight overlap.
inline double prefetched_exposure(const Initiator& initiator, double cores) {
  return 1 / initiator.prefetch_mlp / cores;
}

// Bandwidth of copies from one place to another.
struct CopyPath {
  PlaceId from = 0;
  PlaceId to = 0;
  BytesPerSecond bandwidth;
};

struct Domain {
  std::string name;
  InitiatorId initiator = 0;
  std::vector<PlaceId> places;  // nearest first: the machine sorts them by latency, then by bandwidth;
                                // empty: those whose `domain` this is
};

// An ordering stated by the user. `names` are places or kinds. A kind stands for those of its places that the
// ordering does not name: in one rank if it is a tie, else nearest first.
struct StatedOrdering {
  struct Rank {
    std::vector<std::string> names;  // any number if it is a tie, else one
    bool tie = false;
    bool operator==(const Rank&) const = default;
  };
  std::string intent;
  std::optional<InitiatorId> initiator;  // none: applies to each initiator without its own
  std::vector<Rank> ranks;               // best first; unnamed places follow in the order of `normal`
  bool operator==(const StatedOrdering&) const = default;
};

// Backing file of a memory, on a disk or a server: holds the data that exceed the memory
// (docs/how-to/out-of-core.md). Programs cannot address it. It is not one of the machine's places, so planners,
// budgets and orderings cannot refer to it.
struct BackingFile {
  std::string name;            // unique among backing files and places
  PlaceId beside = 0;          // the memory that it backs
  BytesPerSecond read;         // of the device, without concurrent writes
  BytesPerSecond write;        // of the device, without concurrent reads
  Seconds latency;             // of a request, before its first byte
  std::uint32_t requests = 1;  // in flight at once; further ones are queued
};
inline constexpr std::uint32_t k_max_requests = 65536;

// The data of a machine, from which the constructor of Machine builds it.
struct MachineParts {
  std::string name;
  std::string description;
  std::string fingerprint;  // of the machine that was measured; empty: not measured
  Bytes line{64};           // cache line
  std::vector<Node> nodes;  // empty: a root with every place as its child
  std::vector<Place> places;
  std::vector<Initiator> initiators;
  std::vector<Domain> domains;
  std::vector<Path> paths;
  std::vector<CopyPath> copies;  // absent pairs: the lesser of the source's read and the target's write bandwidth
  std::vector<CopierPrice> copiers;  // the first one is in effect
  std::vector<StatedOrdering> orderings;
  std::vector<BackingFile> files;
  std::vector<Gpu> gpus;  // simulated only; not passed to user processes
};

class Machine {
 public:
  // Validates the parts: every domain has a path to each of its places, no bandwidth or size is zero, the tree has
  // one root and no cycle, names are unique. Throws Error{invalid} with the part and its value.
  explicit Machine(MachineParts parts);

  [[nodiscard]] const std::string& name() const { return parts_.name; }
  [[nodiscard]] const MachineParts& parts() const { return parts_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return parts_.nodes; }
  [[nodiscard]] const std::vector<Place>& places() const { return parts_.places; }
  [[nodiscard]] const std::vector<Initiator>& initiators() const { return parts_.initiators; }
  [[nodiscard]] const std::vector<Domain>& domains() const { return parts_.domains; }
  [[nodiscard]] const Place& place(PlaceId id) const { return parts_.places.at(id); }
  [[nodiscard]] std::optional<PlaceId> find_place(std::string_view name) const;
  [[nodiscard]] std::optional<PlaceId> find_kind(DomainId domain, std::string_view kind) const;
  [[nodiscard]] std::vector<std::string> kinds() const;  // unique, in order of the places

  // Returns the path from an initiator to a place, or null if the machine has none.
  [[nodiscard]] const Path* find_path(InitiatorId initiator, PlaceId place) const;
  // Returns the path; throws Error{not_found} if the machine has none.
  [[nodiscard]] const Path& path(InitiatorId initiator, PlaceId place) const;
  [[nodiscard]] BytesPerSecond copy_bandwidth(PlaceId from, PlaceId to) const;
  // Returns the copier in effect: the first one, or the ideal copier if the machine states none.
  [[nodiscard]] const CopierPrice& copier() const;

  // Returns the backing file of a memory, or null.
  [[nodiscard]] const BackingFile* find_backing_file(PlaceId place) const;

  // Returns the home of a domain, the place of data without a requested placement: the place with the most
  // capacity. A processing-in-memory place is the home only if the domain has no other place.
  [[nodiscard]] PlaceId home(DomainId domain) const;
  // Returns a domain's places, fastest first, by ascending line_time(); processing-in-memory places come last.
  // This is the only order of places by speed. It assumes all cores of the domain's initiator, however many a run
  // uses. So budgets, `--fast`, fast-only, policies and planners refer to the same memory in every run, even in
  // one whose few cores another memory would serve faster.
  [[nodiscard]] const std::vector<PlaceId>& fastest_first(DomainId domain) const { return orders_.at(domain); }
  // Returns the time per line of a stream read by all cores of the domain: latency / (cores x prefetch_mlp) +
  // line / read bandwidth.
  [[nodiscard]] Seconds line_time(DomainId domain, PlaceId place) const;
  // Returns it for any initiator and any place that it has a path to.
  [[nodiscard]] Seconds line_time_from(InitiatorId initiator, PlaceId place) const;

  // Serialise the machine for the library inside a program. from_blob() throws Error{corrupt} or Error{invalid}.
  void to_blob(BlobWriter& out) const;
  static Machine from_blob(BlobReader& in);

 private:
  [[nodiscard]] std::vector<PlaceId> order_of(DomainId domain) const;

  MachineParts parts_;
  std::vector<std::vector<PlaceId>> orders_;  // by domain
};

// Bytes allowed on each place, indexed by place. Places that a budget does not mention have whole_budget().
using Budget = std::vector<Bytes>;

// Returns the default budget: all of every place, but 0 for processing-in-memory places that are not a home. Their
// rows are for explicit allocations, unless a budget or a plan names them.
Budget whole_budget(const Machine& machine);

// Reduces a budget to a limit on all memory together, as of a control group. No place exceeds the limit, and the
// places that are not a home do not exceed it together; each is reduced proportionally, to whole granules. A home
// may have as much as the limit, so that data elsewhere can move back; a page is charged once, wherever it is.
Budget limit_budget(const Machine& machine, Budget budget, Bytes limit);

// Parses "hbm=16GiB,ddr=64GiB" (for each domain, of each kind), "hbm0=16GiB" (one place), or a plain size (of the
// fastest kind). Throws Error{invalid} with the invalid word and the valid names.
Budget parse_budget(const Machine& machine, std::string_view text);
// Returns the budget that allows `fast` bytes of the fastest kind in each domain (`--fast`).
Budget fast_budget(const Machine& machine, Bytes fast);
// Returns "the kinds hbm, ddr and the places hbm0, ddr0", for error messages.
std::string list_kinds_and_places(const Machine& machine);
// Normalises the text of a budget as in plans: "hbm=1MB" for "hbm=1000000". Throws Error{invalid} for a text that
// is not a budget of any machine.
std::string format_budget(std::string_view text);

}  // namespace terrace::machine
