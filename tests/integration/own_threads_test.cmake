# Terrace's own threads in a process, and how the process ends.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  find_package(Threads REQUIRED)
  add_executable(own_threads programs/own_threads.c)
  add_executable(main_leaves programs/main_leaves.c)
  target_link_libraries(main_leaves PRIVATE Threads::Threads)
  add_library(early_library MODULE programs/early_library.c)
  target_link_libraries(own_threads PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  terrace_test(own_threads_test SOURCES own_threads_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900 COST 100)
  add_dependencies(own_threads_test terrace_cli terrace own_threads early_library main_leaves)
  target_compile_definitions(own_threads_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>"
    TERRACE_MAIN_LEAVES="$<TARGET_FILE:main_leaves>"
    TERRACE_EARLY_LIBRARY="$<TARGET_FILE:early_library>" TERRACE_OWN_THREADS="$<TARGET_FILE:own_threads>")
endif()
