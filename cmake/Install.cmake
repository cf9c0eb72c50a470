# Install.cmake - what `cmake --install` puts where, and the packages that CPack makes of it.
#
# Each section has a component; a component becomes a Debian package of its own.

include(GNUInstallDirs)

# ---- program: fatune, its manual pages, completions and documents ------------------------------

# Written by the program itself, from the definitions that its --help prints.
set(manual_folder ${PROJECT_BINARY_DIR}/manual)
add_custom_command(
  OUTPUT ${manual_folder}/written
  COMMAND fatune man --out ${manual_folder}/man1
  COMMAND fatune completions bash --out ${manual_folder}/completions/fatune
  COMMAND fatune completions zsh --out ${manual_folder}/completions/_fatune
  COMMAND fatune completions fish --out ${manual_folder}/completions/fatune.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${manual_folder}/written
  DEPENDS fatune
  COMMENT "Writing manual pages and completions"
  VERBATIM)
add_custom_target(fatune_pages ALL DEPENDS ${manual_folder}/written)

install(TARGETS fatune RUNTIME COMPONENT program)
install(DIRECTORY ${manual_folder}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
foreach(shell IN ITEMS
    bash-completion/completions/fatune zsh/site-functions/_fatune
    fish/vendor_completions.d/fatune.fish)
  cmake_path(GET shell FILENAME file)
  cmake_path(GET shell PARENT_PATH folder)
  install(FILES ${manual_folder}/completions/${file}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT program)
endforeach()
if(TARGET fatune_mpi)
  install(TARGETS fatune_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/fatune COMPONENT mpi)
  install(FILES packaging/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fatune-mpi COMPONENT mpi)
endif()
install(DIRECTORY kernels configs
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fatune COMPONENT program)
install(FILES README.md CHANGELOG.md packaging/copyright
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

# ---- Debian packages: `cmake --workflow --preset deb` ------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fatune)
set(CPACK_PACKAGE_CONTACT "The fatune authors <fatune@users.noreply.github.com>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program)
if(TARGET fatune_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
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
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "nvidia-driver, nvidia-cuda-toolkit, python3-venv, fatune-mpi")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"autotuner for attention kernels on NVIDIA GPUs
fatune finds, proves and records the fastest attention kernel for a shape
and a GPU. It compiles variants of CUDA kernel templates with NVRTC, checks
each against a reference, times them beside cuDNN and PyTorch, and writes
the best configuration as JSON.
.
The driver and NVRTC are opened at run time: `fatune doctor' says what is
missing and how to install it. Without a GPU, recorded data can be replayed.")

# A package of its own, so that the program depends on no MPI.
set(CPACK_DEBIAN_MPI_PACKAGE_NAME fatune-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "fatune (= ${debian_version})")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "openmpi-bin")
set(CPACK_COMPONENT_MPI_DESCRIPTION
"autotuner for attention kernels on NVIDIA GPUs, under MPI
The plug-in by which mpirun and srun spread a suite that fatune sweeps over
the GPUs of many hosts.")

include(CPack)
