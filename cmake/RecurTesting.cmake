# How every Recur unit test is declared.
find_package(GTest REQUIRED)

# A ctest entry of many tests leaves its counts here, in a file named after it; tools/test adds them up.
set(RECUR_TEST_RESULTS ${PROJECT_BINARY_DIR}/test-results)
file(MAKE_DIRECTORY ${RECUR_TEST_RESULTS})

# recur_unit_test(NAME source... [LINK library...]): one GoogleTest executable, linked with gmock and a main, and one ctest
# entry `unit-NAME`. RECUR_SOURCE_DIR is defined as the repository's root, where examples/ and test/golden are.
function(recur_unit_test name)
  cmake_parse_arguments(ARG "NO_PCH" "" "LINK" ${ARGN})
  set(options "")
  if(ARG_NO_PCH)
    set(options NO_PCH)
  endif()
  recur_tool(${name} ${ARG_UNPARSED_ARGUMENTS} LINK ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main ${options})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  set_source_files_properties(${ARG_UNPARSED_ARGUMENTS} PROPERTIES
                              COMPILE_DEFINITIONS "RECUR_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  add_test(NAME unit-${name} COMMAND ${name} --gtest_brief=1 --gtest_output=xml:${RECUR_TEST_RESULTS}/unit-${name}.xml
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(unit-${name} PROPERTIES TIMEOUT 900)
  set_property(GLOBAL APPEND PROPERTY RECUR_UNIT_TESTS ${name})
endfunction()
