# contents.cmake - what a package holds, and where; CPack reads it for each kind.

if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
  set(CPACK_COMPONENTS_ALL program runtime development licences)
else()
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_COMPONENTS_ALL program)
endif()
