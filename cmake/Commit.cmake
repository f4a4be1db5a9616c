# Run by each build: writes the commit that is built into OUTPUT, and touches the file only when it changes.
# A tree without git (a release's archive) has none, unless COMMIT names it; `+` says that files were changed.
set(commit "${COMMIT}")
find_package(Git QUIET)
if(NOT commit AND Git_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty=+
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define TERRACE_COMMIT \"${commit}\"\n")
