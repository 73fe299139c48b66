# Writes the header of library_build(): a hash of all that measured times depend on. Run by src/core as
#   cmake -D ROOT=... -D OUTPUT=... -P build_id.cmake
# and with LIST_ONLY, from CMakeLists.txt, only finds the files.
set(build_id_folders include/wavefill src/core src/kv src/plan src/backend src/backend_cpu src/backend_cuda src/runtime)
set(build_id_files)
set(again)
if(LIST_ONLY)
  set(again CONFIGURE_DEPENDS)  # configures again for a new file
endif()
foreach(folder ${build_id_folders})
  file(GLOB_RECURSE found RELATIVE ${ROOT} ${again} ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.h
       ${ROOT}/${folder}/*.cu ${ROOT}/${folder}/*.cuh)
  list(APPEND build_id_files ${found})
endforeach()
list(SORT build_id_files)
if(LIST_ONLY)
  return()
endif()

set(hashes)
foreach(file ${build_id_files})
  file(SHA256 ${ROOT}/${file} hash)
  string(APPEND hashes "${file} ${hash}\n")
endforeach()
string(SHA256 build_id "${hashes}")
string(SUBSTRING ${build_id} 0 8 build_id)
file(WRITE ${OUTPUT} "#define WAVEFILL_BUILD_ID \"${build_id}\"\n")
