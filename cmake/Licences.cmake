# Licences.cmake - installs those of the libraries that a portable program holds, as Debian and Ubuntu have them.

string(REGEX MATCH "^[0-9]+" compiler ${CMAKE_CXX_COMPILER_VERSION})

foreach(package IN ITEMS
    libcli11-dev libeigen3-dev libfmt-dev libseccomp-dev libspdlog-dev libssl-dev
    libstdc++-${compiler}-dev nlohmann-json3-dev zlib1g-dev)
  set(licence /usr/share/doc/${package}/copyright)
  if(EXISTS ${licence})
    install(FILES ${licence}
      DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME ${package}.txt COMPONENT licences)
  else()
    message(WARNING "${licence} is not there: who hands the program on has to add this licence")
  endif()
endforeach()
# Those that the texts above refer to.
foreach(name IN ITEMS Apache-2.0 GPL-3 LGPL-2.1 MPL-2.0)
  install(FILES /usr/share/common-licenses/${name}
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences COMPONENT licences OPTIONAL)
endforeach()
