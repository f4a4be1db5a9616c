// How much of this process the hooks reach: of its time, by sampling where its threads are; of its heap, by what
// was touched and never reported. Simulations measure it; it costs no virtual time.
#pragma once

#include <vector>

#include "observe/coverage/code_map.hpp"
#include "observe/coverage/heap_coverage.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/objects/spin_lock.hpp"
#include "runtime/coverage.hpp"

namespace terrace::agent {

class ProgramCoverage final : public runtime::Coverage {
 public:
  ProgramCoverage();

  // The calling thread's time is sampled, or no longer.
  void begin_thread() noexcept;
  void end_thread() noexcept;
  // Must be told what is loaded.
  [[nodiscard]] observe::CodeMap& code() { return code_; }
  // Must hear of the program's misses.
  [[nodiscard]] observe::TallySink& sink() { return heap_; }

  void object_added(const observe::Object& object, std::uint64_t address) override;
  void object_removed(ObjectId object) override { heap_.object_removed(object); }
  void set_in_loop(bool in_loop) override;
  void set_observed(bool observed) override { heap_.set_observed(observed); }
  std::optional<profile::CoverageRecord> so_far() override;

 private:
  void look_at_all() noexcept;

  observe::CodeMap code_;
  observe::SpinLock lock_;  // of what follows
  std::vector<observe::TimeSamples*> threads_;
  std::uint64_t owed_ns_ = 0;  // time of ended threads that no sample stands for
  int refused_ = 0;            // by the system, its errno
  bool sampled_ = false;
  bool filtered_;  // system calls, when the program began
  observe::HeapCoverage heap_;
};

}  // namespace terrace::agent
