// Records the loops and phases that region_phases.hpp derives from regions, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/regions/region_phases.hpp"

namespace terrace::runtime {

// Runs regions of given durations, and records the boundaries: "+name" a loop begins, "-" it ends, else a phase.
class Regions {
 public:
  explicit Regions(Seconds least = RegionPhases::k_min)
      : phases_([this] { return Seconds{now_}; }, [this](const PhaseBoundary& boundary) { on_boundary(boundary); },
                least) {}

  void open(const std::string& name) {
    names_.push_back(name);
    phases_.begin(++key_, phases_.intern_name("regions", name));
    keys_.push_back(key_);
  }
  void close() {
    phases_.end(keys_.back());
    keys_.pop_back();
    names_.pop_back();
  }
  void close_outer(std::size_t levels) {
    phases_.end(keys_[keys_.size() - 1 - levels]);
    keys_.resize(keys_.size() - 1 - levels);
  }
  void work(double seconds) { now_ += seconds; }
  void region(const std::string& name, double seconds = 1e-3) {
    open(name);
    work(seconds);
    close();
  }
  void regions(const std::vector<std::string>& names) {
    for (const auto& name : names) region(name);
  }
  std::vector<std::string> take() { return std::exchange(boundaries_, {}); }
  [[nodiscard]] bool in_loop() const { return phases_.in_loop(); }
  [[nodiscard]] std::string kinds() const { return phases_.kinds(); }

 private:
  void on_boundary(const PhaseBoundary& boundary) {
    if (boundary.ends_loop) boundaries_.emplace_back("-");
    if (!boundary.begins_loop.empty()) boundaries_.push_back("+" + boundary.begins_loop);
    if (!boundary.phase.empty()) boundaries_.push_back(boundary.phase);
  }
  double now_ = 0;
  std::uint64_t key_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<std::string> names_;
  std::vector<std::string> boundaries_;
  RegionPhases phases_;
};

using Texts = std::vector<std::string>;

}  // namespace terrace::runtime
