# A job's ledger under `terrace run`: creation, display and removal by the launcher.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  terrace_test(job_ledger_test SOURCES ledger_test.cpp LABELS integration TIMEOUT 900)
  add_dependencies(job_ledger_test terrace_cli terrace)
  target_compile_definitions(job_ledger_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>")
endif()
