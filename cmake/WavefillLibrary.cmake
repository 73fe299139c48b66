# The installed library wavefill::wavefill: the folders core ... capi in one file, and its package.
include_guard()
include(CMakePackageConfigHelpers)

set(library_folders core kv plan backend backend_cpu runtime capi)
if(WAVEFILL_CUDA)
  list(APPEND library_folders backend_cuda)
endif()

add_library(wavefill)
add_library(wavefill::wavefill ALIAS wavefill)
foreach(folder IN LISTS library_folders)
  target_sources(wavefill PRIVATE $<TARGET_OBJECTS:wavefill_${folder}>)
endforeach()
target_include_directories(wavefill PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(wavefill PUBLIC cxx_std_20)
target_link_libraries(wavefill PRIVATE
  fmt::fmt TBB::tbb $<BUILD_INTERFACE:PkgConfig::hwy> $<BUILD_INTERFACE:wavefill_build_flags>)
if(NOT BUILD_SHARED_LIBS)
  target_link_libraries(wavefill PRIVATE $<INSTALL_INTERFACE:hwy>)
endif()
if(WAVEFILL_CUDA)
  target_link_libraries(wavefill PRIVATE $<BUILD_INTERFACE:CUDA::cudart_static>)
endif()
set_target_properties(wavefill PROPERTIES
  LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

install(TARGETS wavefill EXPORT wavefill-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wavefill TYPE INCLUDE)
install(EXPORT wavefill-targets NAMESPACE wavefill:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wavefill)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/wavefill)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/wavefill-config.cmake.in
  ${PROJECT_BINARY_DIR}/wavefill-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wavefill-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wavefill-config.cmake ${PROJECT_BINARY_DIR}/wavefill-config-version.cmake
  DESTINATION ${package_dir})
