# Packages.cmake - the installed files to packages: one of Debian, and an archive that runs from any folder.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fatune)
set(CPACK_PACKAGE_CONTACT "The fatune authors <fatune@users.noreply.github.com>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/contents.cmake)

# ---- archive: `cmake --workflow --preset archive` ----------------------------------------------

string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_PACKAGE_FILE_NAME fatune-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})

# ---- Debian package: `cmake --workflow --preset deb` -------------------------------------------

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(debian_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
file(STRINGS packaging/changelog changelog_lines)
list(GET changelog_lines 0 latest_change)
if(NOT latest_change MATCHES "^fatune \\(${debian_version}\\) ")
  message(FATAL_ERROR "packaging/changelog begins with '${latest_change}', not with ${debian_version}")
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Owners, compression and places that Debian's policy asks for.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian_layout.cmake)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME fatune)
# NVRTC is opened at run time: from a CUDA toolkit, or from pip by the line that doctor prints.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3-pip")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "nvidia-driver, nvidia-cuda-toolkit, python3-venv")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"autotuner for attention kernels on NVIDIA GPUs
fatune finds, proves and records the fastest attention kernel for a shape
and a GPU. It compiles variants of CUDA kernel templates with NVRTC, checks
each against a reference, times them beside cuDNN and PyTorch, and writes
the best configuration as JSON.
.
The driver and NVRTC are opened at run time: `fatune doctor' says what is
missing and how to install it. Without a GPU, recorded data can be replayed.")

include(CPack)
