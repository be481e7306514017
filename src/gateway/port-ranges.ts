export interface PortRange {
  readonly min: number;
  readonly max: number;
}

const MAX_PORT = 65_535;
/** Reads ports and ranges of ports, separated by commas. Throws an Error whose message completes "NAME ...". */
export function parsePorts(text: string): readonly PortRange[] {
  return text.split(',').map((part) => {
    const [, first = '', last = first] = /^\s*(\d{1,5})(?:-(\d{1,5}))?\s*$/.exec(part) ?? [];
    const [min, max] = [Number(first), Number(last)];
    if (first !== '' && min >= 1 && min <= max && max <= MAX_PORT) return { min, max };
    throw new Error('must be ports or ranges of ports, separated by commas, such as 20000-24999');
  });
}

export const textOfRanges = (ranges: readonly PortRange[]): string =>
  ranges.map(({ min, max }) => (min === max ? `${min}` : `${min}-${max}`)).join(', ');

export const isIn = (ranges: readonly PortRange[], port: number): boolean =>
  ranges.some(({ min, max }) => port >= min && port <= max);

/** A random port of these ranges. */
export function anyIn(ranges: readonly PortRange[]): number {
  const size = ranges.reduce((sum, { min, max }) => sum + max - min + 1, 0);
  let n = Math.floor(Math.random() * size);
  for (const { min, max } of ranges) {
    if (n <= max - min) return min + n;
    n -= max - min + 1;
  }
  return 0;
}
