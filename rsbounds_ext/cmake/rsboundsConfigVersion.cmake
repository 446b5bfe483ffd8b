# The version is written once, in the Python package beside this one
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../rsbounds/__init__.py" _rsbounds_line
     REGEX "^__version__ = ")
string(REGEX REPLACE "[^0-9.]" "" PACKAGE_VERSION "${_rsbounds_line}")
unset(_rsbounds_line)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
