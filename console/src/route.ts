import { useEffect, useState } from 'preact/hooks';

/** A place in the page: `#/credentials/sshcr_...?owner=...`. Filters, page and id stand in the address. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const change = () => setRoute(readRoute());
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  return route;
}

/** The moment that the page shows. Undefined: now. */
export const asOf = (): string | undefined => readRoute().query.get('as_of') ?? undefined;

export const hrefTo = (path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string => {
  // The moment of the page goes along, until somebody goes back to now.
  const moment = 'as_of' in query ? {} : { as_of: asOf() };
  const given = Object.entries({ ...query, ...moment }).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  return `#/${path.map(encodeURIComponent).join('/')}${search}`;
};

export const goTo = (href: string): void => {
  location.hash = href;
};

/** The same place with other filters, from its first page. */
export const withFilter = ({ path, query }: Route, name: string, value: string): string =>
  hrefTo(path, {
    ...Object.fromEntries(query),
    before: undefined,
    before_offline: undefined,
    [name]: value || undefined,
  });
