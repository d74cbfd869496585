# strobe::results, the part of Strobe that keeps and judges measurements, as a static library for other C++ programs:
# samples, rows, rounds, run directories, comparisons (docs/howto/results_library.md). It registers no plug-ins.
file(GLOB storage CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/workloads/storage/*.cpp)
add_library(strobe-results STATIC $<TARGET_OBJECTS:strobe_core> $<TARGET_OBJECTS:strobe_results> ${storage})
target_link_libraries(strobe-results PRIVATE strobe_options)
strobe_precompile(strobe-results)
strobe_unite(strobe-results ${storage})
install(TARGETS strobe-results ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
