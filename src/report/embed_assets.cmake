# Writes OUTPUT, a C++ source holding each file of INPUTS as a string: cmake -DOUTPUT=.. -DINPUTS=.. -P this
set(rows "")
foreach(input IN LISTS INPUTS)
  file(READ ${input} content)
  string(FIND "${content}" ")ASSET\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${input} holds the delimiter )ASSET\"")
  endif()
  get_filename_component(name ${input} NAME)
  string(APPEND rows "    {.name = \"${name}\", .content = R\"ASSET(${content})ASSET\"},\n")
endforeach()
file(WRITE ${OUTPUT}
"#include \"report/assets.h\"\n\nnamespace wavefill::report {\nnamespace {\n\nconstexpr Asset kAssets[] = {\n"
"${rows}};\n\n}  // namespace\n\nstd::span<const Asset> assets() { return kAssets; }\n\n}  // namespace wavefill::report\n")
