import { setTimeout as sleep } from 'node:timers/promises';
import { newPublicKey } from '../../support/keys.js';
import { ADMIN_KEY, GATEWAY_TOKEN, type Instance } from './instance.js';

/**
 * Gateways that ask every instance about keys without a pause, while one key after another is deleted. A question that
 * began after the deletion was acknowledged must never be answered with yes, whichever instance deleted and whichever is asked.
 */
export interface QuestionsReport {
  /** Questions with an answer, 200. */
  readonly answered: number;
  /** Keys whose deletion was acknowledged, and those of them whose deletion was asked for during the fault. */
  readonly revoked: number;
  readonly revokedUnderFault: number;
  readonly staleYes: readonly string[];
  /** For each instance, the longest time without an answer to a question. */
  readonly longestSilenceMs: readonly number[];
}

interface Gateways {
  /** The fault has struck: keys that are deleted from now on count as deleted under it. */
  faultBegins(): void;
  stop(): Promise<QuestionsReport>;
}

interface Key {
  readonly id: string;
  readonly publicKey: string;
  revokedAt?: number;
}

const KEYS = 400;
const ASKERS_OF_EACH = 3;
const BETWEEN_DELETIONS_MS = 150;
const BETWEEN_QUESTIONS_MS = 10;
/** Half of the questions are about the keys that were deleted last: a lagging answer would show there. */
const NEWEST = 20;
const GIVE_UP_MS = 30_000;

export async function askGateways(instances: readonly Instance[]): Promise<Gateways> {
  const live = await createKeys(instances);
  const revoked: Key[] = [];
  const staleYes: string[] = [];
  let [answered, revokedUnderFault, hasFault, isStopping] = [0, 0, false, false];

  async function deleteKeys(): Promise<void> {
    for (let n = 0; !isStopping; n += 1) {
      const key = live.pop();
      const instance = instances[n % instances.length];
      if (key === undefined || instance === undefined) return;
      const isUnderFault = hasFault;
      // Not awaited: the next deletion goes through the next instance, whatever becomes of this one.
      void send(instance, 'DELETE', `/ssh_credentials/${key.id}`, ADMIN_KEY).then((status) => {
        if (status?.status !== 204) return;
        key.revokedAt = performance.now();
        revoked.push(key);
        if (isUnderFault) revokedUnderFault += 1;
      });
      await sleep(BETWEEN_DELETIONS_MS);
    }
  }

  async function ask(instance: Instance, silence: { longestMs: number; since: number }): Promise<void> {
    while (!isStopping) {
      const key = anyOf(Math.random() < 0.5 ? revoked.slice(-NEWEST) : live) ?? anyOf(revoked);
      const beganAt = performance.now();
      const question = { public_key: key?.publicKey, target: { domain: 'gateway.example.com' } };
      const reply = await send(instance, 'POST', '/ssh_gateway/authorize', GATEWAY_TOKEN, question);
      if (reply?.status === 200) {
        answered += 1;
        const now = performance.now();
        silence.longestMs = Math.max(silence.longestMs, now - silence.since);
        silence.since = now;
        const isStale = reply.body.allowed === true && key?.revokedAt !== undefined && key.revokedAt < beganAt;
        if (isStale) staleYes.push(`${key.id} at ${instance.machine.name}`);
      }
      await sleep(BETWEEN_QUESTIONS_MS);
    }
  }

  const silences = instances.map(() => ({ longestMs: 0, since: performance.now() }));
  const running = instances.flatMap((instance, n) =>
    Array.from({ length: ASKERS_OF_EACH }, () => ask(instance, silences[n] ?? { longestMs: 0, since: 0 })),
  );
  running.push(deleteKeys());
  return {
    faultBegins: () => {
      hasFault = true;
    },
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
      const longestSilenceMs = silences.map(({ longestMs }) => Math.round(longestMs));
      return { answered, revoked: revoked.length, revokedUnderFault, staleYes, longestSilenceMs };
    },
  };
}

const anyOf = <T>(items: readonly T[]): T | undefined => items[Math.floor(Math.random() * items.length)];

async function createKeys(instances: readonly Instance[]): Promise<Key[]> {
  const [instance] = instances;
  if (instance === undefined) return [];
  const creates = Array.from({ length: KEYS }, async (): Promise<Key> => {
    const publicKey = newPublicKey();
    const body = { public_key: publicKey, acl: ['bind:gateway.example.com'] };
    const reply = await send(instance, 'POST', '/ssh_credentials', ADMIN_KEY, body);
    if (reply?.status !== 201) throw new Error(`a key cannot be created: ${JSON.stringify(reply)}`);
    return { id: reply.body.id, publicKey };
  });
  return Promise.all(creates);
}

/** Undefined: no answer. */
async function send(
  { url }: Instance,
  method: string,
  path: string,
  token: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: a body of any shape
): Promise<{ status: number; body: any } | undefined> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  } catch {
    return undefined;
  }
}
