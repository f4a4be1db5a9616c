// SPDX-License-Identifier: Apache-2.0
// Implements terrace_mpi_describe_transfer(): decodes counts, datatypes, peers and communicators of a call by the
// rules of mpi_functions.txt. It knows no ABI: the library itself converts Fortran's handles and gives the sizes
// of datatypes. A handle is passed on as a register, whether the library takes an int (MPICH) or a pointer from
// it.
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "agent/mpi/functions.hpp"
#include "agent/mpi/real_functions.hpp"

namespace terrace::agent {

namespace {

using HandleQuery = int (*)(std::uint64_t handle, int* value);
using SizeQuery = int (*)(std::uint64_t datatype, std::int64_t* size);
using HandleConversion = std::uint64_t (*)(std::int32_t handle);

// The library's own functions; null: it has none.
struct Library {
  SizeQuery type_size_x;
  HandleQuery comm_size, comm_rank, comm_test_inter;
  HandleConversion type, communicator, window, file;  // from Fortran's handles
  std::uint64_t handle_mask;
};
struct FoundLibrary {
  Library library;
  std::atomic<bool> is_found;
};
constinit FoundLibrary g_library{};

template <class Function>
Function find(const char* name, const char* other = nullptr) noexcept {
  void* const found = find_real(name, nullptr);
  return reinterpret_cast<Function>(found || !other ? found : find_real(other, nullptr));
}

// Handles are pointers in Open MPI and in the standard ABI, 32-bit numbers in MPICH and its relatives.
bool has_wide_handles(const void* function) noexcept {
  if (find_real("ompi_mpi_comm_world", nullptr)) return true;
  Dl_info about;
  return dladdr(function, &about) != 0 && about.dli_fname && std::strstr(about.dli_fname, "libmpi_abi");
}

[[gnu::noinline, gnu::cold]] const Library& find_library() noexcept {
  Library found{};
  found.type_size_x = find<SizeQuery>("PMPI_Type_size_x", "MPI_Type_size_x");
  found.comm_size = find<HandleQuery>("PMPI_Comm_size", "MPI_Comm_size");
  found.comm_rank = find<HandleQuery>("PMPI_Comm_rank", "MPI_Comm_rank");
  found.comm_test_inter = find<HandleQuery>("PMPI_Comm_test_inter", "MPI_Comm_test_inter");
  found.type = find<HandleConversion>("MPI_Type_f2c", "MPI_Type_fromint");
  found.communicator = find<HandleConversion>("MPI_Comm_f2c", "MPI_Comm_fromint");
  found.window = find<HandleConversion>("MPI_Win_f2c", "MPI_Win_fromint");
  found.file = find<HandleConversion>("MPI_File_f2c", "MPI_File_fromint");
  found.handle_mask =
      has_wide_handles(reinterpret_cast<void*>(found.type_size_x)) ? ~std::uint64_t{0} : UINT32_MAX;
  g_library.library = found;  // racing threads store the same values
  g_library.is_found.store(true, std::memory_order_release);
  return g_library.library;
}

const Library& library() noexcept {
  return g_library.is_found.load(std::memory_order_acquire) ? g_library.library : find_library();
}

template <class Value>
Value load(std::uint64_t address, std::size_t index = 0) noexcept {
  Value value;
  std::memcpy(&value, reinterpret_cast<const char*>(address) + index * sizeof value, sizeof value);  // NOLINT
  return value;
}

bool is_parts(TransferKind kind) noexcept {
  return kind == TransferKind::send_parts || kind == TransferKind::recv_parts;
}

// Reads the arguments of one call.
class Arguments {
 public:
  Arguments(const MpiCall& call, const Library& library) noexcept : call_(call), library_(library) {}

  [[nodiscard]] std::int32_t integer(std::int8_t position) const noexcept {
    const auto argument = mpi_argument(call_, static_cast<std::size_t>(position));
    return is_fortran() ? load<std::int32_t>(argument) : static_cast<std::int32_t>(argument);
  }
  [[nodiscard]] std::int64_t large(std::int8_t position) const noexcept {
    const auto argument = mpi_argument(call_, static_cast<std::size_t>(position));
    return is_fortran() ? load<std::int64_t>(argument) : static_cast<std::int64_t>(argument);
  }
  // Returns an element of an array of counts.
  [[nodiscard]] std::int64_t count_at(std::int8_t position, std::size_t index) const noexcept {
    const auto array = mpi_argument(call_, static_cast<std::size_t>(position));
    return call_.is_large ? load<std::int64_t>(array, index) : load<std::int32_t>(array, index);
  }
  // Returns a handle as C has it.
  [[nodiscard]] std::uint64_t handle(std::int8_t position, HandleConversion convert) const noexcept {
    const auto argument = mpi_argument(call_, static_cast<std::size_t>(position));
    return is_fortran() ? converted(load<std::int32_t>(argument), convert) : argument & library_.handle_mask;
  }
  // Returns an element of an array of datatypes.
  [[nodiscard]] std::uint64_t datatype_at(std::int8_t position, std::size_t index) const noexcept {
    const auto array = mpi_argument(call_, static_cast<std::size_t>(position));
    if (is_fortran()) return converted(load<std::int32_t>(array, index), library_.type);
    return library_.handle_mask == UINT32_MAX ? load<std::uint32_t>(array, index)
                                              : load<std::uint64_t>(array, index);
  }

 private:
  [[nodiscard]] bool is_fortran() const noexcept { return call_.language != MpiLanguage::k_c; }
  [[nodiscard]] std::uint64_t converted(std::int32_t handle, HandleConversion convert) const noexcept {
    return (convert ? convert(handle) : static_cast<std::uint32_t>(handle)) & library_.handle_mask;
  }

  const MpiCall& call_;
  const Library& library_;
};

// A rank's place in an intracommunicator.
struct Position {
  int size = 0, rank = 0;
};

// Computes the bytes of one rule. Returns false if the library does not know them.
class RuleBytes {
 public:
  RuleBytes(const MpiCall& call, const Library& library) noexcept
      : arguments_(call, library), library_(library), is_large_(call.is_large != 0) {}

  bool add(const TransferRule& rule, Position position, std::uint64_t& bytes) const noexcept {
    switch (rule.kind) {
      case TransferKind::send_counts:
      case TransferKind::recv_counts:
      case TransferKind::root_send_counts:
      case TransferKind::root_recv_counts: {
        std::int64_t elements = 0;
        for (int i = 0; i < position.size; ++i)
          elements += arguments_.count_at(rule.count, static_cast<std::size_t>(i));
        return add_elements(elements, arguments_.handle(rule.datatype, library_.type), bytes);
      }
      case TransferKind::recv_types:
        for (int i = 0; i < position.size; ++i) {
          const auto index = static_cast<std::size_t>(i);
          const auto elements = arguments_.count_at(rule.count, index);
          if (elements != 0 && !add_elements(elements, arguments_.datatype_at(rule.datatype, index), bytes))
            return false;
        }
        return true;
      default:
        break;
    }
    std::int64_t elements = 1;
    if (is_parts(rule.kind))  // MPI_Count in all variants
      elements = arguments_.large(rule.count) * arguments_.integer(static_cast<std::int8_t>(rule.count - 1));
    else if (rule.count >= 0)
      elements = is_large_ ? arguments_.large(rule.count) : arguments_.integer(rule.count);
    const bool is_for_each = rule.kind == TransferKind::send_each || rule.kind == TransferKind::recv_each ||
                             rule.kind == TransferKind::root_send_each ||
                             rule.kind == TransferKind::root_recv_each;
    if (is_for_each) elements *= position.size;
    return add_elements(elements, arguments_.handle(rule.datatype, library_.type), bytes);
  }

 private:
  bool add_elements(std::int64_t elements, std::uint64_t datatype, std::uint64_t& bytes) const noexcept {
    if (elements <= 0) return true;  // the datatype need not be valid then
    std::int64_t size = -1;
    if (!library_.type_size_x || library_.type_size_x(datatype, &size) != 0 || size < 0) return false;
    bytes += static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(size);
    return true;
  }

  Arguments arguments_;
  const Library& library_;
  bool is_large_;
};

bool is_send(TransferKind kind) noexcept {
  switch (kind) {
    case TransferKind::send:
    case TransferKind::send_parts:
    case TransferKind::send_each:
    case TransferKind::send_counts:
    case TransferKind::root_send:
    case TransferKind::root_send_each:
    case TransferKind::root_send_counts:
    case TransferKind::leaf_send:
      return true;
    default:
      return false;
  }
}
bool is_of_root(TransferKind kind) noexcept {
  return kind >= TransferKind::root_send && kind <= TransferKind::root_recv_counts;
}
bool is_of_leaf(TransferKind kind) noexcept {
  return kind == TransferKind::leaf_send || kind == TransferKind::leaf_recv;
}

// Only file operations have their handle first. Only one-sided communication has a peer and no tag, but for
// collectives, whose peer is a root.
MpiHandle handle_kind_of(const TransferRule& rule) noexcept {
  if (rule.handle < 0) return MpiHandle::k_none;
  if (rule.handle == 0) return MpiHandle::k_file;
  const bool is_plain = rule.kind == TransferKind::send || rule.kind == TransferKind::recv;
  return is_plain && rule.peer >= 0 && rule.tag < 0 ? MpiHandle::k_window : MpiHandle::k_communicator;
}

// Returns whether the rule depends on the ranks of the communicator: all but those of a single peer, window or
// file.
bool is_collective(const TransferRule& rule) noexcept {
  return rule.kind > TransferKind::recv_parts || (rule.peer < 0 && rule.handle >= 0);
}

}  // namespace

bool terrace_mpi_describe_transfer(const MpiCall* call, MpiTransfer* transfer) noexcept {
  const MpiFunction& function = k_mpi_functions[call->function];
  if (function.transfers[0].kind == TransferKind::none) return false;
  const Library& in = library();
  const Arguments arguments(*call, in);
  const RuleBytes rule_bytes(*call, in);
  *transfer = {.sends = 0,
               .receives = 0,
               .handle_kind = handle_kind_of(function.transfers[0]),
               .bytes_sent = 0,
               .bytes_received = 0,
               .destination = k_no_mpi_rank,
               .source = k_no_mpi_rank,
               .send_tag = k_no_mpi_tag,
               .receive_tag = k_no_mpi_tag,
               .handle = 0};
  switch (transfer->handle_kind) {
    case MpiHandle::k_communicator:
      transfer->handle = arguments.handle(function.transfers[0].handle, in.communicator);
      break;
    case MpiHandle::k_window:
      transfer->handle = arguments.handle(function.transfers[0].handle, in.window);
      break;
    case MpiHandle::k_file:
      transfer->handle = arguments.handle(function.transfers[0].handle, in.file);
      break;
    case MpiHandle::k_none:
      break;
  }
  Position position;
  if (transfer->handle_kind == MpiHandle::k_communicator && is_collective(function.transfers[0])) {
    int is_inter = 0;
    if (!in.comm_test_inter || in.comm_test_inter(transfer->handle, &is_inter) != 0 || is_inter) return false;
    if (!in.comm_size || in.comm_size(transfer->handle, &position.size) != 0) return false;
    if (!in.comm_rank || in.comm_rank(transfer->handle, &position.rank) != 0) return false;
  }
  for (const TransferRule& rule : function.transfers) {
    if (rule.kind == TransferKind::none) continue;
    const std::int32_t peer = rule.peer < 0 ? k_no_mpi_rank : arguments.integer(rule.peer);
    const std::int32_t tag = rule.tag < 0 ? k_no_mpi_tag : arguments.integer(rule.tag);
    if (is_of_root(rule.kind) && peer != position.rank) continue;
    if (is_of_leaf(rule.kind) && peer == position.rank) continue;
    const bool sends = is_send(rule.kind);
    // MPI_PROC_NULL is negative in all ABIs; so is MPI_ANY_SOURCE, but for the source of a message only.
    if (!is_collective(rule) && rule.peer >= 0 && peer < 0 &&
        (sends || transfer->handle_kind == MpiHandle::k_window))
      continue;
    if (!rule_bytes.add(rule, position, sends ? transfer->bytes_sent : transfer->bytes_received)) return false;
    (sends ? transfer->sends : transfer->receives) = 1;
    (sends ? transfer->destination : transfer->source) = peer;
    (sends ? transfer->send_tag : transfer->receive_tag) = tag;
  }
  return true;
}

}  // namespace terrace::agent
