/** The one place that calls the API. It builds URLs from ids and queries, and never follows a `uri` of an answer. */

/** The path before `/console`: that of PUBLIC_URL. */
export const BASE = location.pathname.replace(/\/console\/?$/, '');
const KEY = 'tunnel-access-key';
/** Stands beside a key that the link of the start made: it ends with the sign-out. */
const MADE_HERE = 'tunnel-access-key-made-here';

/** The API key lives as long as the tab. */
export const kept = {
  key: (): string | null => sessionStorage.getItem(KEY),
  keep: (key: string): void => sessionStorage.setItem(KEY, key),
  keepMade(key: string): void {
    sessionStorage.setItem(KEY, key);
    sessionStorage.setItem(MADE_HERE, 'yes');
  },
  isMade: (): boolean => sessionStorage.getItem(MADE_HERE) !== null,
  forget(): void {
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(MADE_HERE);
  },
};

export class Failure extends Error {
  constructor(
    /** 0: no answer came. */
    readonly status: number,
    readonly sentence: string,
    /** What a person can do about it. */
    readonly wayOut = '',
  ) {
    super(sentence);
  }
}

export type Query = Readonly<Record<string, string | undefined>>;

interface Options {
  readonly query?: Query;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
}

/** Called when the service no longer takes the key. */
export const onSignedOut: { call: () => void } = { call: () => undefined };

export const call = async <T>(method: string, path: string, options: Options = {}): Promise<T> =>
  (await callForTag<T>(method, path, options)).data;

/** The answer with its ETag, which an edit sends back as If-Match. */
export async function callForTag<T>(method: string, path: string, options: Options = {}) {
  const { query = {}, body, headers = {}, key = kept.key() ?? '' } = options;
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  const response = await fetch(`${BASE}${path}${search}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    cache: 'no-store',
  }).catch(() => undefined);
  if (response === undefined) throw new Failure(0, 'The service does not answer.', againBy(method));
  if (!response.ok) throw await failureOf(method, response, options.key === undefined);
  const data = (response.status === 204 ? undefined : await response.json()) as T;
  return { data, tag: response.headers.get('etag') ?? '' };
}

/** Reads are repeated. A change is not: its sender looks first. */
const againBy = (method: string): string =>
  method === 'GET' ? 'The page asks again by itself.' : 'Try again in a moment.';

async function failureOf(method: string, response: Response, isSignedIn: boolean): Promise<Failure> {
  const { status } = response;
  const { msg = response.statusText } = (await response.json().catch(() => ({}))) as { msg?: string };
  if (status === 401 && isSignedIn) onSignedOut.call();
  const seconds = response.headers.get('retry-after') ?? 'a few';
  const waysOut: Readonly<Record<number, string>> = {
    401: 'Sign in with a key that works: an admin can make one.',
    403: 'Your role does not permit this: ask an admin.',
    412: 'Somebody changed it meanwhile: look at it again first.',
    429: `Too many calls: wait ${seconds} seconds.`,
    503: `The service waits for its database, and nothing is lost. ${againBy(method)}`,
  };
  return new Failure(status, msg, waysOut[status] ?? '');
}

/** `crypto.randomUUID` is missing over plain HTTP. */
export const newIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The id that a list goes on from: of `next_page_uri` only the query is used. */
export const nextOf = (uri: string | null): string | undefined =>
  uri === null ? undefined : (new URL(uri, location.origin).searchParams.get('before_id') ?? undefined);
