# A job's ledger while `terrace run` runs it: what the launcher makes, shows and removes.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  terrace_test(job_ledger_test SOURCES ledger_test.cpp LABELS integration TIMEOUT 900)
  add_dependencies(job_ledger_test terrace_cli terrace)
  target_compile_definitions(job_ledger_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>")
endif()
