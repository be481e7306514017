/**
 * The updated event of a change. It holds the fields that get another value; an undefined field changes nothing. There
 * is no event if no field changes.
 */
export function updatedEvents<Type extends string, Fields extends object>(
  type: Type,
  changes: Fields,
  state: object,
): { readonly type: Type; readonly data: Partial<Fields> }[] {
  const stored = state as Readonly<Record<string, unknown>>;
  const changed = Object.entries(changes).filter(
    ([name, value]) => value !== undefined && !isSame(value, stored[name]),
  );
  return changed.length === 0 ? [] : [{ type, data: Object.fromEntries(changed) as Partial<Fields> }];
}

/** Equal as JSON. The order of names does not count: rows come back with another order than events. */
function isSame(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && isSame(a[name], b[name]));
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
