# Targets.cmake - the helper functions with which each source and test folder declares itself.

# compile_together(<target>): with FATUNE_TOGETHER some files of the target are one to the compiler, which reads
# their headers once. Their unnamed namespaces become one, too, so no two files may give a name in them twice.
function(compile_together target)
  if(FATUNE_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# fatune_library(<folder> [HOT] [TOGETHER] SOURCES <files> DEPENDS <folders> LIBRARIES <third-party targets, PRIVATE allowed>)
# makes the static library fatune_<folder>. HOT: much of the time of the tests is spent here, so the dev preset
# optimises it, too. TOGETHER: compile_together.
function(fatune_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "HOT;TOGETHER" "" "SOURCES;DEPENDS;LIBRARIES")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fatune_library(${folder}): unexpected ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND fatune_)
  add_library(fatune_${folder} STATIC ${ARG_SOURCES})
  target_include_directories(fatune_${folder} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(fatune_${folder} PRIVATE fatune_options PUBLIC ${ARG_DEPENDS} ${ARG_LIBRARIES})
  if(ARG_TOGETHER)
    compile_together(fatune_${folder})
  endif()
  if(ARG_HOT)
    target_compile_options(fatune_${folder} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O2>)
  endif()
endfunction()

# fatune_program(<name> SOURCES <files> DEPENDS <folders>) makes an executable in the build folder.
function(fatune_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPENDS")
  list(TRANSFORM ARG_DEPENDS PREPEND fatune_)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fatune_options ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# fatune_test(<folder> [TOGETHER] SOURCES <files> [LABEL <label>] [DEPENDS <folders>] [LIBRARIES <targets>])
# makes the Catch2 program test_<folder> and registers each of its test cases under the label
# (unit unless told). It links the folder of the same name, or those of DEPENDS. Without sources there
# is no program.
function(fatune_test folder)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "TOGETHER" "LABEL" "SOURCES;DEPENDS;LIBRARIES")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fatune_test(${folder}): unexpected ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_DEPENDS)
    set(ARG_DEPENDS ${folder})
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND fatune_)
  add_executable(test_${folder} ${ARG_SOURCES})
  target_link_libraries(test_${folder} PRIVATE
    fatune_options fatune_test_support ${ARG_DEPENDS} ${ARG_LIBRARIES} Catch2::Catch2WithMain)
  if(ARG_TOGETHER)
    compile_together(test_${folder})
  endif()
  catch_discover_tests(test_${folder}
    TEST_PREFIX "${folder}: " PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300)
endfunction()
