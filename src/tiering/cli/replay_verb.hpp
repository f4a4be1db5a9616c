// `terrace replay`: what simulate would say of a program, from a recording of its misses.
#pragma once

namespace terrace::cli {

// `argv[0]` is the verb. Returns the exit status; throws Error.
int replay_verb(int argc, char** argv);

}  // namespace terrace::cli
