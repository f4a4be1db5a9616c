// The executable and the libraries that are loaded: their symbols, and their static data as objects.
#pragma once

#include <cstdint>

#include "access/symbols.hpp"

namespace terrace::front {

struct Process;

// Takes note of modules that were loaded since the last call. Those that a symbol file describes get their static
// data registered: every variable of at least a page is an object, what lies between them is "(globals NAME)".
void note_modules(Process& process) noexcept;

// What runs, or lies, at the address; takes note of modules first if the address belongs to none yet.
access::SymbolTable::Site find_symbol(Process& process, std::uint64_t address) noexcept;

// The name and the range of the module around the address; false when there is none.
bool find_module(Process& process, std::uint64_t address, access::LoadedModule& module) noexcept;

// Around fork.
void lock_modules();
void unlock_modules();

}  // namespace terrace::front
