// Noisy copies of a point from standard normal draws, in one pass.
#pragma once

#include <cstddef>
#include <type_traits>

namespace rsb::copies {

// Puts x + level z in the place of each draw z, for `rows` draws of a point of `dim`
// numbers. The sum is formed in float64 and rounded once, unless point and level are
// numbers of float32: then product and sum are, as NumPy and torch round them.
template <class X>
void noisy_copies(float* draws, std::ptrdiff_t rows, std::ptrdiff_t dim, double level,
                  const X* x) {
    const float factor = float(level);
    const bool single = std::is_same_v<X, float> && double(factor) == level;
    for (float* z = draws; z != draws + rows * dim; z += dim)
        if (single)
            for (std::ptrdiff_t i = 0; i < dim; ++i) {
                const float moved = factor * z[i];
                z[i] = float(moved + x[i]);
            }
        else
            for (std::ptrdiff_t i = 0; i < dim; ++i) {
                const double moved = level * double(z[i]);
                z[i] = float(moved + double(x[i]));
            }
}

}  // namespace rsb::copies
