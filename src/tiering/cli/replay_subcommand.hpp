// `terrace replay`: what simulate would say of a program, from a recording of its misses.
#pragma once

namespace terrace::cli {

// `argv[0]` is the subcommand. Returns the exit status; throws Error.
int run_replay(int argc, char** argv);

}  // namespace terrace::cli
