// See recurring.hpp.
#include "runtime/recurring.hpp"

#include <algorithm>

namespace terrace::runtime {

std::uint64_t Recurring::come(std::string_view name, std::uint64_t canonical, Bytes size) {
  const auto found = gone_.find(std::string(name));
  if (found == gone_.end()) return canonical;
  auto& gone = found->second;
  const auto is_like = [&](const Gone& one) { return one.size <= 2 * size && size <= 2 * one.size; };
  const auto last = std::find_if(gone.rbegin(), gone.rend(), is_like);
  if (last == gone.rend()) return canonical;
  const auto stood_for = last->stood_for;
  gone.erase(std::next(last).base());
  return stood_for;
}

void Recurring::go(std::string_view name, std::uint64_t stood_for, Bytes size) {
  auto& gone = gone_[std::string(name)];
  if (gone.size() == k_max) gone.erase(gone.begin());
  gone.push_back({stood_for, size});
}

}  // namespace terrace::runtime
