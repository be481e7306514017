/** The growth of the costs as a picture, on an opaque card, so that it is readable on a light and on a dark page. */

const [WIDTH, HEIGHT] = [760, 400];
const PLOT = { left: 62, right: 560, top: 52, bottom: 346 };
/** Colours that people with any vision of colours can tell apart. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'];
const LABEL_HEIGHT = 20;

/** Places numbers on a logarithmic axis. */
function axis(numbers, from, to) {
  const [least, most] = [Math.log(Math.min(...numbers)), Math.log(Math.max(...numbers))];
  return (number) => from + ((Math.log(number) - least) / (most - least || 1)) * (to - from);
}

const round = (number) => Math.round(number * 10) / 10;

/** Labels from the bottom up, none on another. There is room for all of them above the bottom. */
function spread(labels) {
  let lowest = PLOT.bottom;
  return [...labels]
    .sort((a, b) => b.y - a.y)
    .map((label) => {
      const y = Math.min(label.y, lowest);
      lowest = y - LABEL_HEIGHT;
      return { ...label, y };
    });
}

/** `curves`: of each operation its points, and its exponent as text. */
export function growthChart(what, curves) {
  const points = curves.flatMap((curve) => curve.points);
  const costs = points.map(({ y }) => y);
  const ticks = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000].filter(
    (tick) => tick >= Math.min(...costs) / 2 && tick <= Math.max(...costs) * 2,
  );
  const sizes = [...new Set(curves[0]?.points.map(({ x }) => x) ?? [])];
  const x = axis(
    points.map((point) => point.x),
    PLOT.left,
    PLOT.right,
  );
  const y = axis([...costs, ...ticks], PLOT.bottom, PLOT.top);
  const drawn = curves.map((curve, n) => ({ ...curve, colour: COLOURS[n % COLOURS.length] }));
  const labels = spread(drawn.map((curve) => ({ ...curve, y: y(curve.points.at(-1).y) })));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="ui-sans-serif, system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="#1f2328" role="img" aria-labelledby="title">`,
    `  <title id="title">CPU time of a request by the number of ${what}: ${labels.map((curve) => `${curve.operation} grows with the exponent ${curve.exponent}`).join(', ')}.</title>`,
    `  <rect x="1" y="1" width="${WIDTH - 2}" height="${HEIGHT - 2}" rx="14" fill="#ffffff" stroke="#8c959f" stroke-width="1.5"/>`,
    `  <text x="20" y="28" font-weight="600">µs of node and PostgreSQL for a request, by the number of ${what}; with the exponent</text>`,
    ...ticks.map(
      (tick) =>
        `  <path d="M${PLOT.left} ${round(y(tick))} H${PLOT.right}" stroke="#d0d7de"/><text x="${PLOT.left - 8}" y="${round(y(tick) + 4)}" text-anchor="end">${tick}</text>`,
    ),
    ...sizes.map(
      (size) =>
        `  <text x="${round(x(size))}" y="${PLOT.bottom + 24}" text-anchor="middle">${size.toLocaleString('en')}</text>`,
    ),
    ...drawn.map(
      (curve) =>
        `  <polyline points="${curve.points.map((point) => `${round(x(point.x))},${round(y(point.y))}`).join(' ')}" fill="none" stroke="${curve.colour}" stroke-width="2"/>`,
    ),
    ...labels.map(
      (curve) =>
        `  <text x="${PLOT.right + 14}" y="${round(curve.y + 4)}"><tspan fill="${curve.colour}" font-weight="600">— </tspan>${curve.operation} (${curve.exponent})</text>`,
    ),
    '</svg>',
  ].join('\n')}\n`;
}
