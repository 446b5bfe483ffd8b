"""Coefficients of the median's series in median.hpp, in rational arithmetic.

The standardised law with cumulants (n - 1)! (1 + (n - 2) t) v^(1 - n/2), e = v^(-1/2),
has the distribution function Phi(x) - phi(x) sum c_n He_(n-1)(x), sum c_n s^n the
exponential of sum_(n>2) e^(n-2) (1 + (n - 2) t)/n s^n. So its median m solves

    (Phi(m) - 1/2)/phi(m) = sum c_n He_(n-1)(m),    (Phi - 1/2)/phi = m + m^3/3 + m^5/15
    + ...,

as a power series in e, of odd powers; the coefficient of e^(2j+1) is a polynomial of
degree 2j + 1 in t.
"""

from fractions import Fraction

Series = list[Fraction]  # in e


def product(a, b):
    out = [Fraction(0)] * len(a)
    for i, x in enumerate(a):
        for j in range(len(a) - i if x else 0):
            out[i + j] += x * b[j]
    return out


def edgeworth(t, order):
    """[j][n] = the coefficient of e^j s^n in the sum of c_n s^n."""
    log = {k: (1 + k * t) / (k + 2) for k in range(1, order + 1)}  # of e^k s^(k + 2)
    out = [{0: Fraction(1)}]
    for j in range(1, order + 1):
        terms = {}
        for k in range(1, j + 1):
            for n, c in out[j - k].items():
                terms[n + k + 2] = (
                    terms.get(n + k + 2, Fraction(0)) + c * log[k] * k / j
                )
        out.append(terms)
    return out


def median(t, order):
    """The coefficients of e^0 ... e^order."""
    terms = edgeworth(t, order)
    zero = [Fraction(0)] * (order + 1)
    m = zero
    for _ in range(order // 2 + 1):  # each pass gives two more powers
        hermite = [[Fraction(1), *zero[1:]], m]
        for n in range(1, 3 * order):
            above = product(m, hermite[n])
            hermite.append(
                [x - n * y for x, y in zip(above, hermite[n - 1], strict=True)]
            )
        m_next = list(zero)
        for j in range(1, order + 1):
            for n, c in terms[j].items():
                for i in range(order + 1 - j):
                    m_next[i + j] += c * hermite[n - 1][i]
        power, square, inverse = m, product(m, m), Fraction(1)
        for n in range(3, order + 1, 2):
            power, inverse = product(power, square), inverse / n
            m_next = [x - inverse * y for x, y in zip(m_next, power, strict=True)]
        m = m_next
    return m


def interpolated(x, y):
    """Coefficients of the polynomial through the points, without zeros at the end."""
    slopes = list(y)
    for k in range(1, len(x)):
        for i in range(len(x) - 1, k - 1, -1):
            slopes[i] = (slopes[i] - slopes[i - 1]) / (x[i] - x[i - k])
    out = [Fraction(0)]
    for xi, slope in zip(reversed(x), reversed(slopes), strict=True):
        out = [
            a - xi * b
            for a, b in zip([Fraction(0), *out], [*out, Fraction(0)], strict=True)
        ]
        out[0] += slope
    while out[-1] == 0:
        out.pop()
    return out


def coefficients(terms):
    """p_0 ... p_(terms - 1), each by rising powers of t."""
    order = 2 * terms - 1
    t = [Fraction(i, 2 * order) for i in range(order + 2)]  # one more than needed
    series = [median(x, order) for x in t]
    return [interpolated(t, [s[2 * j + 1] for s in series]) for j in range(terms)]
