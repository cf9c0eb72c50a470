# Warnings.cmake - adds the project's warning flags to fatune_options, as errors if FATUNE_WERROR.

target_compile_options(fatune_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor)
if(FATUNE_WERROR)
  target_compile_options(fatune_options INTERFACE -Werror)
endif()

# g++ 12 warns of an impossible overlap inside std::string's operator+ (GCC bug 105651) when it optimises.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(fatune_options INTERFACE -Wno-restrict)
endif()
