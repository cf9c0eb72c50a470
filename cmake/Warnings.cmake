# Warnings.cmake - adds the project's warning flags to fatune_options, as errors if FATUNE_WERROR.

target_compile_options(fatune_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor)
if(FATUNE_WERROR)
  target_compile_options(fatune_options INTERFACE -Werror)
endif()

# g++ 12 warns of impossible overlaps and reads inside std::string and its comparisons (GCC bugs 105651 and 105329)
# when it optimises.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(fatune_options INTERFACE -Wno-restrict -Wno-stringop-overread)
endif()

# A type of an unnamed namespace as a member is safe in a source file, but g++ takes it for a header's when the file is
# one of several that are compiled together.
if(FATUNE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(fatune_options INTERFACE -Wno-subobject-linkage)
endif()
