# Dependencies.cmake - finds each third-party library, or fetches it; code links to fatune::<name>.
#
# Found first: the packages of Debian 12 and Ubuntu 24.04 (tools/bootstrap.sh installs them), the
# oldest versions being CLI11 2.1.2, nlohmann_json 3.11.2, spdlog 1.10 with fmt 9.1, Eigen 3.4.
# Fetched second: release archives, pinned by their SHA-256.

include(FetchContent)
set(FETCHCONTENT_TRY_FIND_PACKAGE_MODE OPT_IN)
# Packages that bootstrap unpacks inside the project: Catch2 3 on Debian 12.
list(APPEND CMAKE_PREFIX_PATH ${PROJECT_SOURCE_DIR}/.deps/catch2/usr)

# After a disconnected configure a target is missing without a word; this says it.
function(fatune_require_target target package)
  if(NOT TARGET ${target})
    message(FATAL_ERROR
      "${package} was neither found nor fetched. Run tools/bootstrap.sh build (tests: "
      "tools/bootstrap.sh test), which installs what the build needs.")
  endif()
endfunction()

FetchContent_Declare(CLI11 SYSTEM
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  URL_HASH SHA256=f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a
  FIND_PACKAGE_ARGS 2.1 CONFIG)
FetchContent_Declare(nlohmann_json SYSTEM
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
  FIND_PACKAGE_ARGS 3.11 CONFIG)
FetchContent_Declare(fmt SYSTEM
  URL https://github.com/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz
  URL_HASH SHA256=5dea48d1fcddc3ec571ce2058e13910a0d4a6bab4cc09a809d8b1dd1c88ae6f2
  FIND_PACKAGE_ARGS 9 CONFIG)
FetchContent_Declare(spdlog SYSTEM
  URL https://github.com/gabime/spdlog/archive/refs/tags/v1.11.0.tar.gz
  URL_HASH SHA256=ca5cae8d6cac15dae0ec63b21d6ad3530070650f68076f3a4a862ca293a858bb
  FIND_PACKAGE_ARGS 1.10 CONFIG)
set(SPDLOG_FMT_EXTERNAL ON)
FetchContent_MakeAvailable(CLI11 nlohmann_json fmt spdlog)
fatune_require_target(CLI11::CLI11 "CLI11 2.1 or newer")
fatune_require_target(nlohmann_json::nlohmann_json "nlohmann_json 3.11 or newer")
# An enum is written by its name: without this definition it would become a number, unseen.
target_compile_definitions(fatune_options INTERFACE JSON_DISABLE_ENUM_SERIALIZATION=1)
fatune_require_target(spdlog::spdlog "spdlog 1.10 or newer")
fatune_require_target(fmt::fmt "fmt 9 or newer")

# Debian ships fmt and spdlog as shared libraries and as headers: portable takes the headers.
add_library(fatune_fmt INTERFACE)
add_library(fatune::fmt ALIAS fatune_fmt)
add_library(fatune_spdlog INTERFACE)
add_library(fatune::spdlog ALIAS fatune_spdlog)
if(FATUNE_PORTABLE)
  set(OPENSSL_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  target_link_libraries(fatune_fmt INTERFACE fmt::fmt-header-only)
  target_compile_definitions(fatune_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
  get_target_property(spdlog_include spdlog::spdlog INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(fatune_spdlog SYSTEM INTERFACE ${spdlog_include})
  target_link_libraries(fatune_spdlog INTERFACE fmt::fmt-header-only)
  # libgcc_s comes with every glibc; the static one of g++ 12 and newer asks for glibc 2.35.
  target_link_options(fatune_options INTERFACE -static-libstdc++ -s)
  set(type $<TARGET_PROPERTY:TYPE>)
  target_sources(fatune_options INTERFACE
    $<$<OR:$<STREQUAL:${type},EXECUTABLE>,$<STREQUAL:${type},SHARED_LIBRARY>>:${PROJECT_SOURCE_DIR}/cmake/portable/arc4random.cpp>)
else()
  target_link_libraries(fatune_fmt INTERFACE fmt::fmt)
  target_link_libraries(fatune_spdlog INTERFACE spdlog::spdlog)
endif()

# Eigen is headers alone: the archive's own project, with its tests, stays out of the build.
FetchContent_Declare(Eigen3 SYSTEM
  URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
  URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72
  SOURCE_SUBDIR cmake
  FIND_PACKAGE_ARGS 3.4 CONFIG)
FetchContent_MakeAvailable(Eigen3)
add_library(fatune_eigen INTERFACE)
add_library(fatune::eigen ALIAS fatune_eigen)
if(TARGET Eigen3::Eigen)
  target_link_libraries(fatune_eigen INTERFACE Eigen3::Eigen)
elseif(EXISTS "${eigen3_SOURCE_DIR}/Eigen/Dense")
  target_include_directories(fatune_eigen SYSTEM INTERFACE ${eigen3_SOURCE_DIR})
else()
  fatune_require_target(Eigen3::Eigen "Eigen 3.4 or newer")
endif()

# Distributions ship these without a CMake package, or with one of the shared library alone; all have a static one.
function(fatune_find_library name header package)
  string(TOUPPER ${name} prefix)
  find_path(FATUNE_${prefix}_INCLUDE ${header})
  if(FATUNE_PORTABLE)
    find_library(FATUNE_${prefix}_LIBRARY lib${name}.a)
  else()
    find_library(FATUNE_${prefix}_LIBRARY ${name})
  endif()
  if(FATUNE_${prefix}_INCLUDE AND FATUNE_${prefix}_LIBRARY)
    add_library(fatune::${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(fatune::${name} SYSTEM INTERFACE ${FATUNE_${prefix}_INCLUDE})
    target_link_libraries(fatune::${name} INTERFACE ${FATUNE_${prefix}_LIBRARY})
  endif()
  fatune_require_target(fatune::${name} "${package}")
endfunction()
# Confines worker processes.
fatune_find_library(seccomp seccomp.h "libseccomp (libseccomp-dev)")

find_package(OpenSSL 3.0 COMPONENTS Crypto)
fatune_require_target(OpenSSL::Crypto "OpenSSL's libcrypto 3.0 or newer")
find_package(ZLIB 1.2)
fatune_require_target(ZLIB::ZLIB "zlib 1.2 or newer")
find_package(Threads REQUIRED)

if(FATUNE_TESTS)
  # cpp-httplib is the client that asks the live page in tests. Distributions ship it as a library with
  # a pkg-config file that says how it was built.
  find_package(PkgConfig)
  if(PkgConfig_FOUND)
    pkg_check_modules(CPP_HTTPLIB IMPORTED_TARGET cpp-httplib>=0.11)
  endif()
  add_library(fatune_httplib INTERFACE)
  add_library(fatune::httplib ALIAS fatune_httplib)
  if(TARGET PkgConfig::CPP_HTTPLIB)
    target_link_libraries(fatune_httplib INTERFACE PkgConfig::CPP_HTTPLIB)
  else()
    FetchContent_Declare(httplib SYSTEM
      URL https://github.com/yhirose/cpp-httplib/archive/v0.14.3.tar.gz
      URL_HASH SHA256=dcf6486d9030937636d8a4f820ca9531808fd7edb283893dddbaa05f99357e63
      SOURCE_SUBDIR header_alone)
    FetchContent_MakeAvailable(httplib)
    if(NOT EXISTS "${httplib_SOURCE_DIR}/httplib.h")
      fatune_require_target(httplib::httplib "cpp-httplib 0.11 or newer")
    endif()
    target_include_directories(fatune_httplib SYSTEM INTERFACE ${httplib_SOURCE_DIR})
  endif()
  target_link_libraries(fatune_httplib INTERFACE Threads::Threads)

  FetchContent_Declare(Catch2 SYSTEM
    URL https://github.com/catchorg/Catch2/archive/refs/tags/v3.4.0.tar.gz
    URL_HASH SHA256=122928b814b75717316c71af69bd2b43387643ba076a6ec16e7882bfb2dfacbb
    FIND_PACKAGE_ARGS 3 CONFIG)
  FetchContent_MakeAvailable(Catch2)
  fatune_require_target(Catch2::Catch2WithMain "Catch2 3")
  list(APPEND CMAKE_MODULE_PATH ${Catch2_SOURCE_DIR}/extras)
endif()
