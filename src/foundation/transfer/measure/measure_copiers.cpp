// SPDX-License-Identifier: Apache-2.0
// Measures each copier for `terrace machine measure`, in rounds of copies, moves and stalls, and derives its price
// from them. See measure_copiers.hpp.
#include "transfer/measure/measure_copiers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "machine/measure/measured_rounds.hpp"
#include "machine/measure/placed_buffer.hpp"
#include "machine/measure/team.hpp"
#include "transfer/measure/copier_rig.hpp"
#include "transfer/measure/price_fit.hpp"

namespace terrace::transfer {

namespace {

using Clock = std::chrono::steady_clock;
using machine::Pages;
using machine::Spread;

constexpr Bytes k_one_huge{k_huge_page};
constexpr std::array<Bytes, 6> k_small_chunks{
    {{64UL << 10}, {256UL << 10}, {512UL << 10}, {1UL << 20}, {2UL << 20}, {8UL << 20}}};
constexpr std::array<Bytes, 2> k_huge_chunks{{{2UL << 20}, {8UL << 20}}};
constexpr Bytes k_memory{128UL << 20};
constexpr std::uint64_t k_caches = 4;  // measured memory is at least this multiple of the last-level caches,
constexpr std::uint64_t k_share_of_free = 4;  // and at most one part in so many of free memory
constexpr std::size_t k_traps = 15;
constexpr std::size_t k_min_rounds = 2;  // of recorded rounds
constexpr double k_max_seconds = 2;      // of further rounds, for a copier and page size
constexpr double k_min_share_huge = 0.9;

std::span<const Bytes> chunks_of(Pages pages) {
  return pages == Pages::huge ? std::span<const Bytes>(k_huge_chunks) : std::span<const Bytes>(k_small_chunks);
}

const char* name_of_page_kind(Pages pages) { return pages == Pages::huge ? "huge" : "small"; }

// Returns the lower quartile of the chunk times of a sweep: other programs only lengthen a move, but the minimum
// may come from pages that were in the caches by chance.
double lower_quartile(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Measured pair: the slowest and the fastest place that are NUMA nodes, of the first domain with such places.
struct PlacePair {
  InitiatorId initiator = 0;
  PlaceId from = 0;
  PlaceId to = 0;
};
std::optional<PlacePair> measured_pair(const machine::Machine& machine) {
  for (std::size_t domain = 0; domain < machine.domains().size(); ++domain) {
    std::vector<PlaceId> places;
    for (const auto place : machine.fastest_first(static_cast<DomainId>(domain)))
      if (machine.place(place).numa_node >= 0) places.push_back(place);
    if (!places.empty()) return PlacePair{machine.domains()[domain].initiator, places.back(), places.front()};
  }
  return {};
}

// Results for one copier and page size, with a concurrent computation.
struct Measured {
  std::map<std::uint64_t, Spread> moves;  // seconds of a chunk, by its size
  Spread copy;                            // seconds of 2 MiB
  std::optional<Spread> stall;            // seconds for each chunk of 2 MiB
};

class CopierMeasurer {
 public:
  CopierMeasurer(const CopierVariant& variant, const machine::Machine& machine, const PlacePair& pair,
                 std::vector<int> processors, Bytes memory, std::size_t repetitions, Clock::time_point deadline)
      : variant_(variant),
        machine_(machine),
        pair_(pair),
        processors_(std::move(processors)),
        memory_(memory),
        repetitions_(repetitions),
        deadline_(deadline),
        within_node_(machine.place(pair.from).numa_node == machine.place(pair.to).numa_node) {}

  // Returns the price and fills `rows`; empty where the system does not permit the copier.
  std::optional<machine::CopierPrice> price() {
    std::map<Pages, Measured> all;
    for (const auto pages : {Pages::huge, Pages::small}) {
      CopierRig rig(variant_, machine_.place(pair_.from).numa_node, machine_.place(pair_.to).numa_node, pages,
                    memory_);
      if (!rig.copier()) {
        note("this system does not permit it (`terrace machine check` says why)");
        return {};
      }
      if (pages == Pages::huge && rig.share_huge().value_or(0) < k_min_share_huge) {
        note("moves of huge pages are not measured: the system has no free huge pages");
        continue;
      }
      piece_ = rig.copier()->max_piece();
      threads_ = rig.copier()->threads();
      all[pages] = measure(rig);
    }
    add_rows(all);
    return price_of(all);
  }

  std::vector<machine::MeasuredCopier> rows;
  std::vector<std::string> notes;

 private:
  void note(const std::string& what) { notes.push_back(std::string(variant_.name()) + ": " + what); }

  // Runs the rounds on pinned threads; the background load runs on the second processor.
  Measured measure(CopierRig& rig) const {
    Measured measured;
    BackgroundLoad load;
    machine::run_team(
        processors_, 1,
        [&](std::size_t thread, std::size_t) {
          if (thread == 1) return load.run();
          if (processors_.size() > 1) load.await_calibration();
          try {
            measured = rounds(rig, processors_.size() > 1 ? &load : nullptr);
          } catch (...) {
            load.stop();
            throw;
          }
          load.stop();
        },
        [](std::size_t, Seconds) {});
    return measured;
  }

  // Repeats copies, moves and stalls in rounds, of which the first is a warm-up.
  Measured rounds(CopierRig& rig, const BackgroundLoad* load) const {
    Measured measured;
    std::map<std::uint64_t, std::vector<double>> moves;
    std::vector<double> copies;
    std::vector<double> stalls;
    const bool huge = rig.share_huge().value_or(0) >= k_min_share_huge;
    const auto begun = seconds_now();
    for (std::size_t round = 0; round <= repetitions_; ++round) {
      if (round > k_min_rounds && seconds_now() - begun > k_max_seconds) break;
      check_deadline();
      const auto copy = lower_quartile(rig.copies(k_one_huge));
      if (round > 0) copies.push_back(copy);
      for (const auto size : chunks_of(huge ? Pages::huge : Pages::small)) {
        check_deadline();
        const auto time = lower_quartile(rig.sweep(size));
        if (round > 0) moves[size.value].push_back(time);
      }
      if (load && round > 0) stalls.push_back(stall(rig, *load));
    }
    for (auto& [size, times] : moves) measured.moves[size] = machine::spread_of(std::move(times));
    measured.copy = machine::spread_of(std::move(copies));
    if (load) measured.stall = machine::spread_of(std::move(stalls));
    return measured;
  }

  void check_deadline() const {
    if (Clock::now() > deadline_)
      throw Error(Code::failed,
                  "the time limit of the measurement was reached; measure again when the machine is idle");
  }

  // Returns the time that a running thread loses for each 2 MiB chunk that is moved, less its loss in as much idle
  // time.
  static double stall(CopierRig& rig, const BackgroundLoad& load) {
    const auto begun = seconds_now();
    const auto lost_before = load.lost();
    const auto chunks = rig.sweep(k_one_huge).size();
    const auto time = seconds_now() - begun;
    const auto lost = load.lost() - lost_before;
    const auto idle_begun = seconds_now();
    const auto idle_lost_before = load.lost();
    while (seconds_now() < idle_begun + time) {
    }
    const auto idle_lost = load.lost() - idle_lost_before;
    return std::max(0.0, (lost - idle_lost) / static_cast<double>(chunks));
  }

  void add_row(const char* what, const char* pages, Bytes size, const Spread& seconds) {
    rows.push_back({std::string(variant_.name()), what, pages, size, seconds});
  }

  void add_rows(const std::map<Pages, Measured>& all) {
    for (const auto& [pages, measured] : all) {
      for (const auto& [size, seconds] : measured.moves)
        add_row("move", name_of_page_kind(pages), {size}, seconds);
      add_row("copy", name_of_page_kind(pages), k_one_huge, measured.copy);
      if (measured.stall) add_row("stall", name_of_page_kind(pages), k_one_huge, *measured.stall);
    }
  }

  // Fits the parameters of the machine file's [[copier]] to the measurements.
  machine::CopierPrice price_of(const std::map<Pages, Measured>& all) {
    machine::CopierPrice price{.name = std::string(variant_.name()), .piece = piece_, .threads = threads_};
    const auto& best = all.begin()->second;  // huge pages, where there are any
    const double rate = static_cast<double>(k_one_huge.value) / best.copy.best;
    const bool moves = !within_node_ || variant_.moves_within_node();
    std::vector<PricedMove> points;
    for (const auto& [pages, measured] : all)
      for (const auto& [size, seconds] : measured.moves) {
        PricedMove move;
        move.pieces = static_cast<double>(ceil_div(size, piece_.value));
        (pages == Pages::huge ? move.huge : move.small) =
            static_cast<double>(size / (pages == Pages::huge ? k_huge_page : k_page));
        move.whole = seconds.best;
        move.seconds = seconds.best - (moves ? static_cast<double>(size) / rate : 0);
        points.push_back(move);
      }
    const auto fitted = fit_price(points);
    price.call = {fitted.call};
    price.pages.push_back({{k_page}, {fitted.small}});
    if (all.contains(Pages::huge)) price.pages.push_back({k_one_huge, {fitted.huge}});
    if (best.stall)
      price.stall = {best.stall->median};  // a difference: noise may also reduce it
    else
      note("the stall of running threads is not measured: this needs a second core");
    if (!moves) note("pages do not move within one node: call and pages are the costs of the request alone");
    price.trap = trap();
    price.lines = lines_of(rate);
    return price;
  }

  // Returns the cache lines in flight by Little's law, so that copy_rate() equals the measured rate.
  [[nodiscard]] double lines_of(double rate) const {
    const auto latency = std::max(machine_.path(pair_.initiator, pair_.from).latency,
                                  machine_.path(pair_.initiator, pair_.to).latency);
    return std::max(1.0, rate * latency.value / static_cast<double>(machine_.parts().line.value) / threads_);
  }

  // Measures the latency of an access to a page in flight, without the wait for its arrival.
  std::optional<Seconds> trap() {
    std::vector<double> times;
    for (std::size_t i = 0; i < k_traps; ++i)
      if (const auto time = variant_.trap_latency()) times.push_back(time->value);
    if (times.empty()) return {};
    const auto spread = machine::spread_of(std::move(times));
    add_row("trap", name_of_page_kind(Pages::small), {k_page}, spread);
    return Seconds{spread.best};
  }

  const CopierVariant& variant_;
  const machine::Machine& machine_;
  PlacePair pair_;
  std::vector<int> processors_;
  Bytes memory_;
  std::size_t repetitions_;
  Clock::time_point deadline_;
  bool within_node_;
  Bytes piece_;
  std::uint32_t threads_ = 1;
};

}  // namespace

void measure_copiers(machine::MachineFile& file, const machine::Discovered& discovered,
                     const machine::Progress& progress, Clock::time_point deadline) {
  auto& measured = file.measured.value();
  const auto pair = measured_pair(file.machine);
  if (!pair) {
    measured.notes.emplace_back("no place is a NUMA node: the price of moves is not measured");
    return;
  }
  auto processors = discovered.processors.at(pair->initiator);
  processors.resize(std::min<std::size_t>(processors.size(), 2));
  const auto wanted = std::max(k_memory.value, k_caches * discovered.last_level.at(pair->initiator).value);
  const Bytes memory{align_down(std::min(wanted, machine::available_memory(-1).value / k_share_of_free),
                                k_small_chunks.back().value)};
  if (memory.value == 0) {
    measured.notes.emplace_back(
        "the price of moves is not measured: too little memory is free; measure again when more is free");
    return;
  }
  auto variants = copiers();
  std::stable_sort(variants.begin(), variants.end(),
                   [](const auto* one, const auto* other) { return one->overhead() < other->overhead(); });
  auto parts = file.machine.parts();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto& variant = *variants[i];
    const auto name = std::string(variant.name());
    if (progress) progress(static_cast<double>(i) / static_cast<double>(variants.size()), "moves by " + name);
    if (!variant.supports(file.machine.place(pair->from), file.machine.place(pair->to))) continue;
    CopierMeasurer measurer(variant, file.machine, *pair, processors, memory, measured.repetitions, deadline);
    try {
      if (auto price = measurer.price()) {
        parts.copiers.push_back(std::move(*price));
        measured.copiers.insert(measured.copiers.end(), measurer.rows.begin(), measurer.rows.end());
      }
    } catch (const Error& error) {
      measured.notes.push_back(name + " is not measured: " + error.what());
    }
    measured.notes.insert(measured.notes.end(), measurer.notes.begin(), measurer.notes.end());
  }
  file.machine = machine::Machine(std::move(parts));
  if (progress) progress(1, "done");
}

}  // namespace terrace::transfer
