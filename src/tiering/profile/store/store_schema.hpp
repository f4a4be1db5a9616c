// The store's tables. docs/store.md explains each; a test holds the two together.
#pragma once

namespace terrace::profile {

// "TERR": what `file` and PRAGMA application_id call one of our files.
inline constexpr int k_store_application = 0x54455252;

extern const char* const k_store_schema;

}  // namespace terrace::profile
