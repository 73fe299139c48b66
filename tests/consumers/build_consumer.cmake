# Installs the build into a fresh prefix, then configures, builds and runs one consumer against it.
file(REMOVE_RECURSE ${work_dir})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "exit code ${code}: ${ARGV}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/prefix)
run(${CMAKE_COMMAND} -S ${source_dir} -B ${work_dir}/build -G ${generator}
  -D CMAKE_PREFIX_PATH=${work_dir}/prefix
  -D CMAKE_C_COMPILER=${c_compiler}
  -D CMAKE_CXX_COMPILER=${cxx_compiler})
run(${CMAKE_COMMAND} --build ${work_dir}/build)
run(${work_dir}/build/consumer)
