// SPDX-License-Identifier: Apache-2.0
// Looks entries up in symbol files and in exported symbols. See function_starts.hpp.
#include "agent/function_starts.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <iterator>

#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/modules.hpp"
#include "agent/lifecycle/process.hpp"

namespace terrace::agent {

std::uint64_t FunctionStarts::find(std::uint64_t address) {
  const auto found = find_symbol(process_, address);
  if (found.described) return find_place(process_, address).function;
  if (found.site.module < 0 || is_in_terrace(address) || is_runtime_library(found.path)) return 0;
  return find_exported(address);
}

std::uint64_t FunctionStarts::find_exported(std::uint64_t address) {
  if (const auto after = exported_.upper_bound(address); after != exported_.begin())
    if (const auto& [begin, end] = *std::prev(after); address < end) return begin;
  Dl_info known;
  void* entry = nullptr;
  const auto* const code = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
  if (dladdr1(code, &known, &entry, RTLD_DL_SYMENT) == 0 || !known.dli_saddr || !entry) return 0;
  const auto& symbol = *static_cast<const ElfW(Sym)*>(entry);
  const auto begin = reinterpret_cast<std::uint64_t>(known.dli_saddr);
  // dladdr() may return the nearest preceding symbol, even if it does not contain the address.
  if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || address - begin >= symbol.st_size) return 0;
  exported_[begin] = begin + symbol.st_size;
  return begin;
}

}  // namespace terrace::agent
