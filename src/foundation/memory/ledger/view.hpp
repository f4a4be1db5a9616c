// What a ledger says to somebody who only looks: who holds how much of which place, and what each one's share is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

struct LedgerView {
  struct Place {
    std::string name;
    std::uint64_t budget = 0;
  };
  struct Holding {  // by place
    std::optional<std::uint64_t> held;
    std::optional<std::uint64_t> outstanding;  // both without a value where a stray write has destroyed them
    std::optional<std::uint64_t> share;        // where a demand is stated
  };
  struct Process {
    std::uint32_t process = 0;
    std::vector<Holding> holdings;
  };
  std::string job;
  std::vector<Place> places;
  std::vector<Process> processes;     // living ones
  std::size_t unknown_processes = 0;  // slots of whom nobody knows whose they are
};

// Nothing where the title was overwritten.
std::optional<LedgerView> view_of(const LedgerPage& page);
// Of all jobs of this user on this node that have a living process.
std::vector<LedgerView> ledgers_of_this_user();

}  // namespace terrace::memory
