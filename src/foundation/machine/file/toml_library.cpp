// Compiles the TOML library once; the other files of this module see only its declarations.
#include <toml++/toml.h>
