// SPDX-License-Identifier: Apache-2.0
// Declares the base class of the measurement in measure.cpp (`terrace machine measure`): measures figures in
// rounds until their best windows are confirmed, or refuses with the reason. Holds buffers, notes and the
// resulting machine parts. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "machine/discover/system_files.hpp"
#include "machine/measure/kernels.hpp"
#include "machine/measure/measure.hpp"
#include "machine/measure/measured_rounds.hpp"
#include "machine/measure/other_load.hpp"
#include "machine/measure/physics.hpp"
#include "machine/measure/placed_buffer.hpp"

namespace terrace::machine {

inline constexpr Bytes k_mib{1u << 20};

// Thrown if the whole machine cannot be measured now, as opposed to a single place that cannot be measured at all.
struct Refusal : Error {
  explicit Refusal(const std::string& why) : Error(Code::failed, why) {}
};

inline std::string percent(double share) { return std::to_string(static_cast<int>(100 * share)) + " %"; }

class RoundBasedMeasurement {
 protected:
  RoundBasedMeasurement(const Discovered& found, const MeasureOptions& options, const Progress& progress)
      : found_(found),
        options_(options),
        progress_(progress),
        parts_(found.machine.parts()),
        ordinary_(SystemFiles().choice("/sys/kernel/mm/transparent_hugepage/enabled") == "always" ? Pages::huge
                                                                                                  : Pages::small) {
    min_rounds_ = options.repetitions != 0 ? options.repetitions : options.quick ? 2 : 4;
    measured_.repetitions = static_cast<std::uint32_t>(min_rounds_);
    measured_.processor = found.processor_name;
    steps_ = parts_.places.size() * (parts_.places.size() - 1);
    for (std::size_t i = 0; i < parts_.initiators.size(); ++i) steps_ += 1;
    for (const auto& path : parts_.paths) steps_ += is_remote(path) || options.quick ? 2 : 3;
    steps_ *= min_rounds_;
  }

  // Measures all figures of `round` one after the other, repeatedly, so that a disturbance of a few seconds
  // affects each of them once. Repeats at least min_rounds_ times and for the minimum time, until the best windows
  // are confirmed and no law of physics is violated, or the time limit is reached. Each round derives the machine
  // anew from all windows so far. Throws Error{failed} if figures stay unconfirmed, if programs on processors
  // outside the initiator use the memory, or if the minimum of rounds takes too long.
  void measure_in_rounds(double share, std::size_t initiator, const std::function<void()>& round) {
    using Clock = std::chrono::steady_clock;
    const auto begun = Clock::now();
    const auto is_past = [begun, share](double seconds) {
      return Clock::now() - begun >= std::chrono::duration<double>(share * seconds);
    };
    load_.emplace(cores(initiator));
    const auto parts = parts_;
    const auto measured = measured_;
    figures_ = {};
    figures_.set_measure_predicate([this, is_past] {
      if (options_.repetitions != 0) return true;
      if (repeating_) return !is_past(options_.limits.repeating);
      if (is_past(options_.limits.measuring))
        refuse("the time was up in round " + std::to_string(round_) + " of at least " +
               std::to_string(min_rounds_));
      return true;
    });
    std::optional<std::set<std::string>> only;
    repeating_ = false;
    for (round_ = 1;; ++round_) {
      parts_ = parts;
      measured_ = measured;
      reported_.clear();
      figures_.begin_round(only);
      round();
      if (round_ < min_rounds_) continue;
      if (options_.repetitions != 0) break;
      if (!is_past(options_.limits.minimum)) continue;
      repeating_ = true;
      if (load_->taken().beyond > k_max_beyond) refuse("programs on other processors used the memory, too");
      const auto broken = broken_laws(parts_, measured_);
      only = unconfirmed(k_confirmed_within);
      if (broken.empty() && only->empty()) break;
      if (!broken.empty()) only.reset();  // some figures contradict each other: repeat all
      if (!is_past(options_.limits.repeating)) continue;
      const auto open = unconfirmed(k_refused_beyond);
      if (broken.empty() && open.empty()) break;
      refuse(broken.empty() ? unconfirmed_text(open) : joined(broken));
    }
    buffers_.clear();
    chases_.clear();
  }

  // Returns the reported figures whose best window is not confirmed.
  [[nodiscard]] std::set<std::string> unconfirmed(double within) const {
    std::set<std::string> names;
    for (auto& name : figures_.unconfirmed(within))
      if (reported_.contains(name)) names.insert(std::move(name));
    return names;
  }

  static std::string unconfirmed_text(const std::set<std::string>& open) {
    return "undisturbed measurements of " + *open.begin() +
           (open.size() > 1 ? " and " + std::to_string(open.size() - 1) + " other figures" : std::string()) +
           " are too few, or differ by more than " + percent(k_refused_beyond);
  }

  static std::string joined(const std::vector<std::string>& laws) {
    std::string text;
    for (const auto& law : laws) text += (text.empty() ? "" : "; ") + law;
    return text;
  }

  // Throws Refusal with what disturbed the measurement, and what to do.
  [[noreturn]] void refuse(const std::string& why) const {
    const auto taken = load_->taken();
    const auto tenths = [](double value) {
      char digits[32];
      std::snprintf(digits, sizeof digits, "%.1f", value);
      return std::string(digits);
    };
    std::string text = why + ". Other programs took " + tenths(taken.all) + " processors and interrupted " +
                       percent(figures_.interrupted_share()) + " of the windows";
    if (taken.stolen > k_max_stolen) text += "; the host of this virtual machine took " + tenths(taken.stolen);
    if (figures_.count_without_shared_cache() > 0)
      text += "; in " + std::to_string(figures_.count_without_shared_cache()) +
              " windows the host of this virtual machine ran the processors on cores without a shared cache";
    throw Refusal(text + "; no machine file is made: measure again when the machine is idle");
  }

  // Reports progress before each group of figures.
  void step(const std::string& what) {
    if (progress_)
      progress_(static_cast<double>(done_) / static_cast<double>(steps_),
                what + (repeating_ ? " (repeated: the machine is busy)" : ""));
    if (round_ <= min_rounds_ && done_ + 1 < steps_) ++done_;
  }

  [[nodiscard]] Probe probe_of(const std::vector<int>& processors) {
    return {figures_, processors, options_.quick ? k_quick_windows : k_windows};
  }

  // Returns a probe of all cores of an initiator together. Ignores windows in which its cores share no cache.
  [[nodiscard]] Probe joint_probe_of(const std::vector<int>& processors, std::size_t initiator) {
    auto probe = probe_of(processors);
    const auto& caches = parts_.initiators[initiator].caches;
    const auto& stated = found_.machine.initiators()[initiator].caches;
    if (!stated.empty() && stated.back().shared && stated.back().size == found_.last_level.at(initiator))
      probe.max_hop = {k_max_hits_of_a_hop * caches.back().latency.value};
    return probe;
  }

  // Records a measured time for the machine file.
  Spread record_time(std::size_t initiator, const std::string& figure, const Spread& seconds) {
    measured_.times.push_back({static_cast<InitiatorId>(initiator), figure, seconds});
    return seconds;
  }

  Spread record_min_time(std::size_t initiator, const std::string& figure, const MinTime& minimum) {
    reported_.insert(minimum.figure);
    return record_time(initiator, figure, minimum.seconds);
  }

  // Return buffers that live as long as their group of figures, because linking a chase takes longer than
  // following it.
  ChaseBuffer& chase_buffer(const std::string& name, const std::function<Bytes()>& size, Pages pages, int node) {
    auto& buffer = chases_[name];
    if (!buffer) buffer = std::make_unique<ChaseBuffer>(size(), pages, node);
    return *buffer;
  }
  PlacedBuffer& plain_buffer(const std::string& name, const std::function<Bytes()>& size, Pages pages, int node) {
    auto& buffer = buffers_[name];
    if (!buffer) {
      buffer = std::make_unique<PlacedBuffer>(size(), pages, node);
      const auto numbers = buffer->as<double>();
      std::fill(numbers.begin(), numbers.end(), 1.0);
    }
    return *buffer;
  }

  void note(const std::string& text) {
    if (std::find(measured_.notes.begin(), measured_.notes.end(), text) == measured_.notes.end()) {
      measured_.notes.push_back(text);
    }
  }

  // Returns whether the path leads out of its domain. These are many, so they are measured with fewer settings.
  [[nodiscard]] bool is_remote(const Path& path) const {
    return parts_.places[path.place].domain != parts_.initiators[path.initiator].domain;
  }

  // Returns one processor for each core of an initiator.
  [[nodiscard]] std::vector<int> cores(std::size_t initiator) const {
    auto list = found_.processors.at(initiator);
    if (list.size() > parts_.initiators[initiator].cores) list.resize(parts_.initiators[initiator].cores);
    if (list.empty())
      throw Error(Code::failed, "this process may use no processor of " + parts_.initiators[initiator].name +
                                    "; allow one (taskset, cpuset), and measure again");
    return list;
  }

  // Returns the NUMA node of a place; -1 if it is the only one: a container may forbid setting a policy.
  [[nodiscard]] int node_of(std::size_t place) const {
    return parts_.places.size() > 1 ? parts_.places[place].numa_node : -1;
  }

  // Returns the size of one of `parts` buffers on a place: `requested`, or less if half of the memory holds less.
  [[nodiscard]] Bytes fit_size(Bytes requested, std::uint64_t parts, std::size_t initiator,
                               std::size_t place) const {
    const auto available = available_memory(node_of(place));
    const Bytes max_size{std::min(available.value, parts_.places[place].capacity.value) / 2 / parts};
    const auto size = std::min(requested, max_size);
    if (size < found_.last_level.at(initiator) || size < 8 * k_mib) {
      throw Error(
          Code::no_memory,
          "only " + format(available) + " of " + parts_.places[place].name +
              " are free, too little to measure memory and not caches; free memory there, and measure again");
    }
    return size;
  }

  // Throws if the kernel has put pages of the buffer on another node than the place's.
  void verify(const PlacedBuffer& buffer, std::size_t place) {
    const auto node = node_of(place);
    if (node < 0) return;
    const auto share = buffer.share_on(node);
    if (!share) {
      note("the kernel does not report where pages are; their policy requests the place's node");
    } else if (*share < 0.99) {
      throw Error(Code::failed, "only " + percent(*share) + " of the measured pages are on NUMA node " +
                                    std::to_string(node) + "; free memory there, and measure again");
    }
  }

  static constexpr std::size_t k_windows = 5, k_quick_windows = 3;  // of a figure in a round
  // Greatest average number of processors that other programs may use outside the measured ones, and the host of
  // all.
  static constexpr double k_max_beyond = 0.5, k_max_stolen = 0.05;
  static constexpr double k_max_hits_of_a_hop = 8;  // of the last cache; without a shared cache twice that

  const Discovered& found_;
  MeasureOptions options_;
  const Progress& progress_;
  MachineParts parts_;
  Measurement measured_;
  Pages ordinary_;                          // page size that programs get by default
  std::map<InitiatorId, double> accesses_;  // seconds per access in the first cache, with its instructions
  std::map<std::pair<InitiatorId, PlaceId>, double> streamed_;  // seconds per element
  struct Overlap {
    std::uint32_t window, store_buffer, streams;  // 0: not found
  };
  std::map<std::pair<InitiatorId, PlaceId>, Overlap> overlaps_;
  std::map<std::pair<InitiatorId, PlaceId>, double> parallel_;
  std::optional<OtherLoad> load_;   // since the start of the group
  Figures figures_;                 // of the current group
  std::set<std::string> reported_;  // figures that go into the file
  std::map<std::string, std::unique_ptr<PlacedBuffer>> buffers_;
  std::map<std::string, std::unique_ptr<ChaseBuffer>> chases_;
  std::size_t round_ = 1;
  bool repeating_ = false;  // repeating unconfirmed figures
  std::size_t min_rounds_ = 1;
  std::size_t steps_ = 1;
  std::size_t done_ = 0;
};

}  // namespace terrace::machine
