// A machine: the tree of places, the initiators, the paths between them. An immutable value, made by discovery,
// by measurement, or from a machine file; the same value describes the machine that we run on and one that we
// only simulate. Nothing here allocates or reads files: see machine_file.hpp, discovery.hpp, measure.hpp.
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

// A node of the tree. Leaves that hold data are places; inner nodes (a package, a board) only group.
struct Node {
  std::string name;
  std::optional<std::uint32_t> parent;  // index into Machine::nodes(); the root has none
  std::optional<PlaceId> place;
};

struct Place {
  std::string name;  // unique in the machine: "hbm0"
  std::string kind;  // technology: "hbm", "ddr", "cxl", "nvm", "gpu", "file"
  Bytes capacity;
  Bytes granule{4096};  // the smallest unit that it can map
  DomainId domain = 0;
  int numa_node = -1;  // the operating system's node, -1 where there is none (a simulated machine)
  std::optional<ArrayGeometry> geometry{};  // of one that computes; holds what `capacity` says
};

inline constexpr int k_max_distance = 254;  // of the system's NUMA distances; 255 is no way at all

// Where a path's figure comes from.
enum class Source : std::uint8_t {
  file,      // a machine file states it
  measured,  // `terrace machine measure`
  firmware,  // HMAT, as hwloc reports it
  distance,  // the figure of the place's own domain, scaled by the system's NUMA distance
  kind,      // nobody states it: a default of the place's kind
};

// "file", "measured", ...: as machine files and JSON write it; nothing for a word that is none.
std::string_view word_of(Source source);
std::optional<Source> source_of(std::string_view word);

// How one initiator sees one place, when nothing else uses either.
struct Path {
  InitiatorId initiator = 0;
  PlaceId place = 0;
  BytesPerSecond read;
  BytesPerSecond write;
  Seconds latency;   // of a dependent load (pointer chase)
  int distance = 0;  // the system's NUMA distance, 10 for local memory; 0: not known
  Source bandwidth_source = Source::file;
  Source latency_source = Source::file;
};

// A cache as its initiator sees it: one of these for every core (private), or one for all (shared).
struct Cache {
  std::string name;  // "l2", "l3"
  Bytes size;
  std::uint32_t ways = 8;
  bool shared = false;
  Seconds latency;       // of a hit
  Seconds overlapped{};  // what one of many independent hits costs; 0: latency / mlp
};

// The translation buffer of a core, as far as misses of the first cache see it: the second level, where there are
// two.
struct Tlb {
  std::uint32_t entries = 0;  // 0: none is modelled, and no page walk costs anything
  std::uint32_t ways = 8;
  Bytes page{4096};
  Seconds walk{};  // what one of many independent page walks costs beyond the hit that waits for it
};

inline constexpr std::uint32_t k_max_window = 65536;  // accesses
inline constexpr std::uint32_t k_max_store_buffer = 65536;
inline constexpr std::uint32_t k_max_streams = 8192;
inline constexpr std::uint32_t k_max_tlb_entries = 1U << 20;
inline constexpr std::uint32_t k_max_tlb_ways = 255;
inline constexpr Bytes k_min_tlb_page{4096};  // addresses keep their place within so much, and no more

// Cores that issue accesses. Miss parallelism is what the time law of virtual time divides latencies by
// (design: "Making time"): `mlp` for misses that do not depend on one another, `prefetch_mlp` for lines that a
// stream prefetcher fetched.
struct Initiator {
  std::string name;
  std::uint32_t cores = 1;
  double frequency_hz = 0;
  Seconds instruction_time;  // core time of one: a stated constant until it is calibrated
  double mlp = 10;
  double prefetch_mlp = 20;
  std::uint32_t miss_registers = 10;
  std::uint32_t window = 64;        // the reorder window: accesses under way at once
  std::uint32_t store_buffer = 56;  // stores that may wait for their lines
  std::uint32_t streams = 16;       // that its prefetchers follow at a time
  std::vector<Cache> caches;        // from the core outwards
  Tlb tlb{};
  LibraryTimes library{};  // 0: not stated
  DomainId domain = 0;
};

// The initiator's own times, and where it states none the usual number of cycles at its frequency.
LibraryTimes library_times(const Initiator& initiator);

// Latencies that a prefetched line exposes where `cores` of the initiator's cores stream: those of all lines that
// are under way at once overlap.
inline double prefetched_exposure(const Initiator& initiator, double cores) {
  return 1 / initiator.prefetch_mlp / cores;
}

// What copies from one place to another can reach.
struct CopyPath {
  PlaceId from = 0;
  PlaceId to = 0;
  BytesPerSecond bandwidth;
};

struct Domain {
  std::string name;
  InitiatorId initiator = 0;
  std::vector<PlaceId> places;  // nearest first: the machine orders them, by latency, then by bandwidth;
                                // empty: those whose `domain` this is
};

// An ordering that the user states. `names` are places, or kinds: a kind means those of its places that the
// ordering does not name, all in one rank where it is a tie, else the nearest first.
struct StatedOrdering {
  struct Rank {
    std::vector<std::string> names;  // of a tie any number, else one
    bool tie = false;
    bool operator==(const Rank&) const = default;
  };
  std::string intent;
  std::optional<InitiatorId> initiator;  // without: of each that has none of its own
  std::vector<Rank> ranks;               // best first; places that none names follow as by `normal`
  bool operator==(const StatedOrdering&) const = default;
};

// A place that programs cannot address: a file on a disk or on a server, where the data is that a memory has no
// room for (docs/memory-over-a-file.md). It is none of the machine's places, which planners, budgets and orderings
// speak of: nothing is put there by name, it only takes what its memory cannot hold.
struct FilePlace {
  std::string name;            // unique among these and the places
  PlaceId beside = 0;          // the memory whose data it takes
  BytesPerSecond read;         // of the device, when nothing is written
  BytesPerSecond write;        // and the other way round
  Seconds latency;             // of a request, before its first byte
  std::uint32_t requests = 1;  // under way at once; others wait for their turn
};
inline constexpr std::uint32_t k_max_requests = 65536;

// Everything a machine is made of, for the one who builds it.
struct MachineParts {
  std::string name;
  std::string description;
  std::string fingerprint;  // of the machine it was measured on; empty for one that is described
  Bytes line{64};           // cache line
  std::vector<Node> nodes;  // empty: a root with every place right below it
  std::vector<Place> places;
  std::vector<Initiator> initiators;
  std::vector<Domain> domains;
  std::vector<Path> paths;
  std::vector<CopyPath> copies;  // absent pairs: the lesser of the source's read and the target's write bandwidth
  std::vector<CopierPrice> copiers;  // the first one's price holds
  std::vector<StatedOrdering> orderings;
  std::vector<FilePlace> files;
  std::vector<Gpu> gpus;  // in virtual time; no process of a user is told of them
};

class Machine {
 public:
  // Checks the parts (every domain has a path to each of its places, no bandwidth or size is zero, the tree has
  // one root and no cycle, names are unique) and throws Error{invalid} naming the part and its value.
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
  [[nodiscard]] std::vector<std::string> kinds() const;  // each once, in the order of the places

  // The path from an initiator to a place, or null where the machine has none.
  [[nodiscard]] const Path* find_path(InitiatorId initiator, PlaceId place) const;
  // Throws Error{not_found} where the machine has none.
  [[nodiscard]] const Path& path(InitiatorId initiator, PlaceId place) const;
  [[nodiscard]] BytesPerSecond copy_bandwidth(PlaceId from, PlaceId to) const;
  // The price that moves have on it: its first copier's, or the ideal one's.
  [[nodiscard]] const CopierPrice& copier() const;

  // The file beside that memory: the first one that is stated, or null.
  [[nodiscard]] const FilePlace* file_beside(PlaceId place) const;

  // The place of a domain that data is in when nobody asks for another: the one with the most capacity. A place
  // that computes is one only where the domain has no other.
  [[nodiscard]] PlaceId home(DomainId domain) const;
  // A domain's places, fastest first: the one order of places by speed, by least line_time(); those that compute
  // come last. The order is the machine's alone: it takes all cores of the domain's initiator, whatever part of
  // them a run uses. So budgets, `--fast`, fast-only, policies and planners mean the same memory in every run,
  // even in one whose few cores would be served sooner by another.
  [[nodiscard]] const std::vector<PlaceId>& fastest_first(DomainId domain) const { return orders_.at(domain); }
  // Of one line read by all of the domain's cores, as many at a time as are prefetched: what that order goes by,
  // latency / (cores x prefetch_mlp) + line / read bandwidth.
  [[nodiscard]] Seconds line_time(DomainId domain, PlaceId place) const;
  // The same of any initiator and any place that it has a path to.
  [[nodiscard]] Seconds line_time_from(InitiatorId initiator, PlaceId place) const;

  void to_blob(BlobWriter& out) const;
  static Machine from_blob(BlobReader& in);

 private:
  [[nodiscard]] std::vector<PlaceId> order_of(DomainId domain) const;

  MachineParts parts_;
  std::vector<std::vector<PlaceId>> orders_;  // by domain
};

// Bytes allowed on each place, indexed by place; those without an entry in a budget are allowed as in
// whole_budget().
using Budget = std::vector<Bytes>;

// What data may take where nobody speaks of a budget: all of every place, and nothing of one that computes unless
// it is a home. Its rows are for those who ask for them; a budget or a plan that names it lets other data in.
Budget whole_budget(const Machine& machine);

// The budget where the system lets all places together have `limit` only (a control group): no place has more, and
// those that are no home have no more together, each cut in proportion to whole granules. A home may
// have as much as the limit: what is elsewhere has to have a way back, and a page counts once, wherever it is.
Budget within_limit(const Machine& machine, Budget budget, Bytes limit);

// "hbm=16GiB,ddr=64GiB" (each domain gets that much of the kind), "hbm0=16GiB" (one place), or a bare size
// (`--fast`): the fastest kind. Throws Error{invalid} naming the word that is wrong and what there is.
Budget parse_budget(const Machine& machine, std::string_view text);
Budget fast_budget(const Machine& machine, Bytes fast);
// "the kinds hbm, ddr and the places hbm0, ddr0": what a refusal offers instead of a wrong name.
std::string kinds_and_places(const Machine& machine);
// The same budget as plans write it, however its sizes were written: "hbm=1MB" for "hbm=1000000". Throws
// Error{invalid} for what can be no budget of any machine.
std::string format_budget(std::string_view text);

}  // namespace terrace::machine
