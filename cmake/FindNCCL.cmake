# Finds NCCL: in NCCL_ROOT (variable or environment), beside the CUDA toolkit, in the system, or in a pip wheel
# (nvidia-nccl-cu12, nvidia-nccl-cu13) of a Python that is on the path or in VIRTUAL_ENV or CONDA_PREFIX.
# Defines NCCL::NCCL, NCCL_FOUND, NCCL_VERSION, NCCL_INCLUDE_DIR and NCCL_LIBRARY. A wheel has libnccl.so.2 alone.
set(nccl_hints ${NCCL_ROOT} $ENV{NCCL_ROOT} $ENV{NCCL_HOME} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR}
    ${CUDAToolkit_BIN_DIR}/.. $ENV{CUDA_HOME} $ENV{CUDA_PATH})
file(GLOB nccl_wheels $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/nccl
     $ENV{CONDA_PREFIX}/lib/python3*/site-packages/nvidia/nccl)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_hints} ${nccl_wheels} PATH_SUFFIXES include)
if(NOT NCCL_INCLUDE_DIR)
  find_program(NCCL_PYTHON NAMES python3 python)
  mark_as_advanced(NCCL_PYTHON)
  if(NCCL_PYTHON)
    execute_process(COMMAND ${NCCL_PYTHON} -c "import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])"
                    OUTPUT_VARIABLE nccl_wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND nccl_wheels ${nccl_wheel})
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_wheels} PATH_SUFFIXES include)
  endif()
endif()
# The library that belongs to the header, before any other.
if(NCCL_INCLUDE_DIR)
  get_filename_component(nccl_prefix ${NCCL_INCLUDE_DIR} DIRECTORY)
endif()
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR HINTS ${nccl_prefix} ${nccl_hints} ${nccl_wheels}
             PATH_SUFFIXES lib lib64 lib/x86_64-linux-gnu)
if(NCCL_INCLUDE_DIR AND EXISTS ${NCCL_INCLUDE_DIR}/nccl.h)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h line REGEX "^#define NCCL_${part} +[0-9]+")
    string(REGEX REPLACE "^#define NCCL_${part} +([0-9]+).*" "\\1" NCCL_VERSION_${part} "${line}")
  endforeach()
  set(NCCL_VERSION ${NCCL_VERSION_MAJOR}.${NCCL_VERSION_MINOR}.${NCCL_VERSION_PATCH})
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
  add_library(NCCL::NCCL UNKNOWN IMPORTED)
  set_target_properties(NCCL::NCCL PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
