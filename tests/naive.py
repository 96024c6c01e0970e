"""Slow twins of compiled loops: what a textbook would write, and the fast loops must equal."""

import numpy as np

from herder._numba import jit


@jit
def textbook_herd(total, n1, n2, n3, order, out):
    """Herd 0/1 moments from zero weights and the empty state; return the PCT violations.

    ``n1[i]``, ``n2[i, j]``, ``n3[i, j, k]`` are counts for i < j < k, ``out`` (T, D) takes the
    states. Every field is summed afresh over the active variables, every weight is updated at
    every step and the PCT inequality is a full inner product.
    """
    width = n1.shape[0]
    w1 = np.zeros(width, np.int64)
    w2 = np.zeros((width, width), np.int64)
    w3 = np.zeros(n3.shape, np.int64)
    s = np.zeros(width, np.int64)
    active = np.zeros(width, np.int64)
    violations = 0
    for t in range(out.shape[0]):
        improved = True
        while improved:
            improved = False
            k = 0
            for i in range(width):
                if s[i]:
                    active[k] = i
                    k += 1
            for i in range(width):
                field = w1[i]
                for a in range(k):
                    j = active[a]
                    if j == i:
                        continue
                    if order >= 2:
                        field += w2[min(i, j), max(i, j)]
                    if order >= 3:
                        for b in range(a):
                            m = active[b]
                            if m == i:
                                continue
                            low, high = min(j, m), max(j, m)
                            if i < low:
                                field += w3[i, low, high]
                            elif i < high:
                                field += w3[low, i, high]
                            else:
                                field += w3[low, high, i]
                if (field > 0 and s[i] == 0) or (field < 0 and s[i] == 1):
                    s[i] = 1 - s[i]
                    improved = True
                    k = 0
                    for j in range(width):
                        if s[j]:
                            active[k] = j
                            k += 1
        tipi = 0
        for i in range(width):
            out[t, i] = s[i]
            v = n1[i] - total * s[i]
            tipi += w1[i] * v
            w1[i] += v
            if order >= 2:
                for j in range(i + 1, width):
                    v = n2[i, j] - total * s[i] * s[j]
                    tipi += w2[i, j] * v
                    w2[i, j] += v
                    if order >= 3:
                        for m in range(j + 1, width):
                            v = n3[i, j, m] - total * s[i] * s[j] * s[m]
                            tipi += w3[i, j, m] * v
                            w3[i, j, m] += v
        if tipi > 0:
            violations += 1
    return violations
