import { messageOf } from '../kernel/error-message.js';
import { isJsonObject } from '../kernel/json-object.js';
import { HttpClient, type Limits, type Read, readAnswer } from '../kernel/network/http-client.js';
import { Unavailable } from '../kernel/network/unavailable.js';
import { eventsIn, type ServiceEvent } from './event-stream.js';
import type { GatewaySettings } from './settings-table.js';

/** The URL of the service's routes for gateways, and the token for them. */
export interface GatewayRoutes {
  /** Ends with a slash. */
  readonly url: URL;
  readonly authorization: string;
  /** Certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
}

type ServiceAddress = Pick<GatewaySettings, 'serviceUrl' | 'gatewayToken'>;

export const routesOf = ({ serviceUrl, gatewayToken }: ServiceAddress): GatewayRoutes => ({
  url: new URL(`${serviceUrl}/ssh_gateway/`),
  authorization: `Bearer ${gatewayToken}`,
});

/** Whose key it is, with its credentials, the oldest first. */
export interface IdentifiedKey {
  readonly account_id: string;
  readonly fingerprint: string;
  readonly credentials: readonly { readonly credential_id: string; readonly version: number }[];
  /** TUNNEL_DOMAIN of the service. */
  readonly tunnel_domain?: string | null;
}

/** A target, as in the bodies of the service. */
export type TargetBody =
  | { readonly domain: string }
  | {
      readonly address: string;
      /** Other addresses that the same listener takes. Only their reservations count, not the rules about them. */
      readonly aliases?: readonly string[];
    }
  | { readonly label: { readonly key: string; readonly value: string } };

export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
  readonly matched_rule: string | null;
  /** The rule that would permit it. */
  readonly needs: string | null;
  readonly credential_id: string | null;
  readonly account_id: string | null;
  readonly version: number | null;
  /** When the permission expires, by `performance.now()`. Undefined: never. */
  readonly expiresAt?: number | undefined;
}

type DecisionAnswer = Omit<Decision, 'expiresAt'> & { readonly expires_in_ms?: number };

interface ChangedCredential {
  readonly credential_id: string;
  readonly reason: 'changed' | 'expired' | 'owner_inactive' | 'gone';
}

/** What has changed since a gateway asked about it. */
export interface Rechecked {
  readonly changed: readonly ChangedCredential[];
  /** Stands for the reservations of this moment. The next recheck sends it. */
  readonly reservations: string | undefined;
  /** True also if the service cannot know it. */
  readonly reservationsChanged: boolean;
}

const MAX_ANSWER_MS = 5_000;
/** The longest silence of a stream, in which the service sends something every 5 s. */
const MAX_SILENCE_MS = 15_000;
const MAX_RECHECKED = 10_000;
/** In the targets of one request: the service takes no more. */
const MAX_NAMES = 1_000;
const MAX_BYTES_OF_NAMES = 32 * 1024;

/** Calls the service's routes for gateways. Every failure is an `Unavailable`, and its message is a sentence. */
export class ServiceClient {
  constructor(
    private readonly routes: GatewayRoutes,
    private readonly http = new HttpClient(),
  ) {}

  /** Undefined if no credential lets the key in. */
  async identify(fingerprint: string): Promise<IdentifiedKey | undefined> {
    const known = await this.ask<Partial<IdentifiedKey> | null>('POST', 'identify', { fingerprint });
    if (known === undefined) return undefined;
    const { account_id, credentials, tunnel_domain = null } = known ?? {};
    if (known?.fingerprint === fingerprint && account_id !== undefined && Array.isArray(credentials)) {
      return { account_id, fingerprint, credentials, tunnel_domain };
    }
    throw new Unavailable('the answer to identify is not from the service; check SERVICE_URL');
  }

  /** One decision for each target. There may be up to 1,000 targets. */
  async authorize(
    fingerprint: string,
    targets: readonly TargetBody[],
    source: string,
    isRepeated = false,
  ): Promise<readonly Decision[]> {
    const decided: Decision[] = [];
    for (const target of requestsOf(targets)) {
      const body = { fingerprint, target, source, ...(isRepeated && { repeated: true }) };
      // Before the service reads the expiry, so that a slow answer prolongs nothing.
      const askedAt = performance.now();
      const answer = await this.ask<{ decisions: DecisionAnswer[] }>('POST', 'authorize', body);
      const { decisions } = required(answer);
      if (decisions?.length !== target.length) throw new Unavailable('the service did not decide about each target');
      for (const { expires_in_ms: ms, ...decision } of decisions)
        decided.push({ ...decision, expiresAt: ms === undefined ? undefined : askedAt + ms });
    }
    return decided;
  }

  /**
   * The credentials that have changed since these versions, which decisions named, and whether reservations have changed
   * since an earlier recheck.
   */
  async recheck(
    known: readonly { readonly credential_id: string; readonly version: number }[],
    reservations?: string,
  ): Promise<Rechecked> {
    const answers: RecheckAnswer[] = [];
    for (let n = 0; n === 0 || n < known.length; n += MAX_RECHECKED) {
      const credentials = known.slice(n, n + MAX_RECHECKED);
      answers.push(required(await this.ask<RecheckAnswer>('POST', 'recheck', { credentials, reservations })));
    }
    return {
      changed: answers.flatMap(({ changed }) => changed),
      // Of the first answer: what changed after it may be missing in it.
      reservations: answers[0]?.reservations,
      reservationsChanged: answers.some((answer) => answer.reservations_changed !== false),
    };
  }

  /**
   * Calls `tell` for each event of a stream of changes, from `ready` on. Resolves when it ends; rejects after a
   * silence.
   */
  async changes(
    path: 'changes' | 'edges/changes',
    signal: AbortSignal,
    tell: (event: ServiceEvent) => void,
  ): Promise<void> {
    await this.send('GET', path, { maxMs: MAX_SILENCE_MS, signal }, async (answer, heard) => {
      const { statusCode: status = 0 } = answer;
      if (status !== 200) throw refusalOf(path, status);
      for await (const event of eventsIn(answer, heard)) tell(event);
    });
  }

  /** Asks a route below `/ssh_gateway`. Undefined for the status 404. */
  async ask<Answer>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer | undefined> {
    const text = await this.text(method, path, body);
    try {
      return text === undefined ? undefined : (JSON.parse(text) as Answer);
    } catch (error) {
      throw new Unavailable(`the answer of the service to ${path} cannot be read: ${messageOf(error)}`);
    }
  }

  /** The text of an answer. Undefined for the status 404. */
  async text(method: 'GET' | 'POST', path: string, body?: unknown): Promise<string | undefined> {
    const limits = { maxMs: MAX_ANSWER_MS };
    const { status, text } = await this.send(method, path, limits, (answer) => readAnswer(answer), body);
    if (status === 404) return undefined;
    if (status !== 200) throw refusalOf(path, status, text);
    return text;
  }

  /** Closes the connections. */
  close(): void {
    this.http.close();
  }

  private async send<T>(
    method: 'GET' | 'POST',
    path: string,
    limits: Limits,
    read: Read<T>,
    body?: unknown,
  ): Promise<T> {
    const { url, authorization, ca } = this.routes;
    const json = body === undefined ? undefined : JSON.stringify(body);
    const headers = { authorization, ...(json !== undefined && { 'content-type': 'application/json' }) };
    return this.http.exchange(new URL(path, url), { method, headers, body: json, ca }, limits, read).catch((error) => {
      if (!(error instanceof Unavailable) || error.answer !== undefined) throw error;
      throw new Unavailable(`the service at ${url.origin}: ${error.message}`);
    });
  }
}

interface RecheckAnswer {
  readonly changed: readonly ChangedCredential[];
  readonly reservations?: string;
  readonly reservations_changed?: boolean;
}

/** The targets in their order, as many in one request as it may have. */
function requestsOf(targets: readonly TargetBody[]): readonly (readonly TargetBody[])[] {
  const requests: TargetBody[][] = [];
  let [names, bytes] = [MAX_NAMES, 0];
  for (const target of targets) {
    const own = 1 + ('address' in target ? (target.aliases?.length ?? 0) : 0);
    // These are more bytes than its names have.
    const ownBytes = Buffer.byteLength(JSON.stringify(target));
    const isFull = names + own > MAX_NAMES || bytes + ownBytes > MAX_BYTES_OF_NAMES;
    if (isFull) requests.push([]);
    requests.at(-1)?.push(target);
    [names, bytes] = isFull ? [own, ownBytes] : [names + own, bytes + ownBytes];
  }
  return requests;
}

/** `text`: the error of the service, or whatever a proxy answers. */
function refusalOf(path: string, status: number, text = ''): Unavailable {
  const { msg, details } = objectIn(text);
  const item = isJsonObject(details) ? details.item : undefined;
  const why = item === undefined ? '' : `: ${msg}`;
  return new Unavailable(`the service answered ${path} with HTTP ${status}${why}`, { status, item });
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function required<Answer>(answer: Answer | undefined): Answer {
  if (answer !== undefined) return answer;
  throw new Unavailable('the service has no routes for gateways; set its GATEWAY_TOKENS', { status: 404 });
}
