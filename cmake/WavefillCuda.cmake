# The CUDA language, as this project uses it. Included before any folder with CUDA sources.
include_guard()

# By hand: `native` fails where there is no GPU, and `all-major` includes 7.5, which has no bf16 matrix units.
# 9.0a for what Hopper alone has; the last also as PTX, for GPUs to come.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 89-real 90a-real 100-real 120)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

# CMake 3.25 does not know that nvcc has C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
