// SPDX-License-Identifier: Apache-2.0
// Maps an address of a trace to its object, for the count of misses (trace_misses.cpp). Objects are those of a
// managed run: each block from a certain size on; smaller blocks together; static variables of at least a page;
// mappings; stacks.
//
// Addresses become canonical as there: a block gets fresh addresses from a page's beginning on, in the order of
// allocation. Memory outside of objects keeps its address.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracer/trace.hpp"
#include "tracer/trace_program.hpp"

namespace terrace::tracer {

struct TraceObject {
  std::string name;
  std::string kind;        // heap, small, fixed, constant, mapping, stack, library
  std::uint64_t size = 0;  // bytes; 0 where it is many things together
};

class TraceMemory {
 public:
  // `big_block`: bytes from which on a block is an object of its own.
  TraceMemory(const TraceProgram& program, std::uint64_t big_block);

  struct Found {
    std::uint64_t canonical = 0;
    std::uint64_t left = 0;  // bytes from the address on that this holds for, at least 1
    std::uint32_t object = 0;
  };
  [[nodiscard]] Found find(std::uint64_t address);
  // Applies a record that changes memory. `site` names the block that it allocates.
  void change(const TraceRecord& record, std::string_view site);
  [[nodiscard]] const std::vector<TraceObject>& objects() const { return objects_; }

 private:
  struct Piece {
    std::uint64_t high = 0;
    std::uint64_t delta = 0;  // canonical address = address + delta
    std::uint32_t object = 0;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  // by their first byte, disjoint

  std::uint32_t add_object(std::string name, std::string kind, std::uint64_t size);
  std::uint32_t shared_object(const std::string& name, const std::string& kind);
  void place(Pieces& pieces, std::uint64_t low, std::uint64_t size, std::uint32_t object, bool fresh);
  static void carve(Pieces& pieces, std::uint64_t low, std::uint64_t high);
  static bool look(const Pieces& pieces, std::uint64_t address, Found& found);

  std::uint64_t big_block_;
  std::vector<TraceObject> objects_;
  std::unordered_map<std::string, std::uint32_t> shared_;  // objects that are many things, by name
  Pieces blocks_;
  Pieces fixed_;     // the program's segments and variables
  Pieces mappings_;  // what the system gave
  std::uint64_t break_low_ = 0;
  std::uint64_t next_;  // canonical
  // Caches the last lookups by page, as most accesses repeat recent pages.
  struct Recent {
    std::uint64_t low = 1, high = 0;
    std::uint64_t delta = 0;
    std::uint32_t object = 0;
  };
  std::vector<Recent> recent_;
};

}  // namespace terrace::tracer
