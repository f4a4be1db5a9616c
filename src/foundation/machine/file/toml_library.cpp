// SPDX-License-Identifier: Apache-2.0
// Compiles the TOML library once; the other files of this module see only its declarations.
#include <toml++/toml.h>
