import { setTimeout as sleep } from 'node:timers/promises';
import { newPublicKey } from './keys.js';

/**
 * Writes through one or several instances while faults happen, and notes every acknowledgement. Afterwards each
 * acknowledged change must be there once, and no gateway may have been told yes about a key after its deletion was
 * acknowledged. It uses no part of the service, so it can judge any instance by its answers alone.
 */
export interface LoadOptions {
  /** Base URLs of the instances. A writer moves on to the next one after a failure. */
  readonly urls: readonly string[];
  readonly apiKey: string;
  /** Without a token no gateway asks, so `staleYes` stays 0. */
  readonly gatewayToken?: string;
  readonly writers?: number;
}

export interface LoadReport {
  readonly acknowledged: number;
  /** Requests without an acknowledgement: refused, cut off or of unknown outcome. */
  readonly failed: number;
  /** Acknowledged changes that are not there. */
  readonly lost: readonly string[];
  /** Creates that were written twice. */
  readonly twice: readonly string[];
  /** Answers `yes` to a gateway that asked after the deletion of the key was acknowledged. */
  readonly staleYes: readonly string[];
  /** Answers that the contract does not have, such as a 500. */
  readonly unexpected: readonly string[];
  /** Longest time without an acknowledged change. */
  readonly longestPauseMs: number;
}

export interface RecordedLoad {
  readonly acknowledged: number;
  /** Waits for this many further acknowledged changes, for example before and after a fault. */
  more(count: number): Promise<void>;
  /** Ends the writers, waits until every instance answers, and compares what is there with what was acknowledged. */
  stop(): Promise<LoadReport>;
}

/** One create, and its possible results. */
interface Expected {
  readonly mark: string;
  readonly publicKey: string;
  id?: string;
  /** Last acknowledged value, and values of later changes whose outcome is unknown. */
  description: string;
  readonly maybe: string[];
  isDeleted: boolean;
  mayBeDeleted: boolean;
}

interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a body of any shape
  readonly body: any;
}

/** Longer than the service may take for a write. */
const GIVE_UP_MS = 30_000;
/** Answers that say that the database is away; every other answer that is not a success is unexpected. */
const AWAY = new Set([0, 503]);
const CHANGES_OF_EACH = 3;
const PAUSE_AFTER_FAILURE_MS = 50;

export function recordLoad({ urls, apiKey, gatewayToken, writers = 8 }: LoadOptions): RecordedLoad {
  const run = `load-${Date.now().toString(36)}`;
  const expected: Expected[] = [];
  const [staleYes, unexpected]: [string[], string[]] = [[], []];
  let [acknowledged, failed, longestPauseMs, lastAt, isStopping] = [0, 0, 0, performance.now(), false];

  const acknowledge = (): void => {
    acknowledged += 1;
    const now = performance.now();
    longestPauseMs = Math.max(longestPauseMs, now - lastAt);
    lastAt = now;
  };
  const fail = async (what: string, { status, body }: Reply): Promise<void> => {
    failed += 1;
    if (!AWAY.has(status)) unexpected.push(`${what}: ${status} ${JSON.stringify(body)}`);
    await sleep(PAUSE_AFTER_FAILURE_MS);
  };

  async function life(urlOf: () => string, next: () => void, mark: string): Promise<void> {
    const one: Expected = {
      mark,
      publicKey: newPublicKey(mark),
      description: mark,
      maybe: [],
      isDeleted: false,
      mayBeDeleted: false,
    };
    const create = { public_key: one.publicKey, description: mark, acl: ['bind:load.example.com'] };
    // Under one Idempotency-Key a repetition must find the first attempt and must not write another one.
    for (;;) {
      const reply = await send(urlOf(), 'POST', '/ssh_credentials', apiKey, create, { 'idempotency-key': mark });
      if (reply.status === 201) {
        one.id = reply.body.id;
        expected.push(one);
        acknowledge();
        break;
      }
      await fail(`POST ${mark}`, reply);
      next();
      if (isStopping || !AWAY.has(reply.status)) return;
    }
    for (let n = 0; n < CHANGES_OF_EACH && !isStopping; n += 1) {
      const description = `${mark} ${n}`;
      const reply = await send(urlOf(), 'PATCH', `/ssh_credentials/${one.id}`, apiKey, { description });
      if (reply.status === 200) {
        one.description = description;
        one.maybe.length = 0;
        acknowledge();
      } else {
        one.maybe.push(description);
        await fail(`PATCH ${one.id}`, reply);
        next();
      }
    }
    if (mark.endsWith('0') || isStopping) return;
    one.mayBeDeleted = true;
    const reply = await send(urlOf(), 'DELETE', `/ssh_credentials/${one.id}`, apiKey);
    if (reply.status !== 204) {
      await fail(`DELETE ${one.id}`, reply);
      next();
      return;
    }
    one.isDeleted = true;
    acknowledge();
    if (gatewayToken !== undefined) await Promise.all(urls.map((url) => askAfterDeletion(url, one, gatewayToken)));
  }

  async function askAfterDeletion(url: string, one: Expected, token: string): Promise<void> {
    const question = { public_key: one.publicKey, target: { domain: 'load.example.com' } };
    const { status, body } = await send(url, 'POST', '/ssh_gateway/authorize', token, question);
    if (status === 200 && body.allowed === true) staleYes.push(`${one.id} at ${url}`);
    else if (status !== 200 && !AWAY.has(status)) unexpected.push(`authorize: ${status} ${JSON.stringify(body)}`);
  }

  const running = Array.from({ length: writers }, async (_, writer) => {
    let at = writer;
    const urlOf = (): string => urls[at % urls.length] ?? '';
    const next = (): void => {
      at += 1;
    };
    for (let n = 0; !isStopping; n += 1) {
      // It goes back to its own instance: else all writers might wait at the instance that is cut off next.
      at = writer;
      await life(urlOf, next, `${run}-${writer}-${n}`);
    }
  });

  return {
    get acknowledged() {
      return acknowledged;
    },
    more: async (count) => {
      const enough = acknowledged + count;
      while (acknowledged < enough) await sleep(5);
    },
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
      longestPauseMs = Math.max(longestPauseMs, performance.now() - lastAt);
      const [url = ''] = urls;
      await untilAnswering(urls, apiKey);
      const { lost, twice } = compare(expected, await listAll(url, apiKey, run));
      return { acknowledged, failed, lost, twice, staleYes, unexpected, longestPauseMs: Math.round(longestPauseMs) };
    },
  };
}

function compare(expected: readonly Expected[], listed: ReadonlyMap<string, readonly Listed[]>) {
  const [lost, twice]: [string[], string[]] = [[], []];
  for (const { mark, id, description, maybe, isDeleted, mayBeDeleted } of expected) {
    const found = listed.get(mark) ?? [];
    if (found.length > 1) twice.push(mark);
    const here = found.find((one) => one.id === id);
    if (isDeleted && here !== undefined) lost.push(`the deletion of ${id} (${mark})`);
    if (here === undefined && !mayBeDeleted) lost.push(`${id} (${mark})`);
    if (here !== undefined && ![description, ...maybe].includes(here.description)) {
      lost.push(`the description of ${id}: '${here.description}' instead of '${description}'`);
    }
  }
  return { lost, twice };
}

interface Listed {
  readonly id: string;
  readonly description: string;
}

/** The resources that a run has left, by the marks of their creates. */
async function listAll(url: string, apiKey: string, run: string): Promise<Map<string, Listed[]>> {
  const found = new Map<string, Listed[]>();
  for (let path: string | null = '/ssh_credentials?limit=100'; path !== null; ) {
    const { status, body }: Reply = await send(url, 'GET', path, apiKey);
    if (status !== 200) throw new Error(`the list cannot be read: ${status} ${JSON.stringify(body)}`);
    for (const one of body.ssh_credentials as Listed[]) {
      const [mark = ''] = one.description.split(' ');
      if (mark.startsWith(run)) found.set(mark, [...(found.get(mark) ?? []), one]);
    }
    path = body.next_page_uri;
  }
  return found;
}

async function untilAnswering(urls: readonly string[], apiKey: string): Promise<void> {
  const deadline = performance.now() + 2 * GIVE_UP_MS;
  for (const url of urls) {
    while ((await send(url, 'GET', '/ssh_credentials?limit=1', apiKey)).status !== 200) {
      if (performance.now() > deadline) throw new Error(`${url} did not recover`);
      await sleep(PAUSE_AFTER_FAILURE_MS);
    }
  }
}

/** Status 0: no answer. */
async function send(
  url: string,
  method: string,
  path: string,
  token: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Reply> {
  try {
    const response = await fetch(path.startsWith('http') ? path : url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  } catch (error) {
    return { status: 0, body: error instanceof Error ? error.message : error };
  }
}

/** One row of the table of faults. `FAULT_COLUMNS` has its columns. */
export const faultRow = (fault: string, count: number, report: LoadReport): string =>
  `| ${[
    fault,
    count,
    report.acknowledged,
    report.lost.length,
    report.twice.length,
    report.staleYes.length,
    `${(report.longestPauseMs / 1000).toFixed(1)} s`,
  ].join(' | ')} |`;

export const FAULT_COLUMNS = '| fault | count | acknowledged | lost | twice | stale yes | longest pause |';
