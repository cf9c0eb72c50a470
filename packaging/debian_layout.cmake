# debian_layout.cmake - the staged files of a package to the places and forms of Debian's policy.
#
# CPack runs it before it builds packages; CPACK_TEMPORARY_DIRECTORY is the staging folder.

find_program(gzip gzip REQUIRED)
file(GLOB docs ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*)
foreach(doc IN LISTS docs)
  if(EXISTS ${doc}/CHANGELOG.md)
    file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
    file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/changelog ${doc}/changelog.Debian)
    execute_process(COMMAND ${gzip} -9n ${doc}/changelog ${doc}/changelog.Debian
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()

file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man*/*.[1-9])
if(pages)
  execute_process(COMMAND ${gzip} -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()

# Debian's zsh looks into vendor-completions.
file(GLOB shells ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/zsh)
foreach(zsh IN LISTS shells)
  file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)
endforeach()
