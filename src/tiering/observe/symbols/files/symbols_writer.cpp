// SPDX-License-Identifier: Apache-2.0
// Writes the symbol files of a program and its libraries, and inspects programs for the launcher. See
// symbols_writer.hpp.
#include "observe/symbols/files/symbols_writer.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "core/blob.hpp"
#include "core/program_loader.hpp"
#include "observe/symbols/files/symbols_facts.hpp"

namespace terrace::observe {

namespace fs = std::filesystem;

namespace {

struct CloseFile {
  int file;
  ~CloseFile() { close(file); }
};
struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using OpenElf = std::unique_ptr<Elf, EndElf>;

// Opens a 64-bit executable or shared object; null for other files.
OpenElf open_elf(int file) {
  elf_version(EV_CURRENT);
  OpenElf elf(elf_begin(file, ELF_C_READ_MMAP, nullptr));
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || !gelf_getehdr(elf.get(), &header) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
    return nullptr;
  return elf;
}

std::string hexadecimal(const std::vector<std::uint8_t>& bytes) {
  static constexpr char k_digits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text.push_back(k_digits[byte >> 4]);
    text.push_back(k_digits[byte & 15]);
  }
  return text;
}

// Returns the name of the cached file. The size distinguishes a stripped copy from the file with debug
// information, which has the same build-id; without a build-id path and time identify the file. Layout and
// contents have a version each.
std::string cache_name(const std::string& module, const std::vector<std::uint8_t>& build_id) {
  const auto size = std::to_string(fs::file_size(module));
  const auto version =
      ".v" + std::to_string(k_symbol_version) + "." + std::to_string(k_naming_version) + ".symbols";
  if (!build_id.empty()) return hexadecimal(build_id) + "-" + size + version;
  const auto time = std::to_string(fs::last_write_time(module).time_since_epoch().count());
  std::string path = module;
  for (auto& c : path)
    if (c == '/') c = '!';
  return path + "-" + size + "-" + time + version;
}

template <class Row>
std::span<const std::byte> bytes_of(const std::vector<Row>& rows) {
  return std::as_bytes(std::span(rows));
}

bool write_all(int file, std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const auto n = write(file, bytes.data() + at, bytes.size() - at);
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

// Writes the file atomically: a concurrent run must not read an incomplete one.
bool write_facts(SymbolFacts& facts, const fs::path& path) {
  SymbolFileHeader header;
  header.path = facts.strings.add(facts.path);
  header.build_id_size = static_cast<std::uint32_t>(facts.build_id.size());
  std::ranges::copy(facts.build_id, header.build_id.begin());
  if (facts.has_markers) header.flags |= k_symbol_markers;
  if (facts.may_load_code) header.flags |= k_symbol_may_load_code;
  if (facts.loads_libraries) header.flags |= k_symbol_loads_libraries;
  header.functions = facts.functions.size();
  header.sites = facts.sites.size();
  header.variables = facts.variables.size();
  header.hooks = facts.hooks.size();
  header.loops = facts.loops.size();
  header.spans = facts.spans.size();
  header.string_bytes = facts.strings.bytes().size();
  const std::span<const std::byte> parts[] = {bytes_of(facts.functions),
                                              bytes_of(facts.sites),
                                              bytes_of(facts.variables),
                                              bytes_of(facts.hooks),
                                              bytes_of(facts.loops),
                                              bytes_of(facts.spans),
                                              std::as_bytes(std::span(facts.strings.bytes()))};
  header.file_bytes = sizeof header;
  for (const auto part : parts) {
    header.check = crc32c(part, header.check);
    header.file_bytes += part.size();
  }
  const auto temporary = path.string() + "." + std::to_string(getpid());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool good = write_all(file, std::as_bytes(std::span(&header, 1)));
  for (const auto part : parts) good = good && write_all(file, part);
  good = close(file) == 0 && good && rename(temporary.c_str(), path.c_str()) == 0;
  if (!good) unlink(temporary.c_str());
  return good;
}

bool is_system(const fs::path& path) {
  const auto text = path.string();
  for (const char* folder : {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/"})
    if (text.starts_with(folder)) return true;
  return false;
}

// Splits a list at colons, without empty items.
void split(std::string_view list, std::vector<std::string>& out) {
  while (!list.empty()) {
    const auto colon = list.find(':');
    if (const auto item = list.substr(0, colon); !item.empty()) out.emplace_back(item);
    list = colon == std::string_view::npos ? std::string_view{} : list.substr(colon + 1);
  }
}

// The needed libraries of a module's dynamic section, and its run-time search path.
struct Linked {
  std::vector<std::string> libraries;
  std::vector<std::string> folders;
};

Linked linked_with(Elf* elf) {
  Linked linked;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC || header.sh_entsize == 0) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    for (int i = 0; data && i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
      GElf_Dyn entry;
      if (!gelf_getdyn(data, i, &entry)) break;
      const char* const text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
      if (!text) continue;
      if (entry.d_tag == DT_NEEDED) linked.libraries.emplace_back(text);
      if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH) split(text, linked.folders);
    }
  }
  return linked;
}

// Returns the libraries that a module names, where the dynamic linker would look first; omits the system's own
// libraries.
std::vector<std::string> needed_libraries(Elf* elf, const std::string& module) {
  auto [needed, folders] = linked_with(elf);
  const auto origin = fs::path(module).parent_path().string();
  for (auto& folder : folders)
    for (const std::string name : {"$ORIGIN", "${ORIGIN}"})
      if (const auto at = folder.find(name); at != std::string::npos) folder.replace(at, name.size(), origin);
  if (const char* const given = std::getenv("LD_LIBRARY_PATH")) split(given, folders);

  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& name : needed) {
    if (name.find('/') != std::string::npos) {
      found.push_back(name);
      continue;
    }
    for (const auto& folder : folders)
      if (fs::exists(fs::path(folder) / name, ignored)) {
        found.push_back((fs::path(folder) / name).string());
        break;
      }
  }
  return found;
}

// Returns whether a program header names a dynamic linker.
bool has_linker(Elf* elf) {
  std::size_t headers = 0;
  if (elf_getphdrnum(elf, &headers) != 0) return true;
  for (std::size_t i = 0; i < headers; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) && header.p_type == PT_INTERP) return true;
  }
  return false;
}

// Finds an executable as the shell does.
std::string find_executable(const std::string& word, bool first) {
  std::error_code ignored;
  if (word.find('/') != std::string::npos || !first)
    return fs::is_regular_file(word, ignored) && ::access(word.c_str(), X_OK) == 0 ? word : std::string();
  std::vector<std::string> folders;
  if (const char* const path = std::getenv("PATH")) split(path, folders);
  for (const auto& folder : folders) {
    auto candidate = (fs::path(folder) / word).string();
    if (fs::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

// Writes the symbol file of a module and, recursively, of the libraries that it needs.
void visit_module(const std::string& path, const std::string& cache, std::set<std::string>& seen,
                  std::vector<std::string>& written) {
  std::error_code failed;
  const auto real = fs::canonical(path, failed).string();
  if (failed || is_system(real) || !seen.insert(real).second) return;
  if (fs::path(real).filename().string().starts_with("libterrace.so")) return;
  auto symbols = write_symbol_file(real, cache);
  if (symbols.empty()) return;
  written.push_back(std::move(symbols));
  const CloseFile file{open(real.c_str(), O_RDONLY | O_CLOEXEC)};
  if (const auto elf = open_elf(file.file))
    for (const auto& library : needed_libraries(elf.get(), real)) visit_module(library, cache, seen, written);
}

}  // namespace

std::string symbol_cache() {
  if (const char* const given = std::getenv("XDG_CACHE_HOME"); given && *given)
    return std::string(given) + "/terrace";
  if (const char* const home = std::getenv("HOME"); home && *home && ::access(home, W_OK) == 0)
    return std::string(home) + "/.cache/terrace";
  const char* const temporary = std::getenv("TMPDIR");
  return std::string(temporary && *temporary ? temporary : "/tmp") + "/terrace-cache-" + std::to_string(getuid());
}

std::string write_symbol_file(const std::string& module, const std::string& cache) {
  try {
    const CloseFile file{open(module.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.file < 0) return {};
    const auto elf = open_elf(file.file);
    if (!elf) return {};
    SymbolFacts facts;
    facts.path = fs::canonical(module).string();
    read_build_id(elf.get(), facts);
    const auto path = fs::path(cache) / cache_name(facts.path, facts.build_id);
    if (fs::exists(path)) return path.string();
    fs::create_directories(cache);
    read_elf_symbols(elf.get(), facts);
    read_code(elf.get(), facts);
    read_debug_information(elf.get(), facts);
    return write_facts(facts, path) ? path.string() : std::string();
  } catch (const fs::filesystem_error&) {
    return {};
  }
}

std::vector<std::string> write_symbol_files(const std::vector<std::string>& words, const std::string& cache,
                                            std::size_t num_programs) {
  std::set<std::string> seen;
  std::vector<std::string> written;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (const auto path = find_executable(words[i], i < num_programs); !path.empty())
      visit_module(path, cache, seen, written);
  return written;
}

namespace {

// Returns the libraries that a program, a command's first word, is linked with itself.
std::vector<std::string> libraries_of(const std::string& program) {
  const auto path = find_executable(program, true);
  const CloseFile file{path.empty() ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  const auto elf = file.file < 0 ? nullptr : open_elf(file.file);
  return elf ? linked_with(elf.get()).libraries : std::vector<std::string>();
}

}  // namespace

std::string sanitizer_of(const std::string& program) {
  for (const auto& library : libraries_of(program))
    for (const char* runtime : {"libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so"})
      if (library.starts_with(runtime)) return library;
  return {};
}

bool is_linked_with_mpi(const std::string& program) {
  return std::ranges::any_of(libraries_of(program),
                             [](const std::string& library) { return library.starts_with("libmpi"); });
}

std::string why_not_loadable(const std::string& program) {
  const auto path = find_executable(program, true);
  return path.empty() ? std::string() : ProgramLoader(path.c_str()).why_not();
}

std::string why_not_loaded(const std::string& program) {
  const auto path = find_executable(program, true);
  if (auto why = why_not_loadable(program); !why.empty()) return why;
  const CloseFile file{path.empty() ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  const auto elf = file.file < 0 ? nullptr : open_elf(file.file);
  if (!elf) return {};
  if (!has_linker(elf.get())) return "it is statically linked";
  struct stat about {};
  if (fstat(file.file, &about) != 0) return {};
  if ((about.st_mode & S_ISUID) != 0 && about.st_uid != getuid()) return "it is set-uid";
  if ((about.st_mode & S_ISGID) != 0 && about.st_gid != getgid()) return "it is set-gid";
  // These rights do not matter for the superuser (capabilities(7)).
  const bool gains = getuid() != 0 && fgetxattr(file.file, "security.capability", nullptr, 0) > 0;
  return gains ? "it has file capabilities" : "";
}

bool is_valgrind(const std::string& program) {
  const auto is = [](const fs::path& path) {
    return path.filename() == "valgrind" || path.filename() == "valgrind.bin";
  };
  const auto path = find_executable(program, true);
  std::error_code failed;
  return !path.empty() && (is(path) || is(fs::canonical(path, failed)));
}

}  // namespace terrace::observe
