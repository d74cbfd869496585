# strobe_install_share(ROOT DESTINATION): installs what the program reads at run time. A folder keeps its path of the
# source tree below DESTINATION, where core/system/program_files.cpp looks for it.
function(strobe_install_share root destination)
  foreach(folder workloads/data workloads/shapes workloads/catalog backends/clusters backends/software suites
          results/published results/schema)
    get_filename_component(parent ${folder} DIRECTORY)
    install(DIRECTORY ${root}/${folder} DESTINATION ${destination}/${parent}
            PATTERN "*.cpp" EXCLUDE PATTERN "*.hpp" EXCLUDE)
  endforeach()
  install(DIRECTORY ${root}/scripts/figures ${root}/scripts/report DESTINATION ${destination}/scripts
          FILES_MATCHING PATTERN "*.py" PATTERN "*.html" PATTERN "*.css" PATTERN "*.js" PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY ${root}/scripts/launch DESTINATION ${destination}/scripts USE_SOURCE_PERMISSIONS)
  install(PROGRAMS ${root}/scripts/report_page.py ${root}/scripts/fetch_dataset DESTINATION ${destination}/scripts)
endfunction()
