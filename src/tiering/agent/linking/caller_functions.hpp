// SPDX-License-Identifier: Apache-2.0
// Finds the functions that a calling library would have reached without Terrace, for functions of libraries that
// may be in a process several times (OpenMP's run-time libraries) or in the scope of one caller alone (plug-ins
// that are loaded with RTLD_LOCAL, as Python loads its extensions). The interposers of OpenMP, libm and Caliper
// forward calls by it.
//
// dlsym(RTLD_NEXT) searches the global scope alone, because the injected library was loaded with the program. The
// dynamic linker searches the global scope and then that of the library's own dlopen(3). So the caller decides:
// the module that the return address is in. A table of functions is bound for each calling module at its first
// call, all of them at once: functions of two copies never mix, and a thread that calls while another one is
// inside dlopen(3) finds its table there and does not wait for the dynamic linker's lock.
//
// Thread-safe. The first call of a module, and the first behind a dlclose(3), allocate and take the dynamic
// linker's lock; all others take no lock, and are async-signal-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "agent/heap/static_data.hpp"

namespace terrace::agent {

class CallerFunctions {
 public:
  // Holds the functions to which one module's calls are forwarded.
  class Table {
   public:
    // Returns null if no loaded module defines the function.
    [[nodiscard]] void* find(std::size_t number) const noexcept {
      void* const function = functions_[number].load(std::memory_order_relaxed);
      return function ? function : find_again(number);
    }
    template <class Function>
    [[nodiscard]] Function find_as(std::size_t number) const noexcept {
      return reinterpret_cast<Function>(find(number));
    }

   private:
    friend class CallerFunctions;
    [[nodiscard]] void* find_again(std::size_t number) const noexcept;

    const CallerFunctions* owner_ = nullptr;
    std::uint64_t low_ = 0, high_ = 0;               // of the calling module; empty: of code outside modules
    std::atomic<void*>* functions_ = nullptr;        // by number
    mutable std::atomic<std::uint32_t> unloads_{0};  // when it was known to be right
    Table* next_ = nullptr;
  };

  // `names` outlive this. `functions`: as many, for callers of which no table can be made.
  constexpr CallerFunctions(std::span<const char* const> names, std::span<std::atomic<void*>> functions)
      : names_(names) {
    last_resort_.owner_ = this;
    last_resort_.functions_ = functions.data();
  }
  CallerFunctions(const CallerFunctions&) = delete;
  CallerFunctions& operator=(const CallerFunctions&) = delete;

  // `caller`: an address in the code that calls. Stays valid.
  [[nodiscard]] const Table& table_for(const void* caller) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(caller);
    const auto unloads = g_unloads.load(std::memory_order_acquire);
    for (const Table* table = first_.load(std::memory_order_acquire); table; table = table->next_)
      if (address - table->low_ < table->high_ - table->low_) {
        if (table->unloads_.load(std::memory_order_relaxed) == unloads) [[likely]]
          return *table;
        break;
      }
    return bind(address);
  }

  // Invalidates all tables: modules may have been unloaded, and others mapped at their addresses.
  static void note_unload() noexcept { g_unloads.fetch_add(1, std::memory_order_acq_rel); }

 private:
  [[gnu::noinline, gnu::cold]] const Table& bind(std::uint64_t caller) noexcept;
  [[nodiscard]] const Table& bind_module(std::uint64_t caller, std::uint32_t unloads);

  // Returns the module's table, or null if none was bound.
  [[nodiscard]] Table* table_of(AddressRange module) const noexcept;

  static constinit std::atomic<std::uint32_t> g_unloads;
  std::span<const char* const> names_;
  std::atomic<Table*> first_{nullptr};
  Table last_resort_;
};

// Resolves names as code at `address` would without Terrace, in the scope of its own dlopen(3) only; null for
// undefined names. Throws std::bad_alloc.
std::vector<void*> find_in_own_scope_of(std::uint64_t address, std::span<const char* const> names);

// Converts a name to its index in a list at compile time.
template <const auto& List>
class ListedName {
 public:
  consteval ListedName(const char* text)  // NOLINT(google-explicit-constructor)
      : number_(static_cast<std::size_t>(std::ranges::find(List, std::string_view(text)) - std::begin(List))) {
    if (number_ == std::size(List)) throw "the list has no such name; add it to the list";
  }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::size_t number_;
};

}  // namespace terrace::agent
