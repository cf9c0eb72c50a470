# InstallRuntime.cmake - installs libfatune_rt, its header, and what find_package and pkg-config read.
#
# Components: `runtime` is the shared library alone, `development` what a program is built with.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS fatune_rt EXPORT fatuneTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS fatune_rt_static EXPORT fatuneStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/src/runtime/fatune_rt.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/fatune)
foreach(set IN ITEMS fatuneTargets fatuneStaticTargets)
  install(EXPORT ${set} NAMESPACE fatune:: DESTINATION ${package_folder} COMPONENT development)
endforeach()
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/package/fatuneConfig.cmake.in ${PROJECT_BINARY_DIR}/fatuneConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fatuneConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fatuneConfig.cmake ${PROJECT_BINARY_DIR}/fatuneConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)

# Relative to the .pc file itself, so that an installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/package/fatune.pc.in ${PROJECT_BINARY_DIR}/fatune.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fatune.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
