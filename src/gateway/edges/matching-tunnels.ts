import type { OpenTunnel } from '../tunnels/open-tunnel.js';

export type Labels = Readonly<Record<string, string>>;

/** Whether a tunnel has all labels of a group. No tunnel belongs to a group without labels: else every tunnel would. */
export function hasLabels({ target }: Pick<OpenTunnel, 'target'>, labels: Labels): boolean {
  if (!('labels' in target)) return false;
  const wanted = Object.entries(labels);
  const has = (key: string, value: string) => target.labels.some((label) => label.key === key && label.value === value);
  return wanted.length > 0 && wanted.every(([key, value]) => has(key, value));
}

/** All items, rotated so that each turn begins with the item after the first one of the turn before. */
export function inTurn<Item>(items: readonly Item[], turn: number): readonly Item[] {
  const first = items.length === 0 ? 0 : turn % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
