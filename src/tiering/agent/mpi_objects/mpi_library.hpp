// SPDX-License-Identifier: Apache-2.0
// Queries the loaded MPI library without its header: its version, the tables that describe its memory, and the
// communicators and info objects of calls. It knows no ABI: handles are passed on as registers, as the layer of
// MPI functions does (agent/mpi/transfers.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/mpi/call_events.hpp"
#include "strategy/mpi_objects/mpi_objects.hpp"

namespace terrace::agent {

class MpiLibrary {
 public:
  // Borrows the known tables, which must outlive it.
  explicit MpiLibrary(const std::vector<strategy::MpiObjectTable>& known) : known_(known) {}

  // Searches the loaded files for MPI and for UCX, unless both are known. Requires: no lock of the dynamic
  // linker is held. Call it in one thread at a time.
  void find();

  // Returns whether some table describes the library.
  [[nodiscard]] bool is_described() const { return !tables_.empty(); }
  // Returns "MPICH 4.0.2", or the first line of its version if no table describes it; "" before find().
  [[nodiscard]] const std::string& name() const { return name_; }

  struct Classified {
    const strategy::MpiObject* object = nullptr;  // null: no object of MPI. Valid as long as the library
    std::uint32_t ranks = 0;                      // N of its formulas; 0: unknown
    bool is_exact = false;                        // its formula gives the size of the mapping
  };
  // Returns the object that a mapping is. In MPI_Init and in collective calls the number of ranks is not known
  // (`mapping.request.ranks` is 0): it is the one at which a formula gives the size.
  [[nodiscard]] Classified classify(const strategy::MpiMapping& mapping) const;
  // Returns the first row that may be bound, and that the function makes: of private memory, or of shared memory.
  // Returns null if no table has such a row.
  [[nodiscard]] const strategy::MpiObject* find_row(std::string_view function, bool is_private) const;
  // Returns the kinds that tables describe and that may be bound, as "pools, fifos".
  [[nodiscard]] std::string kinds() const;
  // Returns whether some row has the kind and may be bound.
  [[nodiscard]] bool has_kind(strategy::MpiObjectKind kind) const;
  // Returns whether messages pass through the kind: as has_kind(), but rows of UCX count only if the table of the
  // MPI library has neither eager boxes nor cells.
  [[nodiscard]] bool uses_kind(strategy::MpiObjectKind kind) const;

  struct Communicator {
    std::uint32_t rank = 0, size = 0;
  };
  // Returns the value of a handle in the program's memory, which identifies the window.
  [[nodiscard]] std::uint64_t load_handle(const MpiCall& call, std::uint64_t address) const;
  // Return what an argument of a call refers to, or nothing: a null handle, or the library lacks the query.
  [[nodiscard]] std::optional<Communicator> communicator(const MpiCall& call, std::size_t position) const;
  [[nodiscard]] std::optional<std::string> info_value(const MpiCall& call, std::size_t position,
                                                      const char* key) const;

 private:
  void add_tables(const char* file, const std::string& version, bool is_ucx);
  [[nodiscard]] std::uint64_t handle(const MpiCall& call, std::size_t position, const char* from_fortran,
                                     const char* from_int) const;
  [[nodiscard]] bool is_null_info(std::uint64_t info) const;

  const std::vector<strategy::MpiObjectTable>& known_;
  // One for each table: found tables are added later, and rows are referred to.
  std::vector<std::unique_ptr<const strategy::MpiClassifier>> tables_;
  std::string name_;
  bool has_mpi_ = false, has_ucx_ = false;
  enum class Handles : std::uint8_t { mpich, open_mpi, standard } handles_ = Handles::mpich;
};

}  // namespace terrace::agent
