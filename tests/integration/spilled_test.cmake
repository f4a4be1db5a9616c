# Whole programs that have more data than memory.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  find_package(Threads REQUIRED)
  add_executable(large_data programs/large_data.c)
  target_link_libraries(large_data PRIVATE Threads::Threads)
  terrace_test(spilled_test SOURCES spilled_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 300)
  add_dependencies(spilled_test terrace_cli terrace large_data)
  target_compile_definitions(spilled_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>"
    TERRACE_LARGE_DATA="$<TARGET_FILE:large_data>")
endif()
