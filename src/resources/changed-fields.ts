/** The fields that a change gives another value than the state has: what an updated event holds. Undefined changes nothing. */
export function changedFields<Fields extends object>(changes: Fields, state: object): Partial<Fields> {
  const stored = state as Readonly<Record<string, unknown>>;
  const changed = Object.entries(changes).filter(
    ([name, value]) => value !== undefined && !isSame(value, stored[name]),
  );
  return Object.fromEntries(changed) as Partial<Fields>;
}

/** Equal as JSON. The order of names does not count: rows come back with another order than events. */
function isSame(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && isSame(a[name], b[name]));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
