// See process_memory.hpp.
#include "core/process_memory.hpp"

#include <cstdio>

#include "core/rounding.hpp"
#include "core/small_file.hpp"

namespace terrace {

std::optional<ProcessMemory> process_memory() noexcept {
  char text[128];
  unsigned long long size = 0, resident = 0, of_files = 0;
  if (!read_small_file("/proc/self/statm", text, sizeof text) ||
      std::sscanf(text, "%llu %llu %llu", &size, &resident, &of_files) != 3)
    return {};
  return ProcessMemory{Bytes{size * k_page}, Bytes{resident * k_page}, Bytes{of_files * k_page}};
}

}  // namespace terrace
