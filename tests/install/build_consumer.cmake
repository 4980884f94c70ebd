# SPDX-License-Identifier: Apache-2.0
# cmake -D build=... -D source=... -D scratch=... -D launcher=... -P build_consumer.cmake
function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(prefix ${scratch}/prefix)
file(REMOVE_RECURSE ${prefix} ${scratch}/consumer)
step(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
step(${CMAKE_COMMAND} -S ${source} -B ${scratch}/consumer -G Ninja
  -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher})
step(${CMAKE_COMMAND} --build ${scratch}/consumer)
step(${scratch}/consumer/consumer)
step(${scratch}/consumer/lending)
step(${prefix}/bin/troupe --version)
