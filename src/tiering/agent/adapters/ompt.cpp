// SPDX-License-Identifier: Apache-2.0
// Adapter for OMPT: OpenMP runtimes with OMPT (LLVM's and derived ones, not GNU's) call ompt_start_tool at their
// start, which registers callbacks. Parallel regions become phases, named by their code: "parallel smooth:42".
// Nothing is registered without a session, or if the program has a tool or names one (OMP_TOOL_LIBRARIES).
#include <dlfcn.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <unordered_map>

#include "agent/adapters/regions.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/modules.hpp"
#include "agent/linking/next.hpp"
#include "observe/pipeline/loop_events.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

// --- the interface, as OpenMP 5 has it (section 4)
// ---------------------------------------------------------------------------------------------------------

union OmptData {
  std::uint64_t value;
  void* pointer;
};
using OmptFunction = void (*)();
using OmptLookup = OmptFunction (*)(const char* name);
struct OmptTool {
  int (*initialize)(OmptLookup lookup, int device, OmptData* data);
  void (*finalize)(OmptData* data);
  OmptData data;
};
using OmptStart = OmptTool* (*)(unsigned version, const char* runtime);
using SetCallback = int (*)(int event, OmptFunction callback);
constexpr int k_parallel_begin = 3;
constexpr int k_parallel_end = 4;

// --- regions
// ---------------------------------------------------------------------------------------------------------

constexpr RegionAdapter k_openmp{"OpenMP parallel regions"};
constinit std::uint64_t g_parallel = 0;  // regions of the main thread so far

// Returns the name of a parallel region by its outlined function: symbol and line, or else an offset in its file.
std::string name_of_code(Process& process, std::uint64_t code) {
  const auto function = function_name(process, code);
  const auto found = find_symbol(process, code);
  if (found.site.function) return "parallel " + observe::name_of_loop(function, found.site).text();
  if (!function.empty()) return "parallel " + function;
  Dl_info known{};
  const auto* const address = reinterpret_cast<const void*>(code);  // NOLINT(performance-no-int-to-ptr)
  char text[64];
  const bool is_loaded = dladdr(address, &known) != 0;
  const auto offset = code - reinterpret_cast<std::uint64_t>(is_loaded ? known.dli_fbase : nullptr);
  std::snprintf(text, sizeof text, "parallel +0x%llx", static_cast<unsigned long long>(offset));
  return text;
}

// Returns the cached name of a region. Main thread only. Throws std::bad_alloc.
const std::string& name_of_region(const void* code) {
  static auto& names = *new std::unordered_map<const void*, std::string>;
  const auto known = names.find(code);
  if (known != names.end()) return known->second;
  return names[code] = name_of_code(*process(), reinterpret_cast<std::uint64_t>(code) - 1);
}

void parallel_begin(OmptData*, const void*, OmptData* region, unsigned, int, const void* code) noexcept {
  region->value = 0;
  if (!RegionAdapter::is_active()) return;
  const observe::RuntimeScope inside;
  try {
    const auto& name = name_of_region(code);
    region->value = ++g_parallel;
    k_openmp.begin(region->value, name);
  } catch (const std::exception&) {
    return;  // no memory: the region is not recorded
  }
}

void parallel_end(OmptData* region, OmptData*, int, const void*) noexcept {
  if (region->value != 0) k_openmp.end(region->value);
}

// Registers the callbacks. Called by the OpenMP runtime, which looks them up by number.
int initialize(OmptLookup lookup, int, OmptData*) {
  const auto set = reinterpret_cast<SetCallback>(lookup("ompt_set_callback"));
  if (!set) return 0;
  set(k_parallel_begin, reinterpret_cast<OmptFunction>(parallel_begin));
  set(k_parallel_end, reinterpret_cast<OmptFunction>(parallel_end));
  return 1;
}

void finalize(OmptData*) {}

}  // namespace

}  // namespace terrace::agent

extern "C" TERRACE_EXPORT terrace::agent::OmptTool* ompt_start_tool(unsigned version, const char* runtime) {
  using namespace terrace::agent;
  static constinit NextFunction<OmptStart> next{"ompt_start_tool"};
  if (const auto others = *next)
    if (auto* const tool = others(version, runtime)) return tool;
  const char* const wanted = getenv("OMP_TOOL_LIBRARIES");
  if (!ensure_started() || (wanted && *wanted)) return nullptr;
  static constinit OmptTool tool{initialize, finalize, {0}};
  return &tool;
}
