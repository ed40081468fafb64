# SPDX-License-Identifier: Apache-2.0
# cmake -DFROM=… -DTO=… -DKEEP=tools/a;tools/b -P MirrorStory.cmake
# Makes TO a copy of the story in FROM. Removes files that are no longer in FROM, except the files
# that the build creates (KEEP).
file(GLOB_RECURSE wanted RELATIVE "${FROM}" "${FROM}/*")
file(GLOB_RECURSE present RELATIVE "${TO}" "${TO}/*")
list(REMOVE_ITEM present ${wanted} ${KEEP})
foreach(stale IN LISTS present)
    file(REMOVE "${TO}/${stale}")
endforeach()
foreach(file IN LISTS wanted)
    cmake_path(GET file PARENT_PATH folder)
    file(COPY "${FROM}/${file}" DESTINATION "${TO}/${folder}")
endforeach()
