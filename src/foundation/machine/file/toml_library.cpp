// The TOML library, compiled once; the other files of this room see its declarations alone.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
