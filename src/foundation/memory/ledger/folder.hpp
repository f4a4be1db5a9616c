// Where the ledgers of this user's jobs on this node are.
#pragma once

#include <string>
#include <vector>

namespace terrace::memory {

// Folders that ledgers may be in, the first that serves first: of the login session, of this user in shared
// memory, of this user among temporary files.
std::vector<std::string> ledger_folders();
// The first that exists or can be made, is this user's, and lets nobody else in. Throws Error{failed}.
std::string make_ledger_folder();
// Paths of the files there; whether each is a ledger shows when it is opened.
std::vector<std::string> ledger_paths();

// Where this process writes a ledger before it has its place.
std::string ledger_part_name(const std::string& path);
// Those of processes that died meanwhile.
void remove_left_parts();

// A job's name as part of a file's.
std::string ledger_file_name(const std::string& job);

}  // namespace terrace::memory
