# cordwood_schema(<folder> PREFIX <include path> NAMESPACE <C++ namespace> NAME <what one is called> UNITS <n>
#                 SCHEMAS <files...>)
#
# Compiles .schema files (docs/formats/schema_language.md) into library cordwood_<folder>: one header a file under
# <build>/generated/<PREFIX>/, all functions in UNITS translation units. random_<NAME>s_testing.cc, which fills them with
# random contents, becomes library cordwood_<folder>_<NAME>_testing; link it to the tests that want it.

set(CORDWOOD_SCHEMA_COMPILER schema_compiler.py schema_language.py schema_cpp.py schema_cpp_testing.py)
find_package(Python3 COMPONENTS Interpreter REQUIRED)

function(cordwood_schema folder)
  cmake_parse_arguments(ARG "" "PREFIX;NAMESPACE;NAME;UNITS" "SCHEMAS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/generated)
  set(out ${root}/${ARG_PREFIX})
  set(headers ${out}/every_${ARG_NAME}.h)
  foreach(schema IN LISTS ARG_SCHEMAS)
    cmake_path(GET schema STEM stem)
    string(REGEX REPLACE "^[0-9]+_" "" stem ${stem})
    list(APPEND headers ${out}/${stem}.h)
  endforeach()
  set(units "")
  math(EXPR last "${ARG_UNITS} - 1")
  foreach(i RANGE ${last})
    list(APPEND units ${out}/${ARG_NAME}s_${i}.cc)
  endforeach()
  list(TRANSFORM CORDWOOD_SCHEMA_COMPILER PREPEND ${CMAKE_SOURCE_DIR}/tools/ OUTPUT_VARIABLE compiler)
  set(testing ${out}/random_${ARG_NAME}s_testing)
  add_custom_command(
    OUTPUT ${headers} ${units} ${testing}.h ${testing}.cc
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/schema_compiler.py --out ${root} --prefix ${ARG_PREFIX}
            --namespace ${ARG_NAMESPACE} --name ${ARG_NAME} --units ${ARG_UNITS} ${ARG_SCHEMAS}
    DEPENDS ${ARG_SCHEMAS} ${compiler}
    COMMENT "Compiling the schemas of ${ARG_PREFIX}"
    VERBATIM)
  # They are as large as a unit should be.
  set_source_files_properties(${units} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(cordwood_${folder} PRIVATE ${units} ${headers})
  # generated_sources: all of them and nothing compiled, for lint.
  add_custom_target(${folder}_${ARG_NAME}_sources DEPENDS ${headers} ${units})
  if(NOT TARGET generated_sources)
    add_custom_target(generated_sources)
  endif()
  add_dependencies(generated_sources ${folder}_${ARG_NAME}_sources)
  target_include_directories(cordwood_${folder} PUBLIC ${root})
  if(CORDWOOD_TESTS)
    add_library(cordwood_${folder}_${ARG_NAME}_testing STATIC ${testing}.cc ${testing}.h)
    target_link_libraries(cordwood_${folder}_${ARG_NAME}_testing PUBLIC cordwood_${folder})
  endif()
endfunction()
