# How every Recur unit test is declared.
find_package(GTest REQUIRED)

# A ctest entry of many tests leaves its counts here, in a file named after it; tools/test adds them up.
set(RECUR_TEST_RESULTS ${PROJECT_BINARY_DIR}/test-results)
file(MAKE_DIRECTORY ${RECUR_TEST_RESULTS})

# Nothing is timed: the limit is there for what hangs, on machines that do ten other things.
set(RECUR_TEST_TIMEOUT 3600 CACHE STRING "Seconds after which ctest gives up on an entry")

# The sources of tests are compiled without optimisation, which takes half the time; what they test is as the build type has it.
set(RECUR_TEST_OPTIONS -O0)
recur_precompiled(RecurPrecompiledTests ${PROJECT_SOURCE_DIR}/cmake/precompiledTests.h OPTIONS ${RECUR_TEST_OPTIONS} LINK GTest::gmock)

# recur_unit_test(NAME source... [LINK library...] [SHARDS n] [OPTIMIZED]): one GoogleTest executable, linked with gmock and a main,
# and one ctest entry `unit-NAME`, or n of them with a part of the tests each, so that none takes longer than two minutes on two
# idle cores. RECUR_SOURCE_DIR is defined as the repository's root, where examples/ and test/golden are. OPTIMIZED is for sources
# with much to compute themselves, as where what they test is in headers.
function(recur_unit_test name)
  cmake_parse_arguments(ARG "NO_PCH;OPTIMIZED" "SHARDS" "LINK" ${ARGN})
  set(options "")
  if(ARG_NO_PCH)
    set(options NO_PCH)
  elseif(NOT ARG_OPTIMIZED)
    set(RECUR_PRECOMPILED RecurPrecompiledTests)
  endif()
  recur_tool(${name} ${ARG_UNPARSED_ARGUMENTS} LINK ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main ${options})
  if(NOT ARG_NO_PCH AND NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE ${RECUR_TEST_OPTIONS})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  set_source_files_properties(${ARG_UNPARSED_ARGUMENTS} PROPERTIES
                              COMPILE_DEFINITIONS "RECUR_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(entry unit-${name})
    if(last)
      math(EXPR number "${shard} + 1")
      string(APPEND entry -${number})
    endif()
    add_test(NAME ${entry} COMMAND ${name} --gtest_brief=1 --gtest_output=xml:${RECUR_TEST_RESULTS}/${entry}.xml
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # Those that take long are in several entries, which begin first.
    set_tests_properties(${entry} PROPERTIES COST ${ARG_SHARDS} TIMEOUT ${RECUR_TEST_TIMEOUT}
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY RECUR_UNIT_TESTS ${name})
endfunction()
