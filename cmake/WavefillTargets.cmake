# How every target of this project is made: one function for folders, one for tests.
include_guard()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# Warnings and sanitizers, for our own code only.
add_library(wavefill_build_flags INTERFACE)
target_compile_options(wavefill_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>
  # At -O3 g++ 12 warns of an overlap inside its own std::string that cannot be.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-restrict>
  $<$<AND:$<BOOL:${WAVEFILL_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
if(WAVEFILL_SANITIZE)
  target_compile_options(wavefill_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WAVEFILL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(wavefill_build_flags INTERFACE -fsanitize=${WAVEFILL_SANITIZE})
  # Under sanitizers g++ takes std::regex's own states for uninitialised.
  target_compile_options(wavefill_build_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
endif()

# wavefill_folder(NAME SOURCES ... DEPENDS ... LIBRARIES ...)
# The static library wavefill_NAME of one folder of src/. DEPENDS names other folders, LIBRARIES
# external targets.
function(wavefill_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LIBRARIES")
  add_library(wavefill_${name} STATIC ${arg_SOURCES})
  target_include_directories(wavefill_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  list(TRANSFORM arg_DEPENDS PREPEND wavefill_)
  target_link_libraries(wavefill_${name} PUBLIC ${arg_DEPENDS} ${arg_LIBRARIES} PRIVATE wavefill_build_flags)
endfunction()

# wavefill_test(NAME SOURCES ... DEPENDS ... LABELS ...)
# One GoogleTest program test_NAME; each of its cases is a CTest case with the labels (default: host).
function(wavefill_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LIBRARIES;LABELS")
  if(NOT arg_LABELS)
    set(arg_LABELS host)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  list(TRANSFORM arg_DEPENDS PREPEND wavefill_)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE
    ${arg_DEPENDS} ${arg_LIBRARIES} wavefill_build_flags GTest::gmock GTest::gtest_main)
  gtest_discover_tests(test_${name}
    TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
endfunction()
