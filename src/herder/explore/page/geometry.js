// The plane: convex hulls, and the cones of weights in which a corner of a hull is the best state.

/** Indices of the corners of the convex hull, counter-clockwise. */
export function hull(points) {
  const order = points.map((_, i) => i).sort((a, b) => points[a][0] - points[b][0] || points[a][1] - points[b][1]);
  const turn = (o, a, b) => (points[a][0] - points[o][0]) * (points[b][1] - points[o][1])
    - (points[a][1] - points[o][1]) * (points[b][0] - points[o][0]);
  const half = (ids) => {
    const chain = [];
    for (const i of ids) {
      while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), i) <= 1e-12) chain.pop();
      chain.push(i);
    }
    return chain.slice(0, -1);
  };
  return [...half(order), ...half([...order].reverse())];
}

/** The point of a hull that is nearest to a given one. */
export function nearest(points, corners, [x, y]) {
  let best = null, least = Infinity, inside = corners.length > 2;
  corners.forEach((i, k) => {
    const a = points[i], b = points[corners[(k + 1) % corners.length]];
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    if (dx * (y - a[1]) - dy * (x - a[0]) < 0) inside = false;
    const share = Math.max(0, Math.min(1, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1)));
    const near = [a[0] + share * dx, a[1] + share * dy];
    const far = Math.hypot(near[0] - x, near[1] - y);
    if (far < least) [best, least] = [near, far];
  });
  return inside ? [x, y] : best;
}

/**
 * The cones of the corners: {state, from, to}, angles with from < to. Along its rays and between
 * them the Tipi function is linear.
 */
export function cones(points, corners) {
  const angle = (k) => {
    const a = points[corners[k]], b = points[corners[(k + 1) % corners.length]];
    return Math.atan2(-(b[0] - a[0]), b[1] - a[1]);
  };
  return corners.map((state, k) => {
    const from = angle((k + corners.length - 1) % corners.length);
    let to = angle(k);
    while (to <= from + 1e-12) to += 2 * Math.PI;
    return { state, from, to };
  });
}

/** Minus the Tipi function: the best score less that of the target. */
export function depth(points, target, [x, y]) {
  return Math.max(...points.map(([a, b]) => (a - target[0]) * x + (b - target[1]) * y));
}
