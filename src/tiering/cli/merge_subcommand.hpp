// `terrace merge`: profiles from journals that a launcher has left behind.
#pragma once

namespace terrace::cli {

// `argv[0]` is the subcommand. Returns the exit status; throws Error.
int run_merge(int argc, char** argv);

}  // namespace terrace::cli
