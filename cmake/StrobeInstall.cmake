# `cmake --install`: the program, what it reads at run time, its headers and the package that plug-ins outside this tree
# are built with (find_package(strobe), docs/howto/own_strategy.md).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS strobe strobe-conformance RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

include(StrobeLibrary)
include(StrobeShare)
strobe_install_share(${CMAKE_SOURCE_DIR} ${CMAKE_INSTALL_DATADIR}/strobe)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")

# What the program says of itself: the manual page and the words that shells complete.
install(CODE "
  set(program \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/strobe\")
  foreach(pair \"man;${CMAKE_INSTALL_MANDIR}/man1/strobe.1\"
               \"completion|bash;${CMAKE_INSTALL_DATADIR}/bash-completion/completions/strobe\"
               \"completion|fish;${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/strobe.fish\"
               \"completion|zsh;${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_strobe\")
    list(GET pair 0 words)
    list(GET pair 1 file)
    string(REPLACE \"|\" \";\" words \"\${words}\")
    get_filename_component(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"\${program}\" \${words} OUTPUT_FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${file}\"
                    RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR \"\${program} could not be run: \${status}\")
    endif()
  endforeach()")

foreach(folder core backends workloads models results harness)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strobe
          FILES_MATCHING PATTERN "*.hpp" PATTERN cuda EXCLUDE PATTERN nccl EXCLUDE PATTERN mpi EXCLUDE
          PATTERN measured EXCLUDE PATTERN published EXCLUDE PATTERN data EXCLUDE)
endforeach()

set(strobe_package ${CMAKE_INSTALL_LIBDIR}/cmake/strobe)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/strobeConfig.cmake.in ${CMAKE_BINARY_DIR}/strobeConfig.cmake
                              INSTALL_DESTINATION ${strobe_package}
                              PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/strobeConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_BINARY_DIR}/strobeConfig.cmake ${CMAKE_BINARY_DIR}/strobeConfigVersion.cmake
        DESTINATION ${strobe_package})

# `cpack -G DEB` in the build folder writes a Debian package of the same files.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # the program is enough; CPack would build all tests
set(CPACK_PACKAGE_NAME strobe)
set(CPACK_PACKAGE_CONTACT "The Strobe authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-matplotlib, python3-pandas, python3-jinja2")
include(CPack)
