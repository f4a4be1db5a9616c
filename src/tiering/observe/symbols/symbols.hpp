// Names for addresses of this process: functions, source lines, static variables. Reads the symbol files that the
// launcher wrote (symbol_file.hpp) and matches them to the loaded modules by build-id, or by path where there is
// none. Lookups allocate nothing and may be called from anywhere; files and modules are added while nobody looks
// up, or under the caller's lock.
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

// A part of the process that was loaded from one file.
struct LoadedModule {
  const char* path = "";            // valid as long as the table
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

  // Maps a symbol file. False when it is not a whole one of this version.
  bool add_file(const char* path) noexcept;
  // A module is there (again). Copies what `module` points to. Returns its index, or -1 without memory.
  int add_module(const LoadedModule& module) noexcept;

  struct Site {
    int module = -1;                 // -1: no module is known there
    std::uint64_t offset = 0;        // in the module's file
    const char* function = nullptr;  // nullptr: not known
    const char* file = nullptr;      // base name; nullptr: no debug information
    std::uint32_t line = 0;
    std::uint64_t function_offset = 0;  // without a file: from the beginning of the function
    bool allocator = false;
  };
  // What runs at the address. For a return address ask one byte before it.
  [[nodiscard]] Site find(std::uint64_t address) const noexcept;

  // Of the function whose code is at the address, without parameters and whatever was inlined there: one that the
  // compiler has cloned or split goes by the name that it was written under. "": it is not known.
  [[nodiscard]] std::string function_of(std::uint64_t address) const;

  // What goes with the hook that returns to this address: instructions of the program's own, and what it tells of
  // loops.
  struct Work {
    std::uint32_t instructions = 0;
    LoopCode::Mark loops{};
  };
  [[nodiscard]] std::optional<Work> work(std::uint64_t site) const noexcept;

  // Loops of all modules together; the code at an address.
  [[nodiscard]] LoopCode::Loop loop(LoopId id) const noexcept;
  [[nodiscard]] LoopCode::Place place(std::uint64_t address) const noexcept;

  [[nodiscard]] std::size_t modules() const noexcept;
  [[nodiscard]] const LoadedModule& module(std::size_t index) const noexcept;
  // Whether a symbol file describes it.
  [[nodiscard]] bool described(std::size_t index) const noexcept;
  // Of one module, by address in its file; `text()` gives their names.
  [[nodiscard]] std::span<const SymbolVariable> variables(std::size_t index) const noexcept;
  [[nodiscard]] const char* text(std::size_t index, std::uint32_t name) const noexcept;
  // What find() calls the functions of all files that were added, at their first address. Allocates.
  [[nodiscard]] std::set<std::string> function_names() const;
  // Where the functions of that name begin in this process, as function_names() has it, without their versions
  // without hooks. Allocates.
  [[nodiscard]] std::vector<std::uint64_t> begins_of(std::string_view name) const;
  // The loops of all files that were added. Allocates.
  [[nodiscard]] std::vector<LoopName> loop_names() const;
  // Whether one of the files is of a program that marks its main loop itself.
  [[nodiscard]] bool has_markers() const noexcept;
  // Whether the code of any of them calls hooks.
  [[nodiscard]] bool has_hooks() const noexcept;
  // Whether one of them calls what loads libraries or begins other programs: there is code that no file describes.
  [[nodiscard]] bool loads_more() const noexcept;
  // Returns whether one of them may load libraries into its process, whose loops no file describes yet.
  [[nodiscard]] bool loads_libraries() const noexcept;

  // "makea cg.cpp:120", "makea+0x1c", "1a2b3c4d+0x4711" (build-id, else the file's name), "0x7f...". Writes at
  // most `room` bytes, the ending zero among them, and returns the text.
  std::string_view describe(const Site& site, std::uint64_t address, char* buffer,
                            std::size_t room) const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of the loop whose last instruction is at the site.
LoopName name_of_loop(std::string function, const SymbolTable::Site& site);

}  // namespace terrace::observe
