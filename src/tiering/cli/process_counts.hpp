// What the processes of a job count, in files of the job's folder (agent/shared_counts.hpp): one a process.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace terrace::cli {

// Of each process whose file has begun; the counts may still change. `without`: for a file that had no room.
template <class Counts, class Body, class Without = void (*)()>
void for_each_process(
    const std::filesystem::path& folder, std::string_view prefix, Body&& body, Without&& without = [] {}) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    struct stat found {};
    void* page = MAP_FAILED;
    if (file >= 0 && fstat(file, &found) == 0 && found.st_size >= std::int64_t{sizeof(Counts)})
      page = mmap(nullptr, sizeof(Counts), PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (page == MAP_FAILED) {
      without();
      continue;
    }
    body(*static_cast<const Counts*>(page));
    munmap(page, sizeof(Counts));
  }
}

}  // namespace terrace::cli
