// SPDX-License-Identifier: Apache-2.0
// Reads a ledger for display by the command line: how much each process holds of each place, and what its share
// is.
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
    std::optional<std::uint64_t> outstanding;  // no values: destroyed by a stray write
    std::optional<std::uint64_t> share;        // no value: the process has stated no demand
  };
  struct Process {
    std::uint32_t process = 0;
    std::vector<Holding> holdings;
  };
  std::string job;
  std::vector<Place> places;
  std::vector<Process> processes;     // live processes only
  std::size_t unknown_processes = 0;  // slots whose owner was destroyed by a stray write
};

// Returns nothing if the description in the page was overwritten.
std::optional<LedgerView> read_ledger_view(const LedgerPage& page);
// Returns the ledgers of this user's jobs on this node in which a process is alive, or a slot's owner is unknown.
// Leaves out files that cannot be read as ledgers.
std::vector<LedgerView> list_user_ledgers();

}  // namespace terrace::memory
