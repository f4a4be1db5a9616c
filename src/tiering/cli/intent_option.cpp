// SPDX-License-Identifier: Apache-2.0
// Checks the intent against the machine, and sets the session. See intent_option.hpp.
#include "cli/intent_option.hpp"

#include <fmt/format.h>

#include <string>

#include "core/error.hpp"
#include "machine/ordering.hpp"

namespace terrace::cli {

void configure_intent(const LaunchOptions& options, runtime::Session& session) {
  session.intent = {options.intent, options.watermark, options.eager};
  if (!session.intent.is_wanted()) return;
  auto& configuration = session.configurations.front();
  const auto& machine = configuration.machine;
  try {
    machine::rank_places(machine, machine.domains()[configuration.domain].initiator, options.intent);
  } catch (const Error& error) {
    throw Error(Code::invalid, fmt::format("--intent {}: {}", options.intent, error.what()));
  }
  configuration.record_only = true;
  session.hooks = false;
  session.big_block = Bytes{~std::uint64_t{0}};
}

}  // namespace terrace::cli
