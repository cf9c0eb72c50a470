# CudaHeaders.cmake - finds cuda.h and nvrtc.h for fatune::cuda_headers; nothing of CUDA is linked.
#
# Looked at in this order: CUDA_HOME, the project's own .deps/ (filled by tools/bootstrap.sh), the
# usual folders, and the pip wheels of the python3 on the path.

file(GLOB usual_folders /usr/local/cuda /usr/local/cuda-* /opt/cuda)
list(SORT usual_folders COMPARE NATURAL ORDER DESCENDING)
list(TRANSFORM usual_folders APPEND /include)

set(site_packages ${PROJECT_SOURCE_DIR}/.deps/cuda)
find_program(FATUNE_PYTHON3 python3)
mark_as_advanced(FATUNE_PYTHON3)
if(FATUNE_PYTHON3)
  execute_process(
    COMMAND ${FATUNE_PYTHON3} -I -c "import site; print(';'.join(site.getsitepackages() + [site.getusersitepackages()]))"
    OUTPUT_VARIABLE python_folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND site_packages ${python_folders})
endif()
set(wheel_folders "")
foreach(folder IN LISTS site_packages)
  foreach(wheel IN ITEMS cu13 cuda_runtime cuda_nvrtc)
    list(APPEND wheel_folders ${folder}/nvidia/${wheel}/include)
  endforeach()
endforeach()
list(GET wheel_folders 0 1 2 project_folders)

foreach(header IN ITEMS cuda nvrtc)
  string(TOUPPER FATUNE_${header}_INCLUDE variable)
  find_path(${variable} ${header}.h
    HINTS ENV CUDA_HOME ENV CUDA_PATH ${project_folders}
    PATHS ${usual_folders} ${wheel_folders}
    PATH_SUFFIXES include)
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR
      "${header}.h was not found. Run tools/bootstrap.sh build, which puts it into .deps/, or set "
      "CUDA_HOME to a CUDA toolkit. (No GPU and no nvcc is needed.)")
  endif()
endforeach()

add_library(fatune_cuda_headers INTERFACE)
add_library(fatune::cuda_headers ALIAS fatune_cuda_headers)
target_include_directories(fatune_cuda_headers SYSTEM INTERFACE
  ${FATUNE_CUDA_INCLUDE} ${FATUNE_NVRTC_INCLUDE})
target_link_libraries(fatune_cuda_headers INTERFACE ${CMAKE_DL_LIBS})
