"""Slow twins of compiled loops: what a textbook would write, and the fast loops must equal."""

import math
from itertools import combinations

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


def textbook_cells(rows, order, n_steps, restart):
    """Herd all cells of all tables of 0/1 rows from their counts and the empty state.

    A weight is a plain integer under its columns and their values. Where the PCT inequality
    fails, start again at the first of the best distinct rows if that scores more. Give the
    states, and how often it did.
    """
    n_rows, width = rows.shape
    sets = [c for k in range(1, order + 1) for c in combinations(range(width), k)]
    target = {}
    for row in rows.tolist():
        for c in sets:
            cell = c, tuple(row[i] for i in c)
            target[cell] = target.get(cell, 0) + 1
    weights = dict(target)

    def score(x):
        return sum(weights.get((c, tuple(x[i] for i in c)), 0) for c in sets)

    def ascend(x):
        moved = True
        while moved:
            moved = False
            for i in range(width):
                other = [*x[:i], 1 - x[i], *x[i + 1 :]]
                if score(other) > score(x):
                    x, moved = other, True
        return x

    pool = np.unique(rows, axis=0).tolist() if restart else []
    x, states, restarts = [0] * width, [], 0
    for _ in range(n_steps):
        x = ascend(x)
        least = sum(weights[cell] * count for cell, count in target.items())
        if n_rows * score(x) < least and pool and max(map(score, pool)) > score(x):
            x = ascend(max(pool, key=score))
            restarts += 1
        states.append(x)
        for cell, count in target.items():
            weights[cell] += count
        for c in sets:
            cell = c, tuple(x[i] for i in c)
            weights[cell] = weights.get(cell, 0) - n_rows
    return np.array(states), restarts


def chance(field):
    """Give the logistic function of a number, whatever its size."""
    if field >= 0:
        return 1 / (1 + math.exp(-field))
    return math.exp(field) / (1 + math.exp(field))


def chances(fields):
    """Give the probabilities that are proportional to the exponentials of numbers."""
    top = max(fields)
    parts = [math.exp(field - top) for field in fields]
    return [part / math.fsum(parts) for part in parts]


def site_chances(model, x, site, heat=1.0):
    """Give the probabilities of the states of one site, from its neighbours one by one."""
    couplings = dense(model.couplings)
    others = [j for j in range(len(x)) if couplings[site, j] != 0]
    if hasattr(model, "fields"):
        gains = [
            model.fields[site, a] + math.fsum(couplings[site, j] for j in others if x[j] == a)
            for a in range(model.n_states)
        ]
        return chances([gain / heat for gain in gains])
    low, high = model.states
    field = model.biases[site] + math.fsum(couplings[site, j] * x[j] for j in others)
    upper = chance((high - low) * field / heat)
    return [1 - upper, upper]


def dense(couplings):
    """Give couplings as an array."""
    return couplings.toarray() if hasattr(couplings, "toarray") else np.asarray(couplings)


def draw_site(model, x, site, noise, heat=1.0):
    """Draw one site from its neighbours: upper if u < p, or the first of q states to ring.

    ``noise`` is a uniform number for two states, and one exponential waiting time for each of
    the states of a Potts model: that of state a is divided by its probability.
    """
    p = site_chances(model, x, site, heat)
    if hasattr(model, "fields"):
        rings = [
            wait / chance if chance else math.inf for wait, chance in zip(noise, p, strict=True)
        ]
        return rings.index(min(rings))
    return model.states[int(noise < p[1])]


def textbook_gibbs(model, start, scans, noise):
    """Draw every site of every scan from its neighbours; give the state after each sweep.

    ``scans`` has one row of sites per sweep, ``noise`` what `draw_site` wants for each entry.
    """
    x, kept = list(start), []
    for sites, drawn in zip(scans, noise, strict=True):
        for site, number in zip(sites, drawn, strict=True):
            x[site] = draw_site(model, x, site, number)
        kept.append(list(x))
    return np.array(kept)


def textbook_tempering(model, starts, heats, scans, noise, uniforms, log_weight):
    """Sweep a replica at each heat; after even sweeps offer pairs 0-1, 2-3, after odd ones 1-2.

    ``noise[t][r]`` serves heat r at sweep t, ``uniforms[t][r]`` the exchange of r and r + 1.
    ``log_weight`` gives minus the energy. Give the states at the first heat, and how often each
    pair was offered and taken.
    """
    at = [list(start) for start in starts]  # states by heat: it is they that move
    offered, taken = ([0] * (len(heats) - 1) for _ in range(2))
    kept = []
    for t, sites in enumerate(scans):
        for r, heat in enumerate(heats):
            for site, number in zip(sites, noise[t][r], strict=True):
                at[r][site] = draw_site(model, at[r], site, number, heat)
        for r in range(t % 2, len(heats) - 1, 2):
            cold, hot = log_weight(model, at[r]), log_weight(model, at[r + 1])
            gain = cold / heats[r + 1] + hot / heats[r] - cold / heats[r] - hot / heats[r + 1]
            offered[r] += 1
            if uniforms[t][r] < math.exp(min(0.0, gain)):
                at[r], at[r + 1] = at[r + 1], at[r]
                taken[r] += 1
        kept.append(list(at[0]))
    return np.array(kept), offered, taken


def textbook_herded_gibbs(model, start, scans, first=None):
    """Herd every full conditional of two states with a weight of its own (algorithm 4.1).

    The weights are kept by site and by the states of its neighbours. ``first`` gives the weight
    that a site begins with from its number, the neighbours and the probability p of the upper
    state; p - 1/2 by default. Give the state after each sweep, the weights and their ranges.
    """
    neighbours = [np.flatnonzero(row) for row in dense(model.couplings)]
    weights, ranges = {}, {}
    x, kept = list(start), []
    for sites in scans:
        for site in sites:
            key = (int(site), tuple(int(x[j]) for j in neighbours[site]))
            p = site_chances(model, x, site)[1]
            w = weights.get(key)
            if w is None:
                w = p - 0.5 if first is None else first(*key, p)
            code = int(w > 0)
            x[site] = model.states[code]
            w += p - code
            weights[key] = w
            low, high = ranges.get(key, (math.inf, -math.inf))
            ranges[key] = (min(low, w - p), max(high, w - p))
        kept.append(list(x))
    return np.array(kept), weights, ranges


def textbook_herded_potts(model, start, scans, first=None):
    """Herd every full conditional of q states with a vector of weights.

    The largest entry wins, the first of those that tie. Vectors begin at the probabilities
    themselves unless ``first`` says otherwise. Give the state after each sweep and the weights.
    """
    neighbours = [np.flatnonzero(row) for row in dense(model.couplings)]
    weights = {}
    x, kept = list(start), []
    for sites in scans:
        for site in sites:
            key = (int(site), tuple(int(x[j]) for j in neighbours[site]))
            p = site_chances(model, x, site)
            if key not in weights:
                weights[key] = list(p) if first is None else list(first(*key, p))
            w = weights[key]
            code = w.index(max(w))
            x[site] = code
            for a in range(len(w)):
                w[a] += p[a] - (a == code)
        kept.append(list(x))
    return np.array(kept), weights


def clusters_by_labels(n_sites, bonds):
    """Label sites that bonds join with the lowest site of their cluster, by plain relabelling."""
    labels = list(range(n_sites))
    for i, j in bonds:
        low, high = sorted((labels[i], labels[j]))
        labels = [low if label == high else label for label in labels]
    return labels


def textbook_swendsen_wang(model, start, edge_noise, cluster_noise):
    """Freeze edges whose ends suit each other, and give every cluster a new state.

    ``edge_noise`` has a uniform number for each edge and sweep; ``cluster_noise`` has for each
    site and sweep what the cluster needs whose lowest site it is: a uniform number to turn it
    over, or a waiting time for each state of a Potts model. Give the state after each sweep and
    the number of clusters in all.
    """
    is_potts = hasattr(model, "fields")
    couplings, n_sites = dense(model.couplings), len(start)
    edges = [(i, j) for i in range(n_sites) for j in range(i + 1, n_sites) if couplings[i, j]]
    x, kept, n_clusters = list(start), [], 0
    for uniforms, noise in zip(edge_noise, cluster_noise, strict=True):
        bonds = []
        for (i, j), u in zip(edges, uniforms, strict=True):
            # what the present states of the two gain against the other way round
            gain = couplings[i, j] * (1.0 if is_potts else _gap(model) ** 2 / 2)
            suited = (x[i] == x[j]) == (gain > 0)
            if suited and u < 1 - math.exp(-abs(gain)):
                bonds.append((i, j))
        labels = clusters_by_labels(n_sites, bonds)
        for root in sorted(set(labels)):
            sites = [site for site in range(n_sites) if labels[site] == root]
            n_clusters += 1
            if is_potts:
                p = chances(
                    [math.fsum(model.fields[i, a] for i in sites) for a in range(model.n_states)]
                )
                rings = [t / c if c else math.inf for t, c in zip(noise[root], p, strict=True)]
                for i in sites:
                    x[i] = rings.index(min(rings))
            elif noise[root] < chance(turning_gain(model, x, sites)):
                for i in sites:
                    x[i] = sum(model.states) - x[i]
        kept.append(list(x))
    return np.array(kept), n_clusters


def turning_gain(model, x, sites):
    """Give what turning sites over together gains, their frozen bonds apart.

    A product of spins x_i x_j is symmetric, so that turning changes the biases only; of 0/1
    states a coupling also pulls at its ends, by W / 4 of the spins that stand for them.
    """
    couplings, gap = dense(model.couplings), _gap(model)
    total = 0.0
    for i in sites:
        bias = model.biases[i]
        if gap == 1:
            bias = bias / 2 + math.fsum(couplings[i]) / 4
        spin = 1 if x[i] == model.states[1] else -1
        total -= 2 * spin * bias
    return total


def _gap(model):
    return model.states[1] - model.states[0]
