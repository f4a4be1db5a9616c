// SPDX-License-Identifier: Apache-2.0
// Checks --budget and --fast, and applies their precedence. See budget_option.hpp.
#include "cli/budget_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/user_errors.hpp"
#include "core/error.hpp"
#include "core/rounding.hpp"
#include "machine/discover/system_files.hpp"
#include "machine/machine.hpp"

namespace terrace::cli {

namespace {

// Checks the size of --fast; 0 excludes the fastest kind.
void check_fast(const std::string& fast) {
  const auto size = with_option_name("--fast", [&] { return parse_bytes(fast); });
  if (size.value > 0 && size.value < k_page)
    throw Error(Code::invalid, fmt::format("--fast {}: {} is less than a page of memory; give at least {}, or 0{}",
                                           fast, format(size), format(Bytes{k_page}), unit_hint(fast)));
}

// Returns whether a plan was made for more of a place than the budget has.
bool exceeds(const Plan& plan, const machine::Machine& machine, const machine::Budget& budget) {
  std::string text;
  for (const auto& part : plan.budget) text += (text.empty() ? "" : ",") + part;
  if (text.empty()) return false;
  const auto wanted = machine::parse_budget(machine, text);
  for (std::size_t place = 0; place < wanted.size(); ++place)
    if (wanted[place] > budget[place]) return true;
  return false;
}

}  // namespace

void resolve_budget(const ConfigurationOptions& options, SlurmAllocation* slurm, bool ignores_budget,
                    runtime::SessionConfiguration& configuration, std::vector<std::string>& sentences) {
  if (!options.fast.empty() && !options.budget.empty())
    throw Error(
        Code::invalid,
        "--fast and --budget cannot be used together; leave --fast out, and write for example --budget hbm=4GiB");
  if (!options.fast.empty()) check_fast(options.fast);
  const auto& machine = configuration.machine;
  auto& text = configuration.budget_text;
  text = options.fast.empty() ? options.budget : options.fast;
  if (text.empty() && configuration.plan)
    for (const auto& part : configuration.plan->budget) text += (text.empty() ? "" : ",") + part;
  if (text.empty() && !configuration.plan && !ignores_budget && slurm)
    text = slurm->find_budget(machine, sentences);
  if (!text.empty())
    text = with_option_name(options.fast.empty() ? "--budget" : "--fast",
                            [&] { return machine::format_budget(text); });
  // Without a budget, and for planners that ignore it, the budget is each place's capacity. Places that compute
  // (PIM) get one only under a plan, which states what is to be there.
  if (text.empty() && configuration.plan)
    for (const auto& place : machine.places()) configuration.budget.push_back(place.capacity);
  else if (text.empty() || (!configuration.plan && ignores_budget))
    configuration.budget = machine::whole_budget(machine);
  else
    configuration.budget = machine::parse_budget(machine, text);
  if (!configuration.plan || (options.fast.empty() && options.budget.empty())) return;
  const auto is_too_large = [&](const auto& one) { return exceeds(one.second, machine, configuration.budget); };
  if (exceeds(*configuration.plan, machine, configuration.budget) ||
      std::ranges::any_of(configuration.rank_plans, is_too_large))
    sentences.push_back(
        fmt::format("--plan {} was made for more than this budget ({}): what does not fit stays where it is",
                    options.plan, text));
}

void limit_budget(runtime::SessionConfiguration& configuration, std::vector<std::string>& sentences) {
  const auto limit = machine::SystemFiles().memory_limit();
  if (!limit) return;
  auto within = machine::limit_budget(configuration.machine, configuration.budget, limit->limit);
  if (within == configuration.budget) return;
  configuration.budget = std::move(within);
  if (configuration.budget_text.empty()) return;
  std::string budget;
  for (std::size_t i = 0; i < configuration.budget.size(); ++i)
    budget += (i > 0 ? "," : "") + configuration.machine.places()[i].name + "=" + format(configuration.budget[i]);
  sentences.push_back(fmt::format("the control group lets this job have {} of memory: the budget is {}",
                                  format(limit->limit), budget));
}

}  // namespace terrace::cli
