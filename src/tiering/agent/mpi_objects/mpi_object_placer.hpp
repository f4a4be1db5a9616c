// SPDX-License-Identifier: Apache-2.0
// Recognises the memory that the MPI library allocates for itself, and places it: by kind as `terrace run
// --mpi-objects` states it, and windows and MPI_Alloc_mem by the info key terrace_place. Counts what it has
// seen, for the profile. docs/reference/mpi-objects.md has the kinds, sizes, and when their pages are allocated.
//
// The hooks of mmap(2) and shmat(2) report what is mapped inside of a call of MPI. An object that the library is
// about to touch is bound there; so are FIFOs and pools that UCX has written before it maps them, whose pages
// are migrated. Windows and MPI_Alloc_mem are placed when their call returns, with the address and size that it
// states. What is bound in MPI_Init is looked at again when that returns: files outside of shared memory file
// systems have no policy, so that their pages must be migrated.
//
// Every process maps the objects of all ranks, but places its own part only:
//
//   an object for each rank        its creator: of System V memory the kernel names it; of files it is the
//                                  first one that MPI_Init maps, as libraries create their own before they open
//                                  others'
//   one object with parts          the part of the rank, whose number on the node launchers state
//   one object without parts       each process places it
//
// Thread-safe. A failure leaves the memory where it is, and is told once in a job.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/interpose/shared_mappings.hpp"
#include "agent/mpi/call_events.hpp"
#include "agent/mpi_objects/mpi_library.hpp"
#include "memory/ledger.hpp"
#include "observe/objects/spin_lock.hpp"
#include "profile/records.hpp"
#include "runtime/session/mpi_objects_spec.hpp"

namespace terrace::agent {

class MpiObjectPlacer final : public SharedMappingListener {
 public:
  // Info key of MPI_Win_allocate, MPI_Win_allocate_shared and MPI_Alloc_mem. Its value is a place.
  static constexpr const char* k_info_key = "terrace_place";

  // Borrows `spec` and `ledger`. `directory`: of the session, which has a marker for each problem that was told.
  MpiObjectPlacer(const runtime::MpiObjectsSpec& spec, memory::Ledger& ledger, std::string directory,
                  void (*print)(const char*));

  // Called by the listener of MPI calls, around each outermost call of each thread.
  void on_call_begin(const MpiCall& call) noexcept;
  void on_call_end(const MpiCall& call) noexcept;

  void on_mapped(const void* address, std::size_t size, int file) noexcept override;
  void on_attached(const void* address, int segment) noexcept override;
  void on_unmapped(const void* address, std::size_t size) noexcept override;
  void on_detached(const void* address) noexcept override;

  // Returns what the process has seen so far, and tells which requested kinds were not recognised.
  [[nodiscard]] std::vector<profile::MpiObjectUse> finish();

 private:
  // Groups MPI functions by the placer's reaction to them.
  enum class Action : std::uint8_t { none, init, window, alloc_mem, free_window, free_mem, finalize };
  struct CallState;
  static thread_local CallState t_call;
  using Place = std::optional<std::uint32_t>;  // index in the spec's places
  // Identifies a shared object: device and inode, or k_sysv_device and the segment.
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  struct Use {
    profile::MpiObjectUse use;
    std::uint64_t bytes = 0, elsewhere = 0;  // now
  };
  // An object that exists, or the process's part of one.
  struct Part {
    std::uint64_t mapping = 0;        // address of the mapping, or of the block
    std::uint64_t low = 0, high = 0;  // its pages
    std::size_t use = 0;
    std::uint64_t bytes = 0, elsewhere = 0;
    Place place{};            // null: not bound
    bool is_private = false;  // of the program's heap
    std::uint64_t window = 0;
    Key key{};
  };
  void begin_call(const MpiCall& call) noexcept;

  // All require lock_.
  void tell_missing_kinds();
  void begin_allocation(const MpiCall& call);
  void end_allocation(const MpiCall& call);
  void add_block(const MpiCall& call, std::uint64_t base);
  void add_mapping(std::uint64_t address, std::uint64_t size, std::string_view name, const Key& key,
                   std::optional<bool> is_creator);
  void bind_window(const strategy::MpiObject& object, std::uint64_t address, std::uint64_t size);
  [[nodiscard]] static std::uint64_t begin_of_part(std::uint64_t begin);
  [[nodiscard]] bool is_own(const strategy::MpiObject& object, const Key& key, std::optional<bool> is_creator);
  void add_part(const strategy::MpiObject& object, Part part);
  void place_part(const strategy::MpiObject& object, Part& part);
  std::size_t find_use(const strategy::MpiObject& object, const Place& place);
  void check_parts(std::size_t first);
  void remove_parts(const std::function<bool(const Part&)>& matches);

  void tell_once(const char* marker, const std::string& sentence) const;

  const runtime::MpiObjectsSpec& spec_;
  memory::Ledger& ledger_;
  const std::string directory_;
  void (*const print_)(const char*);
  std::optional<std::uint32_t> local_rank_;  // number of the rank on its node

  observe::SpinLock lock_;
  MpiLibrary library_;
  std::array<Action, 1024> actions_{};  // by function
  std::vector<Use> uses_;
  std::vector<Part> parts_;
  std::map<const strategy::MpiObject*, Key> own_files_;
  std::array<bool, strategy::k_num_mpi_object_kinds> seen_{};
  bool has_told_kinds_ = false;
  std::atomic<const char*> name_in_calls_{nullptr};                    // of the library, for t_mpi_library
  std::atomic<std::uint64_t> lowest_{~std::uint64_t{0}}, highest_{0};  // of all parts so far
};

}  // namespace terrace::agent
