// Data by intent, as --intent asks for it.
#pragma once

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// By intent nobody plans, and what is small stays where the kernel puts it until there is much of it. Does nothing
// without --intent. Throws Error{invalid} for an intent or a machine that cannot be had here.
void configure_intent(const LaunchOptions& options, runtime::Session& session);

}  // namespace terrace::cli
