# Programs that allocate by intent through one of the front doors for C++ and Fortran.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  find_package(Threads REQUIRED)
  # As others would: with the public headers alone, and nothing of Terrace linked.
  add_executable(containers programs/containers.cpp)
  target_include_directories(containers PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(containers PRIVATE Threads::Threads)
  set_target_properties(containers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_options(containers PRIVATE -no-pie)
  terrace_test(front_doors_test SOURCES front_doors_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 300)
  add_dependencies(front_doors_test terrace_cli terrace containers)
  target_compile_definitions(front_doors_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>"
    TERRACE_CONTAINERS="$<TARGET_FILE:containers>")
endif()
