// The module `kernels`: kernels.cpp as this processor runs it best. CMakeLists.txt
// compiles it a second time with other instructions and, so that the linker merges
// nothing of the two, as `rsb_avx2`.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace rsb {
PyObject* kernels();
}

#ifdef RSB_AVX2
namespace rsb_avx2 {
PyObject* kernels();
}
#endif

PyMODINIT_FUNC PyInit_kernels() {
#ifdef RSB_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return rsb_avx2::kernels();
#endif
    return rsb::kernels();
}
