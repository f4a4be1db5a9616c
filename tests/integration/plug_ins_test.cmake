# Plug-ins with libraries of their own, some of which define functions that Terrace interposes.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  terrace_test(plug_ins_test SOURCES plug_ins_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 1800 COST 100)
  add_dependencies(plug_ins_test terrace_cli terrace terrace_unfollowed)
  target_compile_definitions(plug_ins_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>")
endif()
