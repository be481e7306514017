import { malformed, type Problem } from '../../kernel/problem.js';
import { isObject } from './changed-fields.js';

/** Of a resource: see ResourceDescriptor. */
interface Fields {
  readonly readOnlyFields?: readonly string[];
  readonly elsewhere?: Readonly<Record<string, string>>;
}

const ALWAYS_READ_ONLY = ['id', 'uri', 'created_at'];
const TIMES: readonly string[] = ['created_at', 'expires_at'];

/**
 * Throws Problem if `sent`, the body of a PATCH, changes a read-only field. It may hold them, so that a caller can GET a
 * resource, edit it and send it back. `current` is the resource as GET shows it.
 */
export function refuseReadOnlyChanges(sent: object, current: object, { readOnlyFields = [], elsewhere }: Fields): void {
  const [values, stored]: Readonly<Record<string, unknown>>[] = [{ ...sent }, { ...current }];
  for (const field of [...ALWAYS_READ_ONLY, ...readOnlyFields]) {
    const value = values?.[field];
    if (value !== undefined && !isSame(field, value, stored?.[field])) throw readOnly(field, elsewhere?.[field]);
  }
}

function isSame(field: string, sent: unknown, stored: unknown): boolean {
  if (Array.isArray(sent)) return JSON.stringify(sent) === JSON.stringify(stored);
  if (isObject(sent) && isObject(stored)) {
    return Object.entries(sent).every(([name, value]) => isSame(name, value, stored[name]));
  }
  return isSameText(field, String(sent), String(stored));
}

function isSameText(field: string, sent: string, stored: string): boolean {
  // One service may be reached by several names, so only the path of a URI counts. `stored` has no host.
  if (field === 'uri') return sent.endsWith(stored);
  // One time has several spellings in RFC 3339.
  return sent === stored || (TIMES.includes(field) && Date.parse(sent) === Date.parse(stored));
}

export const readOnly = (field: string, elsewhere?: string): Problem =>
  malformed(
    `${field} is read-only: omit it, or send its current value.${elsewhere ? ` Change it by ${elsewhere}.` : ''}`,
  );
