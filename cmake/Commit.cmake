# SPDX-License-Identifier: Apache-2.0
# Writes the commit that is built into OUTPUT, in each build; leaves the file untouched if it is unchanged. A tree
# without git (a release's archive) has no commit unless COMMIT names it; `+` marks changed files.
set(commit "${COMMIT}")
find_package(Git QUIET)
if(NOT commit AND Git_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty=+
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define TERRACE_COMMIT \"${commit}\"\n")
