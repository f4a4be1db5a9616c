// SPDX-License-Identifier: Apache-2.0
// Resolves addresses of this process to functions, source lines, static variables and loops, for the agent; the
// launcher uses the names. Reads the symbol files that the launcher wrote (symbol_file.hpp) and matches them with
// the loaded modules by build-id, or by path where there is none. Look-ups do not allocate unless stated and are
// async-signal-safe; adding files and modules must not run concurrently with look-ups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "observe/loops/loop_code.hpp"
#include "observe/loops/loop_name.hpp"
#include "observe/symbols/symbol_file.hpp"

namespace terrace::observe {

// An executable or a library in the process.
struct LoadedModule {
  const char* path = "";            // borrowed by LoadedModule; the table has its own copy
  std::uint64_t bias = 0;           // address in the process = address in the file + bias
  std::uint64_t low = 0, high = 0;  // of its mappings
  std::span<const std::uint8_t> build_id;
};

class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // Maps a symbol file. Returns false where it is incomplete or of another version.
  bool add_file(const char* path) noexcept;
  // Adds a loaded module; copies what `module` points to. Returns its index, or -1 without memory.
  int add_module(const LoadedModule& module) noexcept;

  struct Site {
    int module = -1;                 // -1: no module at the address
    std::uint64_t offset = 0;        // in the module's file
    const char* function = nullptr;  // nullptr: unknown
    const char* file = nullptr;      // base name; nullptr: no debug information
    std::uint32_t line = 0;
    std::uint64_t function_offset = 0;  // where `file` is null: from the function's begin
    bool allocator = false;
  };
  // Returns the code at the address. For a call site pass the return address minus 1.
  [[nodiscard]] Site find(std::uint64_t address) const noexcept;

  // Returns the name of the out-of-line function at the address, without parameters. A clone or a split part has
  // the name of its source function. "": unknown.
  [[nodiscard]] std::string function_of(std::uint64_t address) const;

  // Meaning of the hook with a return address: instructions of the program's own, and what it reports of
  // loops.
  struct Work {
    std::uint32_t instructions = 0;
    LoopCode::Mark loops{};
  };
  [[nodiscard]] std::optional<Work> work(std::uint64_t site) const noexcept;

  // Look up a loop by its id, which is unique over all modules, and the loop of the code at an address.
  [[nodiscard]] LoopCode::Loop loop(LoopId id) const noexcept;
  [[nodiscard]] LoopCode::Place place(std::uint64_t address) const noexcept;

  [[nodiscard]] std::size_t modules() const noexcept;
  [[nodiscard]] const LoadedModule& module(std::size_t index) const noexcept;
  // Returns whether a symbol file describes the module.
  [[nodiscard]] bool is_described(std::size_t index) const noexcept;
  // Returns the variables of a module, by address in its file; `text()` returns their names.
  [[nodiscard]] std::span<const SymbolVariable> variables(std::size_t index) const noexcept;
  [[nodiscard]] const char* text(std::size_t index, std::uint32_t name) const noexcept;
  // Returns the names of the functions of all files, as find() returns them for their first address. Allocates.
  [[nodiscard]] std::set<std::string> function_names() const;
  // Returns the entry addresses in this process of the functions of that name, as in function_names(), without
  // copies without hooks. Allocates.
  [[nodiscard]] std::vector<std::uint64_t> entry_points(std::string_view name) const;
  // Returns the names of the loops of all files. Allocates.
  [[nodiscard]] std::vector<LoopName> loop_names() const;
  // Returns whether a file is of a program with explicit markers.
  [[nodiscard]] bool has_markers() const noexcept;
  // Returns whether the code of any file calls hooks.
  [[nodiscard]] bool has_hooks() const noexcept;
  // Returns whether a module may load libraries or start programs, whose code no file describes.
  [[nodiscard]] bool may_load_code() const noexcept;
  // Returns whether a module may load libraries into its process, whose loops no file describes yet.
  [[nodiscard]] bool loads_libraries() const noexcept;

  // Formats a site: "makea cg.cpp:120", "makea+0x1c", "1a2b3c4d+0x4711" (build-id, else the file's name),
  // "0x7f...". Writes at most `room` bytes, including the terminating zero, and returns the text.
  std::string_view describe(const Site& site, std::uint64_t address, char* buffer,
                            std::size_t room) const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the name of the loop whose back edge is at the site.
LoopName name_of_loop(std::string function, const SymbolTable::Site& site);

}  // namespace terrace::observe
