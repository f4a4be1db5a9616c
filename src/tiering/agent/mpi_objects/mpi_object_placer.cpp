// SPDX-License-Identifier: Apache-2.0
// Follows the calls and mappings of the MPI library, and binds its objects. See mpi_object_placer.hpp.
#include "agent/mpi_objects/mpi_object_placer.hpp"

#include <fcntl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>

#include "agent/heap/object_registry.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/mpi_objects/page_placement.hpp"
#include "core/rounding.hpp"
#include "core/units.hpp"
#include "memory/numa_node.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

using strategy::MpiObject;
using strategy::MpiObjectKind;

namespace {

constexpr std::uint64_t k_sysv_device = ~std::uint64_t{0};
// Positions of arguments, the same in C and Fortran.
constexpr std::size_t k_window_info = 2, k_window_comm = 3, k_window_base = 4, k_window_handle = 5;
constexpr std::size_t k_memory_info = 1, k_memory_base = 2;

// Number of the rank on its node, by MPICH's launcher, Slurm, PALS, Flux. Open MPI needs none: its shared objects
// with parts are windows, whose communicator states it.
constexpr std::array k_local_ranks{"MPI_LOCALRANKID", "SLURM_LOCALID", "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID"};

std::optional<std::uint32_t> read_local_rank() {
  for (const char* const name : k_local_ranks) {
    const char* const text = std::getenv(name);
    if (!text || !*text) continue;
    char* end = nullptr;
    const auto rank = std::strtoul(text, &end, 10);
    if (*end == '\0' && rank < 65536) return static_cast<std::uint32_t>(rank);
  }
  return std::nullopt;
}

template <class Value>
Value load(std::uint64_t address) {
  Value value{};
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);  // NOLINT(performance-no-int-to-ptr)
  return value;
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// Returns whether the call was successful. Fortran's procedures have their error code behind the other arguments.
bool has_succeeded(const MpiCall& call) {
  if (call.language == MpiLanguage::k_c) return static_cast<std::int32_t>(call.result) == 0;
  const auto error = mpi_argument(call, terrace_mpi_num_arguments(call.function));
  return error == 0 || load<std::int32_t>(error) == 0;  // use mpi_f08: an optional argument
}

// Returns the bytes of a formula, or 0.
std::uint64_t evaluate_or_zero(const MpiObject& object, const std::optional<strategy::Expression>& formula,
                               const strategy::MpiRequest& request) {
  return object.evaluate(formula, request).value_or(0);
}

bool is_one_for_each_rank(const MpiObject& object) {
  return object.evaluate(object.count, {.ranks = 3}) == 3U && object.evaluate(object.count, {.ranks = 5}) == 5U;
}

std::string canonical_name(std::string name) {
  for (const std::string_view end : {"_cptr", "_c"})
    if (name.ends_with(end)) name.erase(name.size() - end.size());
  return "MPI_" + name;
}

}  // namespace

// The outermost call of MPI in progress on this thread.
struct MpiObjectPlacer::CallState {
  bool is_active = false;
  Action action = Action::none;
  std::uint16_t function = 0;
  MpiObjectKind kind = MpiObjectKind::control;  // that the call allocates
  std::uint32_t rank = 0, ranks = 0;            // of the window's communicator; ranks 0: unknown
  std::uint64_t size = 0;                       // bytes that the rank requests
  Place place{};                                // of the window or memory
  struct Mapping {
    std::uint64_t low = 0, high = 0;
    const MpiObject* window = nullptr;  // the row that it matches, if that is one of windows
  };
  Mapping mappings[4]{};  // shared ones that appeared while a window is allocated
  std::size_t num_mappings = 0;
  std::size_t first_part = 0;  // parts from here on were added in the call
};

constinit thread_local MpiObjectPlacer::CallState MpiObjectPlacer::t_call
    __attribute__((tls_model("initial-exec"))){};

MpiObjectPlacer::MpiObjectPlacer(const runtime::MpiObjectsSpec& spec, memory::Ledger& ledger,
                                 std::string directory, void (*print)(const char*))
    : spec_(spec),
      ledger_(ledger),
      directory_(std::move(directory)),
      print_(print),
      local_rank_(read_local_rank()),
      library_(spec.tables) {
  constexpr std::pair<std::string_view, Action> k_actions[] = {
      {"Init", Action::init},
      {"Init_thread", Action::init},
      {"Session_init", Action::init},
      {"Win_allocate", Action::window},
      {"Win_allocate_c", Action::window},
      {"Win_allocate_cptr", Action::window},
      {"Win_allocate_shared", Action::window},
      {"Win_allocate_shared_c", Action::window},
      {"Win_allocate_shared_cptr", Action::window},
      {"Alloc_mem", Action::alloc_mem},
      {"Alloc_mem_cptr", Action::alloc_mem},
      {"Win_free", Action::free_window},
      {"Free_mem", Action::free_mem},
      {"Finalize", Action::finalize},
      {"Session_finalize", Action::finalize},
  };
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    const char* const name = terrace_mpi_function_name ? terrace_mpi_function_name(i) : nullptr;
    if (!name) break;
    for (const auto& [function, action] : k_actions)
      if (function == name) actions_[i] = action;
  }
}

void MpiObjectPlacer::on_call_begin(const MpiCall& call) noexcept {
  // The rest of the state belongs to calls that allocate, which set it.
  t_call.is_active = true;
  t_call.function = call.function;
  t_call.action = call.function < actions_.size() ? actions_[call.function] : Action::none;
  if (t_call.action != Action::none) begin_call(call);
  const bool allocates_for_program = t_call.action == Action::window || t_call.action == Action::alloc_mem;
  t_mpi_library = allocates_for_program ? nullptr : name_in_calls_.load(std::memory_order_relaxed);
}

void MpiObjectPlacer::begin_call(const MpiCall& call) noexcept {
  t_call = {.is_active = true, .action = t_call.action, .function = t_call.function};
  const observe::RuntimeScope inside;
  try {
    const std::lock_guard lock(lock_);
    t_call.first_part = parts_.size();
    switch (t_call.action) {
      case Action::init:
        library_.find();
        if (library_.is_described()) name_in_calls_ = library_.name().c_str();
        return tell_missing_kinds();
      case Action::window:
      case Action::alloc_mem:
        return begin_allocation(call);
      case Action::free_window: {
        const auto window = library_.load_handle(call, mpi_argument(call, 0));
        return remove_parts([&](const Part& part) { return part.is_private && part.window == window; });
      }
      case Action::free_mem: {
        const auto argument = mpi_argument(call, 0);
        // A choice buffer of `use mpi_f08` is a descriptor, which begins with the address.
        const auto base = call.language == MpiLanguage::k_fortran_08 ? load<std::uint64_t>(argument) : argument;
        return remove_parts([&](const Part& part) {
          return part.is_private && part.window == 0 && (part.mapping == argument || part.mapping == base);
        });
      }
      case Action::finalize:
      case Action::none:
        return;
    }
  } catch (const std::exception&) {  // no memory: the objects of this call stay where they are
  }
}

void MpiObjectPlacer::on_call_end(const MpiCall& call) noexcept {
  t_mpi_library = nullptr;
  t_call.is_active = false;
  const auto action = t_call.action;
  if (action == Action::none) return;
  try {
    const std::lock_guard lock(lock_);
    if (action == Action::init) check_parts(t_call.first_part);
    if (action == Action::window || action == Action::alloc_mem) end_allocation(call);
    if (action == Action::finalize) own_files_.clear();
  } catch (const std::exception&) {  // no memory
  }
}

// --- what is mapped during a call ---

void MpiObjectPlacer::on_mapped(const void* address, std::size_t size, int file) noexcept {
  if (!t_call.is_active) return;
  const observe::RuntimeScope inside;
  struct stat status {};
  char link[32];
  char name[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const auto length = ::readlink(link, name, sizeof name);
  if (length <= 0 || ::fstat(file, &status) != 0) return;
  try {
    const std::lock_guard lock(lock_);
    add_mapping(address_of(address), size, {name, static_cast<std::size_t>(length)},
                {status.st_dev, status.st_ino}, std::nullopt);
  } catch (const std::exception&) {  // no memory: it stays where it is
  }
}

void MpiObjectPlacer::on_attached(const void* address, int segment) noexcept {
  if (!t_call.is_active) return;
  const observe::RuntimeScope inside;
  struct shmid_ds status {};
  if (::shmctl(segment, IPC_STAT, &status) != 0) return;
  try {
    const std::lock_guard lock(lock_);
    add_mapping(address_of(address), status.shm_segsz, strategy::k_sysv_mapping,
                {k_sysv_device, static_cast<std::uint64_t>(segment)}, status.shm_cpid == ::getpid());
  } catch (const std::exception&) {  // no memory: it stays where it is
  }
}

void MpiObjectPlacer::on_unmapped(const void* address, std::size_t size) noexcept {
  const auto low = address_of(address);
  const auto high = low + size;
  if (high <= lowest_.load(std::memory_order_relaxed) || low >= highest_.load(std::memory_order_relaxed)) return;
  const observe::RuntimeScope inside;
  const std::lock_guard lock(lock_);
  remove_parts([&](const Part& part) { return !part.is_private && low <= part.mapping && part.mapping < high; });
}

void MpiObjectPlacer::on_detached(const void* address) noexcept { on_unmapped(address, 1); }

void MpiObjectPlacer::add_mapping(std::uint64_t address, std::uint64_t size, std::string_view name, const Key& key,
                                  std::optional<bool> is_creator) {
  library_.find();
  if (!library_.is_described()) return;
  const auto function = canonical_name(terrace_mpi_function_name(t_call.function));
  strategy::MpiRequest known;
  known.ranks = t_call.action == Action::window ? t_call.ranks : 0;
  known.size = t_call.action == Action::window ? t_call.size : 0;
  const auto found =
      library_.classify({.name = name, .size = page_up(size), .function = function, .request = known});
  if (t_call.action == Action::window && t_call.num_mappings < std::size(t_call.mappings)) {
    const bool is_window = found.object && found.object->kind == MpiObjectKind::windows;
    t_call.mappings[t_call.num_mappings++] = {address, address + page_up(size),
                                              is_window ? found.object : nullptr};
  }
  if (!found.object) return;
  const auto& object = *found.object;
  seen_[static_cast<std::size_t>(object.kind)] = true;
  if (object.kind == MpiObjectKind::windows && t_call.action == Action::window) {
    if (found.is_exact && (found.ranks == 0 || found.ranks == t_call.ranks)) bind_window(object, address, size);
    return;
  }
  if (std::ranges::any_of(parts_, [&](const Part& part) { return !part.is_private && part.key == key; })) return;
  Part part{.mapping = address, .low = address, .high = address + page_up(size), .bytes = size, .key = key};
  const strategy::MpiRequest request{.ranks = found.ranks};
  if (is_one_for_each_rank(object)) {
    if (!is_own(object, key, is_creator)) return;
  } else if (const auto slice = evaluate_or_zero(object, object.slice, request);
             slice > 0 && found.ranks > 0 && t_call.action == Action::init && local_rank_ &&
             *local_rank_ < found.ranks) {
    const auto low = address + evaluate_or_zero(object, object.header, request) + *local_rank_ * slice;
    part.low = page_up(low);
    part.high = std::min(page_up(low + slice), part.high);
    part.bytes = slice;
  }
  add_part(object, part);
}

// Binds the rank's part of a window that the library touches before the call returns. The address that the call
// returns decides later; until then all ranks are assumed to have requested the same.
void MpiObjectPlacer::bind_window(const MpiObject& object, std::uint64_t address, std::uint64_t size) {
  if (object.touched != strategy::MpiTouch::inside || !object.may_bind || !t_call.place || t_call.ranks == 0)
    return;
  const strategy::MpiRequest request{.ranks = t_call.ranks, .size = t_call.size};
  const auto slice = evaluate_or_zero(object, object.slice, request);
  const auto low = address + evaluate_or_zero(object, object.header, request) + t_call.rank * slice;
  const auto begin = begin_of_part(low);
  const auto end = std::min(page_up(low + slice), address + page_up(size));
  if (begin < end) memory::prefer_node(begin, end - begin, spec_.places[*t_call.place].node);
}

// Returns where the pages of a rank's part of a window begin. A page that two ranks share is bound by both, as
// either may touch it first; but the library's own data before the first part keep their page.
std::uint64_t MpiObjectPlacer::begin_of_part(std::uint64_t begin) {
  return t_call.rank == 0 ? page_up(begin) : page_down(begin);
}

bool MpiObjectPlacer::is_own(const MpiObject& object, const Key& key, std::optional<bool> is_creator) {
  if (is_creator) return *is_creator;
  return own_files_.try_emplace(&object, key).first->second == key;
}

// --- windows and MPI_Alloc_mem ---

void MpiObjectPlacer::begin_allocation(const MpiCall& call) {
  library_.find();
  const bool is_window = t_call.action == Action::window;
  t_call.kind = is_window ? MpiObjectKind::windows : MpiObjectKind::alloc_mem;
  const auto size = mpi_argument(call, 0);
  t_call.size = call.language == MpiLanguage::k_c ? size : load<std::uint64_t>(size);
  t_call.place = spec_.placed[static_cast<std::size_t>(t_call.kind)];
  if (const auto hint = library_.info_value(call, is_window ? k_window_info : k_memory_info, k_info_key)) {
    const auto place = spec_.find_place(*hint);
    if (place)
      t_call.place = place;
    else
      tell_once("place", "the info key " + std::string(k_info_key) + " '" + *hint +
                             "' is ignored: no memory of this machine with a NUMA node has that name");
  }
  if (!is_window) return;
  if (const auto communicator = library_.communicator(call, k_window_comm)) {
    t_call.rank = communicator->rank;
    t_call.ranks = communicator->size;
  }
}

void MpiObjectPlacer::end_allocation(const MpiCall& call) {
  if (!has_succeeded(call) || t_call.size == 0) return;
  const bool is_window = t_call.action == Action::window;
  const auto base = load<std::uint64_t>(mpi_argument(call, is_window ? k_window_base : k_memory_base));
  if (base == 0) return;
  for (std::size_t i = 0; i < t_call.num_mappings; ++i) {
    const auto& mapping = t_call.mappings[i];
    if (base < mapping.low || base >= mapping.high) continue;
    // A window of a page may look like the library's lock, and one of another size has no row.
    for (const auto& part : parts_)
      if (part.mapping == mapping.low) --uses_[part.use].use.objects;
    remove_parts([&](const Part& part) { return part.mapping == mapping.low; });
    const auto function = canonical_name(terrace_mpi_function_name(call.function));
    const auto* const object = mapping.window ? mapping.window : library_.find_row(function, false);
    if (!object) return;
    // Some rows round parts up to pages.
    const strategy::MpiRequest request{.ranks = t_call.ranks, .size = t_call.size};
    const auto size = std::max(t_call.size, evaluate_or_zero(*object, object->slice, request));
    return add_part(*object, {.mapping = mapping.low,
                              .low = begin_of_part(base),
                              .high = std::min(page_up(base + size), mapping.high),
                              .bytes = t_call.size,
                              .place = t_call.place});
  }
  add_block(call, base);
}

// Adds a block of the library's allocator, of which only whole pages may be placed.
void MpiObjectPlacer::add_block(const MpiCall& call, std::uint64_t base) {
  const auto* const object = library_.find_row(canonical_name(terrace_mpi_function_name(t_call.function)), true);
  if (!object) return;
  seen_[static_cast<std::size_t>(object->kind)] = true;
  Part part{.mapping = base,
            .low = page_up(base),
            .high = align_down(base + t_call.size, k_page),
            .bytes = t_call.size,
            .place = t_call.place,
            .is_private = true};
  part.high = std::max(part.low, part.high);
  if (t_call.action == Action::window)
    part.window = library_.load_handle(call, mpi_argument(call, k_window_handle));
  // From now on it is not the program's: the planner would move it.
  if (auto* const here = process(); part.place && part.low < part.high && here && here->objects)
    here->objects->remove(part.low, part.high);
  add_part(*object, part);
}

}  // namespace terrace::agent
