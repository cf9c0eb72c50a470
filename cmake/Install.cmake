# Install.cmake - what `cmake --install` puts where.
#
# Components: `program` is here, `runtime` and `development` in InstallRuntime.cmake, `licences` in Licences.cmake.

include(GNUInstallDirs)

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
install(DIRECTORY kernels configs
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fatune COMPONENT program)
install(FILES README.md CHANGELOG.md packaging/copyright
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

if(FATUNE_PORTABLE)
  include(Licences)
endif()
include(Packages)
