// SPDX-License-Identifier: Apache-2.0
// Adapter for NVTX 3: NVTX in the program loads the library that NVTX_INJECTION64_PATH names and calls its
// InitializeInjectionNvtx2, which enters Terrace's functions into NVTX's tables. Ranges become phases; other NVTX
// features are ignored. Without a session the tables stay unchanged.
#include <wchar.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <unordered_map>

#include "agent/adapters/regions.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

// --- the interface, as its headers publish it
// ---------------------------------------------------------------------------------------------------------

constexpr std::uint32_t k_callbacks = 1;  // id of the export table of callbacks
enum CallbackModule : std::uint32_t { core = 1, core2 = 5 };
enum CoreCallback : std::uint32_t {
  range_start_ex = 4,
  range_start_ascii,
  range_start_wide,
  range_end,
  range_push_ex,
  range_push_ascii,
  range_push_wide,
  range_pop
};
enum Core2Callback : std::uint32_t {
  domain_range_start_ex = 2,
  domain_range_end,
  domain_range_push_ex,
  domain_range_pop,
  domain_register_ascii = 10,
  domain_register_wide,
  domain_create_ascii,
  domain_create_wide,
  domain_destroy
};

using Callback = void (*)();
struct ExportTable {
  std::size_t size;
  int (*functions_of)(std::uint32_t module, Callback*** table, unsigned* count);
};
using FindTable = const void* (*)(std::uint32_t table);

struct EventAttributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    const struct RegisteredString* registered;
  } message;
};
enum MessageType : std::int32_t { ascii = 1, wide = 2, registered = 3 };
constexpr int k_not_tracked = -2;  // result of push and pop if nesting levels are not tracked

// --- names
// ---------------------------------------------------------------------------------------------------------

std::string to_utf8(const wchar_t* text) {
  std::string result;
  for (; text && *text; ++text) {
    const std::uint32_t code = static_cast<char32_t>(*text);
    const auto byte = [&](std::uint32_t value) { result.push_back(static_cast<char>(value)); };
    const auto rest = [&](int shift) { byte(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) {
      byte(code);
    } else if (code < 0x800) {
      byte(0xc0 | (code >> 6));
      rest(0);
    } else if (code < 0x10000) {
      byte(0xe0 | (code >> 12));
      rest(6);
      rest(0);
    } else if (code < 0x110000) {
      byte(0xf0 | (code >> 18));
      rest(12);
      rest(6);
      rest(0);
    }
  }
  return result;
}

struct RegisteredString {
  std::string text;
};
struct NvtxDomain {
  std::string name;
};

std::string name_of(const NvtxDomain* domain, const EventAttributes* attributes) {
  std::string text = domain ? domain->name + "/" : "";
  if (!attributes) return text + "(range)";
  switch (attributes->message_type) {
    case ascii:
      return text + (attributes->message.ascii ? attributes->message.ascii : "");
    case wide:
      return text + to_utf8(attributes->message.wide);
    case registered:
      return text + (attributes->message.registered ? attributes->message.registered->text : "");
    default:
      return text + "(range)";
  }
}

// --- ranges
// ---------------------------------------------------------------------------------------------------------

constexpr RegionAdapter k_nvtx{"NVTX ranges"};

constexpr std::uint64_t k_started = 1ULL << 63;
constinit std::atomic<std::uint64_t> g_ranges{0};

// Returns the nesting level of the main thread's ranges in a domain.
std::uint32_t& pushed_in(const NvtxDomain* domain) {
  static auto& levels = *new std::unordered_map<const NvtxDomain*, std::uint32_t>;
  return levels[domain];
}

std::uint64_t key_of(const NvtxDomain* domain, std::uint32_t level) {
  return reinterpret_cast<std::uint64_t>(domain) * 31 + level;
}

// Runs `work` on the main thread. Swallows exceptions: the range is then not recorded.
template <class Work>
void for_main_thread(Work work) noexcept {
  if (!RegionAdapter::is_active()) return;
  const observe::RuntimeScope inside;
  try {
    work();
  } catch (const std::exception&) {
    return;
  }
}

template <class NameOf>
int push(const NvtxDomain* domain, NameOf name) noexcept {
  for_main_thread([&] { k_nvtx.begin(key_of(domain, pushed_in(domain)++), name()); });
  return k_not_tracked;
}

// Ends the domain's innermost pushed range.
int pop(const NvtxDomain* domain) noexcept {
  for_main_thread([&] {
    auto& level = pushed_in(domain);
    if (level > 0) k_nvtx.end(key_of(domain, --level));
  });
  return k_not_tracked;
}

template <class NameOf>
std::uint64_t start_range(NameOf name) noexcept {
  const auto id = g_ranges.fetch_add(1) + 1;
  for_main_thread([&] { k_nvtx.begin(k_started | id, name()); });
  return id;
}

void end_range(std::uint64_t id) noexcept { k_nvtx.end(k_started | id); }

// --- functions for the tables
// ---------------------------------------------------------------------------------------------------------

std::uint64_t start_ex(const EventAttributes* what) {
  return start_range([&] { return name_of(nullptr, what); });
}
std::uint64_t start_ascii(const char* text) {
  return start_range([&] { return std::string(text ? text : ""); });
}
std::uint64_t start_wide(const wchar_t* text) {
  return start_range([&] { return to_utf8(text); });
}
int push_ex(const EventAttributes* what) {
  return push(nullptr, [&] { return name_of(nullptr, what); });
}
int push_ascii(const char* text) {
  return push(nullptr, [&] { return std::string(text ? text : ""); });
}
int push_wide(const wchar_t* text) {
  return push(nullptr, [&] { return to_utf8(text); });
}
int pop_default() { return pop(nullptr); }

std::uint64_t domain_start_ex(const NvtxDomain* domain, const EventAttributes* what) {
  return start_range([&] { return name_of(domain, what); });
}
void domain_end(const NvtxDomain*, std::uint64_t id) { end_range(id); }
int domain_push_ex(const NvtxDomain* domain, const EventAttributes* what) {
  return push(domain, [&] { return name_of(domain, what); });
}
int domain_pop(const NvtxDomain* domain) { return pop(domain); }

// Stores a text. Returns null without memory, which NVTX treats as the default domain or no name.
template <class T>
T* make_handle(std::string (*text_of)(const void*), const void* given) noexcept {
  const observe::RuntimeScope inside;
  try {
    return new T{text_of(given)};
  } catch (const std::exception&) {
    return nullptr;
  }
}
std::string text_of_ascii(const void* text) { return text ? static_cast<const char*>(text) : ""; }
std::string text_of_wide(const void* text) { return to_utf8(static_cast<const wchar_t*>(text)); }

NvtxDomain* create_ascii(const char* name) { return make_handle<NvtxDomain>(text_of_ascii, name); }
NvtxDomain* create_wide(const wchar_t* name) { return make_handle<NvtxDomain>(text_of_wide, name); }
// Keeps the domain: ranges of it may still be ended by its handle.
void destroy(NvtxDomain*) {}
RegisteredString* register_ascii(const NvtxDomain*, const char* text) {
  return make_handle<RegisteredString>(text_of_ascii, text);
}
RegisteredString* register_wide(const NvtxDomain*, const wchar_t* text) {
  return make_handle<RegisteredString>(text_of_wide, text);
}

struct TableEntry {
  std::uint32_t number;
  Callback function;
};
template <class F>
TableEntry entry(std::uint32_t number, F* function) {
  return {number, reinterpret_cast<Callback>(function)};
}

// Enters Terrace's functions into one of NVTX's tables. Returns false if this version of NVTX has no such table.
template <std::size_t N>
bool fill(const ExportTable& from, CallbackModule module, const TableEntry (&entries)[N]) {
  Callback** table = nullptr;
  unsigned count = 0;
  if (!from.functions_of(module, &table, &count) || !table) return false;
  for (const auto& one : entries)
    if (one.number < count && table[one.number]) *table[one.number] = one.function;
  return true;
}

}  // namespace

}  // namespace terrace::agent

extern "C" TERRACE_EXPORT int InitializeInjectionNvtx2(terrace::agent::FindTable find_table) {
  using namespace terrace::agent;
  if (!ensure_started() || !find_table) return 0;
  const auto* const callbacks = static_cast<const ExportTable*>(find_table(k_callbacks));
  if (!callbacks || callbacks->size < sizeof(ExportTable) || !callbacks->functions_of) return 0;
  const TableEntry in_core[] = {entry(range_start_ex, start_ex),     entry(range_start_ascii, start_ascii),
                                entry(range_start_wide, start_wide), entry(range_end, end_range),
                                entry(range_push_ex, push_ex),       entry(range_push_ascii, push_ascii),
                                entry(range_push_wide, push_wide),   entry(range_pop, pop_default)};
  const TableEntry in_core2[] = {entry(domain_range_start_ex, domain_start_ex),
                                 entry(domain_range_end, domain_end),
                                 entry(domain_range_push_ex, domain_push_ex),
                                 entry(domain_range_pop, domain_pop),
                                 entry(domain_register_ascii, register_ascii),
                                 entry(domain_register_wide, register_wide),
                                 entry(domain_create_ascii, create_ascii),
                                 entry(domain_create_wide, create_wide),
                                 entry(domain_destroy, destroy)};
  const bool has_core = fill(*callbacks, core, in_core);
  const bool has_core2 = fill(*callbacks, core2, in_core2);
  return has_core || has_core2 ? 1 : 0;
}
