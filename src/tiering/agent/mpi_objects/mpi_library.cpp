// SPDX-License-Identifier: Apache-2.0
// Finds the loaded MPI library's functions and the tables that describe it. See mpi_library.hpp.
#include "agent/mpi_objects/mpi_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "core/rounding.hpp"

namespace terrace::agent {

namespace {

constexpr std::size_t k_version_size = 16384;       // twice the longest MPI_MAX_LIBRARY_VERSION_STRING
constexpr std::uint32_t k_max_ranks = 1024;         // of a node, among which the number of ranks is searched
constexpr std::uint64_t k_mpich_null = 0x1c000000;  // MPI_INFO_NULL of MPICH
constexpr std::uint64_t k_standard_null = 0x130;    // and of the standard ABI

template <class Function>
Function find_function(const char* name) {
  return terrace_mpi_real ? reinterpret_cast<Function>(terrace_mpi_real(name)) : nullptr;
}

const char* file_of(const void* function) {
  Dl_info about;
  return function && dladdr(function, &about) != 0 && about.dli_fname ? about.dli_fname : "";
}

// Returns the first word that begins with a digit, or with "v" and a digit, without the "v": "4.0.2".
std::string version_number(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t';
    const auto digit = text[at] == 'v' ? at + 1 : at;
    if (!begins_word || digit >= text.size() || std::isdigit(static_cast<unsigned char>(text[digit])) == 0)
      continue;
    const auto end = text.find_first_of(" \t,\n", digit);
    return std::string(text.substr(digit, end == std::string_view::npos ? end : end - digit));
  }
  return {};
}

bool table_has_kind(const strategy::MpiClassifier& table, strategy::MpiObjectKind kind) {
  return std::ranges::any_of(table.tables().front().objects,
                             [&](const auto& object) { return object.kind == kind && object.may_bind; });
}

}  // namespace

void MpiLibrary::add_tables(const char* file, const std::string& version, bool is_ucx) {
  for (const auto& table : known_) {
    if ((table.library == "UCX") != is_ucx || !table.describes(file, version)) continue;
    tables_.push_back(std::make_unique<const strategy::MpiClassifier>(std::vector{table}));
    if (!is_ucx) name_ = table.library + " " + version_number(version);
    return;
  }
}

void MpiLibrary::find() {
  if (!has_mpi_) {
    const auto get = find_function<int (*)(char*, int*)>("PMPI_Get_library_version");
    if (!get) return;
    has_mpi_ = true;
    std::string version(k_version_size, '\0');
    int length = 0;
    if (get(version.data(), &length) != 0) return;
    version = version.c_str();  // up to the terminating zero
    const char* const file = file_of(reinterpret_cast<const void*>(get));
    name_ = version.substr(0, version.find('\n'));
    if (find_function<void*>("ompi_mpi_info_null"))
      handles_ = Handles::open_mpi;
    else if (std::strstr(file, "libmpi_abi"))
      handles_ = Handles::standard;
    add_tables(file, version, false);
  }
  if (has_ucx_) return;
  const auto ucx = find_function<const char* (*)()>("ucp_get_version_string");
  if (!ucx) return;
  has_ucx_ = true;
  add_tables(file_of(reinterpret_cast<const void*>(ucx)), ucx(), true);
}

MpiLibrary::Classified MpiLibrary::classify(const strategy::MpiMapping& mapping) const {
  const auto with_ranks = [&](std::uint32_t ranks, bool only_exact) -> Classified {
    auto one = mapping;
    one.request.ranks = ranks;
    for (const auto& table : tables_) {
      const auto* const object = table->classify(one);
      if (!object) continue;
      const auto size = object->evaluate(object->size, one.request);
      const bool is_exact = !size || page_up(*size) == page_up(mapping.size);
      if (is_exact || !only_exact) return {object, object->size ? ranks : 0, is_exact};
    }
    return {};
  };
  const auto given = mapping.request.ranks;
  if (given > 0)
    if (const auto found = with_ranks(given, true); found.object) return found;
  const auto max_ranks = given > 0 ? given : k_max_ranks;
  for (std::uint32_t ranks = 1; ranks <= max_ranks; ++ranks)
    if (const auto found = with_ranks(ranks, true); found.object) {
      // A size without N holds for any number of ranks.
      const bool depends = found.object->size && with_ranks(ranks + 1, true).object != found.object;
      return {found.object, depends ? found.ranks : 0, true};
    }
  return given > 0 ? with_ranks(given, false) : Classified{};
}

const strategy::MpiObject* MpiLibrary::find_row(std::string_view function, bool is_private) const {
  for (const auto& table : tables_)
    for (const auto& object : table->tables().front().objects) {
      const auto& mappings = object.mappings;
      const bool is_anonymous = std::ranges::find(mappings, strategy::k_anonymous_mapping) != mappings.end();
      if (is_anonymous == is_private && object.may_bind &&
          std::ranges::find(object.functions, function) != object.functions.end())
        return &object;
    }
  return nullptr;
}

bool MpiLibrary::has_kind(strategy::MpiObjectKind kind) const {
  return std::ranges::any_of(tables_, [&](const auto& table) { return table_has_kind(*table, kind); });
}

bool MpiLibrary::uses_kind(strategy::MpiObjectKind kind) const {
  if (tables_.empty()) return false;
  const auto& own = *tables_.front();
  return table_has_kind(own, kind) || (has_kind(kind) && !table_has_kind(own, strategy::MpiObjectKind::eager) &&
                                       !table_has_kind(own, strategy::MpiObjectKind::cells));
}

std::string MpiLibrary::kinds() const {
  std::string names;
  for (std::size_t i = 0; i < strategy::k_num_mpi_object_kinds; ++i) {
    const auto kind = static_cast<strategy::MpiObjectKind>(i);
    if (has_kind(kind)) names.append(names.empty() ? "" : ", ").append(name_of(kind));
  }
  return names;
}

// Fortran passes a handle by reference, as a number, which is the C handle in MPICH.
std::uint64_t MpiLibrary::handle(const MpiCall& call, std::size_t position, const char* from_fortran,
                                 const char* from_int) const {
  const auto argument = mpi_argument(call, position);
  if (call.language == MpiLanguage::k_c) return handles_ == Handles::mpich ? argument & UINT32_MAX : argument;
  std::int32_t number = 0;
  std::memcpy(&number, reinterpret_cast<const void*>(argument), sizeof number);  // NOLINT
  if (handles_ == Handles::mpich) return static_cast<std::uint32_t>(number);
  const auto convert =
      find_function<std::uint64_t (*)(std::int32_t)>(handles_ == Handles::open_mpi ? from_fortran : from_int);
  return convert ? convert(number) : 0;
}

std::uint64_t MpiLibrary::load_handle(const MpiCall& call, std::uint64_t address) const {
  const bool is_wide = call.language == MpiLanguage::k_c && handles_ != Handles::mpich;
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), is_wide ? 8 : 4);  // NOLINT
  return value;
}

bool MpiLibrary::is_null_info(std::uint64_t info) const {
  switch (handles_) {
    case Handles::mpich:
      return info == k_mpich_null;
    case Handles::standard:
      return info == k_standard_null;
    case Handles::open_mpi:
      // Not the symbol's address: an executable has a copy of the object, to which the library's functions refer.
      if (const auto convert = find_function<std::uint64_t (*)(std::int32_t)>("MPI_Info_f2c"))
        return info == convert(0);
      return true;
  }
  return true;
}

std::optional<MpiLibrary::Communicator> MpiLibrary::communicator(const MpiCall& call, std::size_t position) const {
  using Query = int (*)(std::uint64_t, int*);
  const auto get_rank = find_function<Query>("PMPI_Comm_rank"), get_size = find_function<Query>("PMPI_Comm_size");
  const auto comm = handle(call, position, "MPI_Comm_f2c", "MPI_Comm_fromint");
  int rank = -1;
  int size = 0;
  if (!get_rank || !get_size || comm == 0 || get_rank(comm, &rank) != 0 || get_size(comm, &size) != 0) return {};
  if (rank < 0 || size <= rank) return {};
  return Communicator{static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
}

std::optional<std::string> MpiLibrary::info_value(const MpiCall& call, std::size_t position,
                                                  const char* key) const {
  const auto info = handle(call, position, "MPI_Info_f2c", "MPI_Info_fromint");
  if (info == 0 || is_null_info(info)) return {};
  std::array<char, 256> value{};
  int is_set = 0;
  // MPI_Info_get is deprecated in MPI 4, and the only one before.
  if (const auto get =
          find_function<int (*)(std::uint64_t, const char*, int*, char*, int*)>("PMPI_Info_get_string")) {
    int size = value.size();
    if (get(info, key, &size, value.data(), &is_set) != 0) return {};
  } else if (const auto old_get =
                 find_function<int (*)(std::uint64_t, const char*, int, char*, int*)>("PMPI_Info_get")) {
    if (old_get(info, key, static_cast<int>(value.size()) - 1, value.data(), &is_set) != 0) return {};
  }
  return is_set != 0 ? std::optional<std::string>(value.data()) : std::nullopt;
}

}  // namespace terrace::agent
