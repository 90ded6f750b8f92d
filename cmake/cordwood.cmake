# Compile settings shared by every target, and the two functions with which each folder declares itself.

add_library(cordwood_settings INTERFACE)
target_compile_options(cordwood_settings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
                       -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The headers of libstdc++ 12 use what they call deprecated (std::stable_sort does), and clang says so.
  target_compile_options(cordwood_settings INTERFACE -Wthread-safety -Wno-gnu-statement-expression
                         -Wno-deprecated-declarations)
else()
  # g++ 12.2 reports these inside libstdc++ for code that is sound.
  target_compile_options(cordwood_settings INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                         -Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-stringop-overread)
endif()
target_include_directories(cordwood_settings INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(CORDWOOD_SANITIZE)
  target_compile_options(cordwood_settings INTERFACE -fsanitize=${CORDWOOD_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(cordwood_settings INTERFACE -fsanitize=${CORDWOOD_SANITIZE})
endif()
find_program(CORDWOOD_MOLD mold)
if(CORDWOOD_MOLD)
  target_link_options(cordwood_settings INTERFACE -fuse-ld=mold)
endif()

# cordwood_library(<folder> DEPS <targets...>): library cordwood_<folder> from every .cc under the current folder, and
# test program <folder>_test from every x_test.cc beside them. Sources are found by globbing, so that a new file needs
# no edit here; helpers for tests alone are named *_testing.{h,cc} and go into the test program.
function(cordwood_library folder)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS *.cc)
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_(test|testing)\\.cc$")
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "_(test|testing)\\.cc$")
  if(sources)
    add_library(cordwood_${folder} STATIC ${sources})
    target_link_libraries(cordwood_${folder} PUBLIC cordwood_settings ${ARG_DEPS})
    set_target_properties(cordwood_${folder} PROPERTIES UNITY_BUILD ${CORDWOOD_UNITY} UNITY_BUILD_BATCH_SIZE 6)
  else()
    add_library(cordwood_${folder} INTERFACE)
    target_link_libraries(cordwood_${folder} INTERFACE cordwood_settings ${ARG_DEPS})
  endif()
  if(CORDWOOD_TESTS AND tests)
    cordwood_test(${folder}_test SOURCES ${tests} DEPS cordwood_${folder} ${ARG_TEST_DEPS})
  endif()
endfunction()

# cordwood_test(<name> SOURCES ... DEPS ... [LABELS ...] [TIMEOUT seconds]): a GoogleTest program, one ctest entry per case.
function(cordwood_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)  # a guard against hanging on any machine, not a measure of speed
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS quick)
  endif()
  if(CORDWOOD_SANITIZE MATCHES "thread")
    # ./dev test builds one program there (tests/threads) and runs it; what was not built has no label.
    set(ARG_LABELS threads)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE cordwood_settings ${ARG_DEPS} cordwood_source_path GTest::gtest GTest::gmock GTest::gtest_main)
  if(CORDWOOD_SANITIZE)
    # The sanitizers' checks make optimising the long bodies of tests the dearest part of a build, and gain nothing.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
