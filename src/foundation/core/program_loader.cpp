// SPDX-License-Identifier: Apache-2.0
// Reads a program's ELF header, its interpreter and that interpreter's C library, before the agent lets a child
// process inherit LD_PRELOAD. See program_loader.hpp.
#include "core/program_loader.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/errno_scope.hpp"

namespace terrace {

namespace {

// ELF class, byte order and machine of the programs that can load this build's libraries. Constants, because the
// header of this file cannot be read: tools that edit an executable (patchelf) move it, and the linker's symbol
// for it stays where it was.
constexpr char k_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr char k_data = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
#if defined(__x86_64__)
constexpr ElfW(Half) k_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr ElfW(Half) k_machine = EM_AARCH64;
#else
#error "add this machine's number from elf.h"
#endif

constexpr int k_max_scripts = 5;       // that one script's first line may lead through (execve(2))
constexpr int k_max_first_line = 256;  // BINPRM_BUF_SIZE

class OpenFile {
 public:
  // Non-blocking: a FIFO would wait for a writer.
  explicit OpenFile(const char* path) noexcept : file_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int number() const noexcept { return file_; }

 private:
  int file_;
};

template <class Record>
bool read_at(int file, std::uint64_t at, Record& record) noexcept {
  return pread(file, &record, sizeof record, static_cast<off_t>(at)) == static_cast<ssize_t>(sizeof record);
}

// Returns the dynamic linker of this process, as its executable names it (PT_INTERP), or null.
const char* own_interpreter() noexcept {
  const auto* const parts =
      reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));  // NOLINT(performance-no-int-to-ptr)
  const auto count = getauxval(AT_PHNUM);
  if (!parts) return nullptr;
  std::uint64_t base = 0;
  const ElfW(Phdr)* found = nullptr;
  for (const auto* part = parts; part != parts + count; ++part) {
    if (part->p_type == PT_PHDR) base = reinterpret_cast<std::uint64_t>(parts) - part->p_vaddr;
    if (part->p_type == PT_INTERP) found = part;
  }
  return found ? reinterpret_cast<const char*>(base + found->p_vaddr) : nullptr;  // NOLINT
}

bool is_same_file(const char* one, const char* other) noexcept {
  struct stat first {
  }, second{};
  return std::strcmp(one, other) == 0 || (stat(one, &first) == 0 && stat(other, &second) == 0 &&
                                          first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

// Returns the minor version of a glibc dynamic linker, from its banner "stable release version 2.36." (glibc 2.33
// and later); -1 if the file has none.
int glibc_minor_of(const char* linker) noexcept {
  constexpr char k_text[] = "release version 2.";
  constexpr auto k_length = sizeof k_text - 1;
  const OpenFile file(linker);
  if (file.number() < 0) return -1;
  char buffer[4096];
  std::size_t tail = 0;
  while (true) {
    const auto got = ::read(file.number(), buffer + tail, sizeof buffer - tail);
    if (got <= 0) return -1;
    const auto size = tail + static_cast<std::size_t>(got);
    const auto* const at = static_cast<const char*>(memmem(buffer, size, k_text, k_length));
    const auto left = at ? static_cast<std::size_t>(buffer + size - at) : 0;
    if (left >= k_length + 4) {
      int minor = 0;
      for (const char* digit = at + k_length; *digit >= '0' && *digit <= '9' && minor < 1000; ++digit)
        minor = 10 * minor + (*digit - '0');
      return minor;
    }
    // Keep the tail: the banner may span two reads.
    tail = at ? left : std::min(size, k_length + 4);
    std::memmove(buffer, buffer + size - tail, tail);
  }
}

// Returns the first word after #!, or null.
const char* interpreter_of_script(char* line) noexcept {
  char* const first = line + 2 + std::strspn(line + 2, " \t");
  first[std::strcspn(first, " \t\n")] = '\0';
  return *first ? first : nullptr;
}

// Returns whether the file is named like a dynamic linker, such as ld-linux-x86-64.so.2.
bool is_named_linker(const char* path) noexcept {
  const char* const slash = path ? std::strrchr(path, '/') : nullptr;
  const char* const name = slash ? slash + 1 : path;
  return name && std::strncmp(name, "ld-", 3) == 0;
}

// Appends text to the buffer up to `end`, and returns its new end.
char* append(char* to, const char* end, const char* text) noexcept {
  while (to < end && *text) *to++ = *text++;
  *to = '\0';
  return to;
}

}  // namespace

ProgramLoader::ProgramLoader(int file) noexcept {
  const ErrnoScope errno_scope;
  const int flags = fcntl(file, F_GETFL);
  if (flags < 0 || (flags & O_PATH) == 0) {
    read(file, nullptr, 0);
    return;
  }
  char path[32] = "/proc/self/fd/";
  char* digit = path + sizeof path - 1;
  for (int rest = file; rest > 0 || digit == path + sizeof path - 1; rest /= 10)
    *--digit = static_cast<char>('0' + rest % 10);
  std::memmove(path + std::strlen(path), digit, static_cast<std::size_t>(path + sizeof path - digit));
  open_and_read(path, 0);
}

ProgramLoader::ProgramLoader(const char* path) noexcept {
  const ErrnoScope errno_scope;
  open_and_read(path, 0);
}

void ProgramLoader::open_and_read(const char* path, int scripts) noexcept {
  const OpenFile file(path);
  if (file.number() >= 0) read(file.number(), path, scripts);
}

// Examines an open program; follows a script to its interpreter. `scripts`: number of scripts followed so far.
void ProgramLoader::read(int file, const char* path, int scripts) noexcept {
  struct stat about {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return;  // a FIFO would wait for a writer's data
  char line[k_max_first_line + 1]{};
  if (pread(file, line, k_max_first_line, 0) < 4) return;
  if (line[0] == '#' && line[1] == '!') {
    const char* const interpreter = interpreter_of_script(line);
    if (interpreter && scripts < k_max_scripts) open_and_read(interpreter, scripts + 1);
    return;
  }
  if (std::memcmp(line, ELFMAG, SELFMAG) != 0) return;
  if (line[EI_CLASS] != k_class) return refuse("it is built for another word size", nullptr);
  ElfW(Ehdr) header;
  if (!read_at(file, 0, header)) return;
  if (line[EI_DATA] != k_data || header.e_machine != k_machine)
    return refuse("it is built for another processor architecture", nullptr);
  char interpreter[256]{};
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) part;
    if (!read_at(file, header.e_phoff + i * header.e_phentsize, part)) return;
    if (part.p_type != PT_INTERP) continue;
    if (pread(file, interpreter, std::min<std::size_t>(part.p_filesz, sizeof interpreter - 1),
              static_cast<off_t>(part.p_offset)) <= 0)
      return;
  }
  // A dynamic linker that is called by its name to run a program names no other one.
  const char* const linker = interpreter[0] != '\0'                                     ? interpreter
                             : header.e_type == ET_DYN && path && is_named_linker(path) ? path
                                                                                        : nullptr;
  if (!linker) return;
  if (const char* const own = own_interpreter(); own && is_same_file(linker, own)) return;
  const int minor = glibc_minor_of(linker);
  if (minor < 0) return refuse("it uses another C library", linker);
  if (minor < __GLIBC_MINOR__) refuse("it uses an older C library", linker);
}

void ProgramLoader::refuse(const char* reason, const char* interpreter) noexcept {
  const char* const end = why_ + sizeof why_ - 1;
  char* to = append(why_, end, reason);
  if (!interpreter) return;
  to = append(to, end, " (");
  to = append(to, end, interpreter);
  append(to, end, ")");
}

bool find_program(const char* name, const char* search, char* path, unsigned long size) noexcept {
  const ErrnoScope errno_scope;
  const auto can_run = [](const char* file) {
    struct stat about {};
    return access(file, X_OK) == 0 && stat(file, &about) == 0 && S_ISREG(about.st_mode);
  };
  const auto length = name ? std::strlen(name) : 0;
  if (length == 0) return false;
  if (std::strchr(name, '/')) {
    if (length >= size) return false;
    std::memcpy(path, name, length + 1);
    return can_run(path);
  }
  for (const char* folder = search ? search : "/bin:/usr/bin";; ++folder) {
    const char* const end = strchrnul(folder, ':');
    const auto before = static_cast<unsigned long>(end - folder);
    if (before + length + 2 <= size) {
      std::memcpy(path, folder, before);
      if (before > 0) path[before] = '/';
      std::memcpy(path + before + (before > 0 ? 1 : 0), name, length + 1);
      if (can_run(path)) return true;
    }
    if (*end == '\0') return false;
    folder = end;
  }
}

}  // namespace terrace
