// `terrace merge`: profiles from journals that a launcher has left behind.
#pragma once

namespace terrace::cli {

// `argv[0]` is the verb. Returns the exit status; throws Error.
int merge_verb(int argc, char** argv);

}  // namespace terrace::cli
