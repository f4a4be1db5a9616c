// SPDX-License-Identifier: Apache-2.0
// Declares the SQL schema of the store, for the merge and for checks of a file. docs/reference/store.md explains
// each table; a test compares the two.
#pragma once

namespace terrace::profile {

// "TERR": PRAGMA application_id of a store, also shown by file(1).
inline constexpr int k_store_application = 0x54455252;

extern const char* const k_store_schema;

}  // namespace terrace::profile
