// SPDX-License-Identifier: Apache-2.0
// Tracks the executable and the loaded libraries: their symbols, and their static data as objects. Used wherever
// the agent names code: call sites, functions, loops. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "observe/symbols/symbols.hpp"

namespace terrace::agent {

struct Process;

// Registers modules that were loaded since the last call, and the static data of those that a symbol file
// describes: each variable of at least a page is an object, the data between them is "(globals NAME)".
void note_modules(Process& process) noexcept;

// The symbol at an address.
struct FoundSymbol {
  observe::SymbolTable::Site site;
  const char* path = "";   // of the module; never freed
  bool described = false;  // by a symbol file
};

// Finds the symbol at the address. Calls note_modules() first if no known module contains it.
FoundSymbol find_symbol(Process& process, std::uint64_t address) noexcept;

// Returns the work of the code that belongs to the hook call returning to `site`.
observe::SymbolTable::Work find_work(Process& process, std::uint64_t site) noexcept;
// Returns whether `site` is the return address of a hook call in the program's own code, as far as is known.
// Otherwise it is that of a copy by the C library.
bool has_work(Process& process, std::uint64_t site) noexcept;
// Calls SymbolTable::function_of. Allocates.
std::string name_of_function(Process& process, std::uint64_t address);
// Call the functions of SymbolTable.
observe::LoopCode::Loop find_loop(Process& process, observe::LoopId id) noexcept;
observe::LoopCode::Place find_place(Process& process, std::uint64_t address) noexcept;

// Calls SymbolTable::describe.
std::string_view describe_symbol(Process& process, const observe::SymbolTable::Site& site, std::uint64_t address,
                                 char* buffer, std::size_t room) noexcept;

// For fork(2).
void lock_modules();
void unlock_modules();

}  // namespace terrace::agent
