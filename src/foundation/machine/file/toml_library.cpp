// SPDX-License-Identifier: Apache-2.0
// Compiles the TOML library once; the other files of this module see only its declarations.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
