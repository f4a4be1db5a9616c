// The policies by name.
#include <algorithm>
#include <array>

#include "strategy/policies/policies.hpp"

namespace terrace::strategy {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Policy> (*make)();
};
constexpr std::array k_policies{Entry{"kernel-tiering", make_kernel_tiering}, Entry{"memtis", make_memtis},
                                Entry{"colloid", make_colloid}, Entry{"alto", make_alto}};

const Entry* find(std::string_view name) {
  const auto* const found =
      std::find_if(k_policies.begin(), k_policies.end(), [&](const Entry& entry) { return entry.name == name; });
  return found == k_policies.end() ? nullptr : found;
}

}  // namespace

std::unique_ptr<Policy> make_policy(std::string_view name) {
  const auto* const entry = find(name);
  return entry ? entry->make() : nullptr;
}

bool is_policy(std::string_view name) { return find(name) != nullptr; }

std::vector<std::string_view> policy_names() {
  std::vector<std::string_view> names;
  names.reserve(k_policies.size());
  for (const auto& entry : k_policies) names.push_back(entry.name);
  return names;
}

}  // namespace terrace::strategy
