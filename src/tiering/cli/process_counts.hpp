// SPDX-License-Identifier: Apache-2.0
// Reads the counters that each process of a job maps from a file in the job's folder (agent/session_heaps.cpp).
// The summaries of --intent and --memory use it.
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

// Calls `body` with the counts in each file that begins with `prefix` and has its full size; a running process may
// still change them. Calls `without` for a file that is too short, because the disk was full.
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
