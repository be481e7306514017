/** Parsers of environment variables. Each throws an Error whose message completes the sentence "NAME ...". */

export const text = (value: string): string => value;

export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const parsed = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (!(parsed >= min && parsed <= max)) throw new Error(`must be a whole number from ${min} to ${max}`);
    return parsed;
  };

export const flag = (value: string): boolean => {
  if (['true', '1', 'yes', 'on'].includes(value.toLowerCase())) return true;
  if (['false', '0', 'no', 'off'].includes(value.toLowerCase())) return false;
  throw new Error('must be true or false');
};

export const oneOf =
  <T extends string>(values: readonly T[]) =>
  (value: string): T => {
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return found;
  };

const url =
  (...protocols: string[]) =>
  (value: string): string => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (parsed === undefined || !protocols.includes(parsed.protocol)) {
      throw new Error(`must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`);
    }
    return value;
  };

export const baseUrl = (value: string): string => {
  const parsed = new URL(url('http:', 'https:')(value));
  if (parsed.username !== '' || parsed.password !== '') throw new Error('must not hold a user or a password');
  if (parsed.search !== '' || parsed.hash !== '') throw new Error('must not have a query or a fragment');
  return value.replace(/\/+$/, '');
};
