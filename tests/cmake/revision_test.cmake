# Run by cmake -P: checks which revision strobe_stated_revision finds, with and without a .git in the source tree.
# Variables: SOURCE, the source tree; FOLDER, where to write.
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/cmake/StrobeRevision.cmake)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/tree ${FOLDER}/bundle ${FOLDER}/empty)
set(CMAKE_PREFIX_PATH ${FOLDER}/empty ${FOLDER}/bundle)

function(expect wanted)
  strobe_stated_revision(found ${FOLDER}/tree)
  if(NOT found STREQUAL wanted)
    message(SEND_ERROR "'${found}' was found instead of '${wanted}'")
  endif()
endfunction()

expect("")
file(WRITE ${FOLDER}/bundle/REVISION "0123abcd-dirty\n")
expect("")  # any folder may hold a file of that name
file(WRITE ${FOLDER}/bundle/MANIFEST "fmt 9\n")
expect("0123abcd-dirty")
file(MAKE_DIRECTORY ${FOLDER}/tree/.git)
expect("")
