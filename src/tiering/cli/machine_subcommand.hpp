// `terrace machine`: show a machine and its orderings, measure this one, check what it lets Terrace do.
#pragma once

namespace terrace::cli {

// `argv[0]` is the subcommand. Returns the exit status; throws Error.
int run_machine(int argc, char** argv);

}  // namespace terrace::cli
