# Targets.cmake - the helper functions with which wings and tests declare themselves.

# fatune_target_name(<variable> <wing>): worker/protocol is the library fatune_worker_protocol.
function(fatune_target_name variable wing)
  string(REPLACE "/" "_" name ${wing})
  set(${variable} fatune_${name} PARENT_SCOPE)
endfunction()

# fatune_wing(<wing> [HOT] [SOURCES <files>] [RUNTIME <files>] LIBRARIES <third-party targets, PRIVATE allowed>)
# makes the static library of a line of src/layers.txt, linked to the wings that the line names. RUNTIME: sources that
# libfatune_rt is made of, too; compiled once for both. HOT: see fatune_hot_flags.
function(fatune_wing wing)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "HOT" "" "SOURCES;RUNTIME;LIBRARIES")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fatune_wing(${wing}): unexpected ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  fatune_target_name(target ${wing})
  set(depends "")
  foreach(each IN LISTS fatune_wing_depends)
    fatune_target_name(library ${each})
    list(APPEND depends ${library})
  endforeach()
  add_library(${target} STATIC ${ARG_SOURCES})
  if(ARG_RUNTIME)
    fatune_runtime_objects(${target}_runtime SOURCES ${ARG_RUNTIME})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_runtime>)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE fatune_options PUBLIC ${depends} ${ARG_LIBRARIES})
  if(ARG_HOT)
    target_compile_options(${target} PRIVATE ${fatune_hot_flags})
    fatune_build_quickly(${target} fatune_precompiled_hot)
  else()
    fatune_build_quickly(${target} fatune_precompiled)
  endif()
endfunction()

# fatune_runtime_objects(<target> SOURCES <files>) compiles objects that libfatune_rt is made of: position independent, with hidden
# symbols, and with fmt's headers instead of its library.
function(fatune_runtime_objects target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES")
  add_library(${target} OBJECT ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE
    fatune_options fatune::cuda_headers nlohmann_json::nlohmann_json fmt::fmt-header-only OpenSSL::Crypto ZLIB::ZLIB)
  fatune_runtime_flags(${target})
  fatune_build_quickly(${target} fatune_precompiled_runtime)
endfunction()
function(fatune_runtime_flags target)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE ${fatune_hot_flags})
endfunction()

# fatune_build_quickly(<target> <headers>): with FATUNE_UNITY the target's files are compiled several at a time, behind
# the headers that library <headers> has precompiled with the same flags.
function(fatune_build_quickly target headers)
  if(FATUNE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${FATUNE_UNITY_BATCH})
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

# fatune_precompile(<name> <header> LIBRARIES <targets>) makes <name> for fatune_build_quickly.
function(fatune_precompile name header)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "LIBRARIES")
  if(FATUNE_UNITY)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "// Only for the precompiled header.\n")
    add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
    target_link_libraries(${name} PRIVATE fatune_options ${ARG_LIBRARIES})
    target_precompile_headers(${name} PRIVATE ${header})
  endif()
endfunction()

# A level more for the wings in which tests and searches spend their time; the others wait for a compiler, a GPU or a reader.
set(fatune_hot_flags $<$<CONFIG:Dev>:-O1> $<$<CONFIG:Release>:-O2>)
fatune_precompile(fatune_precompiled ${CMAKE_CURRENT_LIST_DIR}/precompiled.hpp
  LIBRARIES fatune::fmt nlohmann_json::nlohmann_json)
fatune_precompile(fatune_precompiled_hot ${CMAKE_CURRENT_LIST_DIR}/precompiled.hpp
  LIBRARIES fatune::fmt nlohmann_json::nlohmann_json)
fatune_precompile(fatune_precompiled_runtime ${CMAKE_CURRENT_LIST_DIR}/precompiled.hpp
  LIBRARIES fmt::fmt-header-only nlohmann_json::nlohmann_json)
if(FATUNE_UNITY)
  target_compile_options(fatune_precompiled_hot PRIVATE ${fatune_hot_flags})
  fatune_runtime_flags(fatune_precompiled_runtime)
endif()

# fatune_program(<name> SOURCES <files> DEPENDS <wings> LIBRARIES <targets>) makes an executable in the build folder.
function(fatune_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPENDS;LIBRARIES")
  list(TRANSFORM ARG_DEPENDS PREPEND fatune_)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fatune_options ${ARG_DEPENDS} ${ARG_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# fatune_test(<wing> [STARTS_WORKERS] SOURCES <files> [ALONE <files>] [DEPENDS <wings>] [LIBRARIES <targets>]) makes the
# Catch2 program test_<wing>, linked to the wing or to those of DEPENDS, and registers each of its cases under the
# label unit. STARTS_WORKERS: the program is also the compile worker that its pools start. ALONE: sources that are never
# compiled together with others, because they give a name in their unnamed namespace that another file gives, too.
function(fatune_test wing)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "STARTS_WORKERS" "" "SOURCES;ALONE;DEPENDS;LIBRARIES")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fatune_test(${wing}): unexpected ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_DEPENDS)
    set(ARG_DEPENDS ${wing})
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND fatune_)
  add_executable(test_${wing} ${ARG_SOURCES} ${ARG_ALONE})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(main $<IF:$<BOOL:${ARG_STARTS_WORKERS}>,fatune_test_worker_main,Catch2::Catch2WithMain>)
  target_link_libraries(test_${wing} PRIVATE
    fatune_options fatune_test_support ${main} ${ARG_DEPENDS} ${ARG_LIBRARIES})
  fatune_build_quickly(test_${wing} fatune_test_precompiled)
  catch_discover_tests(test_${wing}
    TEST_PREFIX "${wing}: " PROPERTIES LABELS unit TIMEOUT 600)
endfunction()
