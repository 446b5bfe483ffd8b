# find_package(rsbounds) for C++: the target rsbounds::rsbounds, headers alone, without Python
if(NOT TARGET rsbounds::rsbounds)
  get_filename_component(_rsbounds_include "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
  add_library(rsbounds::rsbounds INTERFACE IMPORTED)
  target_include_directories(rsbounds::rsbounds INTERFACE "${_rsbounds_include}")
  target_compile_features(rsbounds::rsbounds INTERFACE cxx_std_17)
  # contraction off: the error bounds hold for the operations as they are written
  if(MSVC)
    target_compile_options(rsbounds::rsbounds INTERFACE /fp:precise /clang:-ffp-contract=off)
  else()
    target_compile_options(
      rsbounds::rsbounds INTERFACE -ffp-contract=off -fno-math-errno -Wno-psabi)
  endif()
  unset(_rsbounds_include)
endif()
