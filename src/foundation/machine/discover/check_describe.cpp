// SPDX-License-Identifier: Apache-2.0
// Formats the findings of a check for people and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "machine/discover/check.hpp"

namespace terrace::machine {

std::string describe(const std::vector<Finding>& findings) {
  constexpr std::size_t k_verdict = 7;  // "limited"
  std::size_t widest = 0;
  for (const auto& one : findings) widest = std::max(widest, one.subject.size());
  std::string text;
  for (const auto& one : findings) {
    const auto verdict = std::string(verdict_name(one.verdict));
    text += one.subject + std::string(widest - one.subject.size() + 2, ' ') + verdict +
            std::string(k_verdict - verdict.size() + 2, ' ') + one.found;
    if (!one.advice.empty()) text += "; " + one.advice;
    text += '\n';
  }
  return text;
}

std::string describe_json(const std::vector<Finding>& findings) {
  auto checks = nlohmann::ordered_json::array();
  for (const auto& one : findings) {
    auto facts = nlohmann::ordered_json::object();
    for (const auto& [key, fact] : one.facts)
      std::visit([&, &name = key](const auto& value) { facts[name] = value; }, fact);
    checks.push_back({{"subject", one.subject},
                      {"verdict", verdict_name(one.verdict)},
                      {"found", one.found},
                      {"advice", one.advice},
                      {"facts", std::move(facts)}});
  }
  return nlohmann::ordered_json{{"schema", 1}, {"checks", std::move(checks)}}.dump(2);
}

}  // namespace terrace::machine
