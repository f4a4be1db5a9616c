// SPDX-License-Identifier: Apache-2.0
// Classifies the memory that MPI libraries allocate for themselves (eager boxes, cells, receive pools, RMA
// windows, MPI_Alloc_mem), so that each kind can be bound to a memory of its own (Congiu and Balaji, "Evaluating
// the Impact of High-Bandwidth Memory on MPI Communications"). A table for each version of a library states how
// its objects are recognised and how large they are (docs/reference/mpi-objects.md).
//
// The launcher reads the tables (strategy/files/mpi_objects_file.hpp) and passes them on by to_blob(). In the
// program, MpiClassifier has the tables of the libraries that are loaded; the hooks of mmap and shmat call
// classify() before the first touch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"
#include "core/units.hpp"
#include "strategy/hints/expression.hpp"

namespace terrace::strategy {

enum class MpiObjectKind : std::uint8_t {
  eager,         // boxes and fragments of short messages, by sender or receiver
  cells,         // elements of message queues
  copy_buffers,  // of long messages or collectives
  pools,         // receive buffers of UCX
  fifos,         // queues of UCX, whose elements have short messages or refer to a pool
  windows,       // of MPI_Win_allocate and MPI_Win_allocate_shared
  alloc_mem,     // MPI_Alloc_mem
  control,       // locks, counters, process management; never bound
};
constexpr std::size_t k_num_mpi_object_kinds = 8;

// Returns the name of a kind as in tables and options: "copy_buffers".
std::string_view name_of(MpiObjectKind kind);
std::optional<MpiObjectKind> mpi_object_kind(std::string_view name);

// When an object is created.
enum class MpiObjectCreation : std::uint8_t { init, window, alloc_mem, connection, collective };
std::string_view name_of(MpiObjectCreation creation);
std::optional<MpiObjectCreation> mpi_object_creation(std::string_view name);

// When most pages of an object are allocated: before the object is mapped, as the library writes the file, so that
// a bound mapping has to be moved; inside of the call that maps it, so that it must be bound in the hook; or
// later.
enum class MpiTouch : std::uint8_t { before, inside, later };
std::string_view name_of(MpiTouch touch);
std::optional<MpiTouch> mpi_touch(std::string_view name);

// The rank that touches a page first: the one that created the object or to which the part belongs, its peer, or
// the one whose program uses it.
enum class MpiToucher : std::uint8_t { owner, peer, program };
std::string_view name_of(MpiToucher toucher);
std::optional<MpiToucher> mpi_toucher(std::string_view name);

// Values of the names in formulas: N, P, size, total and rounded.
struct MpiRequest {
  std::uint32_t ranks = 1;                    // N: ranks of the node that share the object
  std::uint64_t page_size = 4096;             // P
  std::uint64_t size = 0;                     // bytes that this rank has requested of MPI
  std::optional<std::uint64_t> total = {};    // of all ranks; by default each requests `size`
  std::optional<std::uint64_t> rounded = {};  // of all ranks, each rounded up to pages; by default as for `total`
};

// A row of a table.
struct MpiObject {
  std::string name;  // "windows of osc/sm"
  MpiObjectKind kind = MpiObjectKind::control;
  std::vector<std::string> mappings;         // patterns of the file, or k_sysv_mapping, k_anonymous_mapping
  std::vector<std::string> functions;        // MPI functions that create it; any if empty
  std::optional<Expression> size;            // bytes, before rounding to pages; any size if absent
  std::optional<Expression> count;           // objects on the node
  std::optional<Expression> header;          // control bytes before the data
  std::optional<Expression> slice;           // bytes of each rank after the header, if all request the same
  std::optional<std::uint64_t> max_message;  // the largest message that passes through it; 0: none does
  MpiObjectCreation created = MpiObjectCreation::init;
  MpiTouch touched = MpiTouch::later;
  MpiToucher touched_by = MpiToucher::owner;
  bool may_bind = false;

  // Return the formula's value in bytes, or nothing: it refers to something unknown, or is negative.
  [[nodiscard]] std::optional<std::uint64_t> evaluate(const std::optional<Expression>& formula,
                                                      const MpiRequest& request) const;
};

inline constexpr std::string_view k_sysv_mapping = "sysv";            // System V shared memory
inline constexpr std::string_view k_anonymous_mapping = "anonymous";  // private, without a file

// The objects of one library, by version.
struct MpiObjectTable {
  std::string library;                // "Open MPI"
  std::vector<std::string> versions;  // patterns of its version string, with single blanks
  std::vector<std::string> files;     // patterns of the library's file name
  std::vector<std::string> checked;   // versions whose objects a test has measured
  std::vector<MpiObject> objects;     // the first one that matches a mapping decides

  // Returns whether the table is that of a library. `version` is the first line of MPI_Get_library_version, or
  // what ucp_get_version_string returns.
  [[nodiscard]] bool describes(std::string_view file_name, std::string_view version) const;

  void to_blob(BlobWriter& out) const;
  // Throws Error{corrupt}.
  static MpiObjectTable from_blob(BlobReader& in);
};

// A mapping that appeared during an MPI call.
struct MpiMapping {
  std::string_view name;      // the file, with or without " (deleted)"; "/SYSV..." or "sysv"; empty if anonymous
  std::uint64_t size = 0;     // mapped bytes
  std::string_view function;  // the outermost MPI function in progress: "MPI_Win_allocate"
  MpiRequest request = {};
};

// Immutable after its construction, and thread-safe.
class MpiClassifier {
 public:
  explicit MpiClassifier(std::vector<MpiObjectTable> tables) : tables_(std::move(tables)) {}

  // Returns the object that a mapping is, or nullptr. First come objects whose formula gives exactly the mapped
  // size. Then those that depend on the requests of other ranks, if these are not given, and that are as large as
  // this rank's own request at least: requests may differ between ranks.
  [[nodiscard]] const MpiObject* classify(const MpiMapping& mapping) const;

  [[nodiscard]] const std::vector<MpiObjectTable>& tables() const { return tables_; }

 private:
  std::vector<MpiObjectTable> tables_;
};

}  // namespace terrace::strategy
