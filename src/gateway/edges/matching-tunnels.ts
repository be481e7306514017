import type { OpenTunnel } from '../tunnels/open-tunnel.js';

export type Labels = Readonly<Record<string, string>>;

/** Whether a tunnel belongs to a group. A group without labels would have every tunnel of its account: it has none. */
export function hasLabels({ target }: Pick<OpenTunnel, 'target'>, labels: Labels): boolean {
  if (!('labels' in target)) return false;
  const wanted = Object.entries(labels);
  const has = (key: string, value: string) => target.labels.some((label) => label.key === key && label.value === value);
  return wanted.length > 0 && wanted.every(([key, value]) => has(key, value));
}

/** All of them, from the `turn`-th on, so that the next turn begins with the next one. */
export function inTurn<Item>(items: readonly Item[], turn: number): readonly Item[] {
  const first = items.length === 0 ? 0 : turn % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
