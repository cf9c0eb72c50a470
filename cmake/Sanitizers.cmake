# Sanitizers.cmake - adds the sanitizers of FATUNE_SANITIZE (say "address;undefined") to fatune_options.

foreach(sanitizer IN LISTS FATUNE_SANITIZE)
  target_compile_options(fatune_options INTERFACE -fsanitize=${sanitizer})
  target_link_options(fatune_options INTERFACE -fsanitize=${sanitizer})
endforeach()
if(FATUNE_SANITIZE)
  target_compile_options(fatune_options INTERFACE -fno-omit-frame-pointer -fno-sanitize-recover=all)
endif()

# g++ 12 sees uninitialised members of std::variant where its own sanitizer instrumentation hides the checks.
if(FATUNE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(fatune_options INTERFACE -Wno-maybe-uninitialized)
endif()
