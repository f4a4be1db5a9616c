# Whole programs whose data are placed by an intent.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  find_package(Threads REQUIRED)
  add_executable(by_intent programs/by_intent.c)
  target_link_libraries(by_intent PRIVATE terrace Threads::Threads)
  add_executable(without_call programs/without_call.c)
  terrace_test(intent_test SOURCES intent_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 300)
  add_dependencies(intent_test terrace_cli terrace by_intent without_call)
  target_compile_definitions(intent_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>"
    TERRACE_BY_INTENT="$<TARGET_FILE:by_intent>" TERRACE_WITHOUT_CALL="$<TARGET_FILE:without_call>")
endif()
