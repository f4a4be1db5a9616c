// The executable and the libraries that are loaded: their symbols, and their static data as objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "observe/symbols/symbols.hpp"

namespace terrace::agent {

struct Process;

// Takes note of modules that were loaded since the last call. Those that a symbol file describes get their static
// data registered: every variable of at least a page is an object, what is between them is "(globals NAME)".
void note_modules(Process& process) noexcept;

// What runs, or is, at an address.
struct FoundSymbol {
  observe::SymbolTable::Site site;
  const char* path = "";   // the module's; stays valid
  bool described = false;  // by a symbol file
};

// Takes note of modules first if the address belongs to none yet.
FoundSymbol find_symbol(Process& process, std::uint64_t address) noexcept;

// What goes with the hook that returns to an address.
observe::SymbolTable::Work find_work(Process& process, std::uint64_t site) noexcept;
// Whether the address is one to which a hook of the program's own code returns, as far as it is known; else what
// the C library copied was called there.
bool has_work(Process& process, std::uint64_t site) noexcept;
// As SymbolTable::function_of. Allocates.
std::string name_of_function(Process& process, std::uint64_t address);
// As SymbolTable's.
observe::LoopCode::Loop find_loop(Process& process, observe::LoopId id) noexcept;
observe::LoopCode::Place find_place(Process& process, std::uint64_t address) noexcept;

// As SymbolTable::describe.
std::string_view describe_symbol(Process& process, const observe::SymbolTable::Site& site, std::uint64_t address,
                                 char* buffer, std::size_t room) noexcept;

// Around fork.
void lock_modules();
void unlock_modules();

}  // namespace terrace::agent
