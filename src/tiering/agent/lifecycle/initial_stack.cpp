// SPDX-License-Identifier: Apache-2.0
// Assigns canonical addresses to arguments and environment variables on the initial stack: slots by the kind of a
// piece and by names of variables. Called at start-up. See initial_stack.hpp.
#include "agent/lifecycle/initial_stack.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <string_view>

namespace terrace::agent {

namespace {

constexpr std::uint64_t k_line = 64;
enum StackSlot : std::uint64_t { k_arguments = 1, k_variables, k_argument_strings, k_first_name };

std::uint64_t address_of(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

// Returns the slot of an environment variable, a hash of its name.
std::uint64_t slot_of_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return k_first_name + hash % (k_stack_slots - k_first_name);
}

}  // namespace

std::vector<StackPiece> lay_out_stack(int count, const char* const* words) {
  std::vector<StackPiece> pieces;
  const auto put = [&](const void* low, std::uint64_t size, std::uint64_t place) {
    if (size <= k_stack_slot - place % k_stack_slot)
      pieces.push_back({address_of(low), address_of(low) + size, place});
  };
  const char* const* const variables = words + count + 1;
  std::size_t many = 0;
  while (variables[many]) ++many;
  put(words, static_cast<std::uint64_t>(count + 1) * sizeof *words, k_arguments * k_stack_slot);
  put(variables, (many + 1) * sizeof *variables, k_variables * k_stack_slot);

  std::uint64_t offset = 0;
  for (int i = 0; i < count; ++i) {
    const auto size = std::strlen(words[i]) + 1;
    if (offset + size > k_stack_slot) break;
    put(words[i], size, k_argument_strings * k_stack_slot + offset);
    offset += (size + k_line - 1) / k_line * k_line;
  }
  std::set<std::uint64_t> taken;
  for (std::size_t i = 0; i < many; ++i) {
    const std::string_view text(variables[i]);
    const auto slot = slot_of_name(text.substr(0, text.find('=')));
    if (taken.insert(slot).second) put(text.data(), text.size() + 1, slot * k_stack_slot);
  }
  return pieces;
}

}  // namespace terrace::agent
