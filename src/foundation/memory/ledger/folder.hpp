// SPDX-License-Identifier: Apache-2.0
// Locates the folder in which the ledgers of this user's jobs lie, and names the files in it. Launchers create
// ledgers there, and `terrace machine` lists them.
#pragma once

#include <string>
#include <vector>

namespace terrace::memory {

// Returns the candidate folders in order of preference: in $XDG_RUNTIME_DIR, in /dev/shm, in $TMPDIR or /tmp.
std::vector<std::string> ledger_folders();
// Returns the first candidate that exists or can be created, belongs to this user and has mode 0700. Throws
// Error{failed}.
std::string make_ledger_folder();
// Returns the paths of all files named like ledgers, sorted. Only MappedPage checks what they hold.
std::vector<std::string> ledger_paths();

// Returns the path at which this process writes a new ledger before it links it to `path`.
std::string ledger_temporary_path(const std::string& path);
// Removes the temporary files of dead processes.
void remove_stale_temporaries();

// Returns the file name of the ledger of a job; characters outside [A-Za-z0-9._-] become '_'.
std::string ledger_file_name(const std::string& job);

}  // namespace terrace::memory
