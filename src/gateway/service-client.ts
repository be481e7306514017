import type { IncomingMessage } from 'node:http';
import { messageOf } from '../error-message.js';
import { EventStream, type ServiceEvent } from './service/event-stream.js';
import { ServiceRequests, textOf } from './service/service-requests.js';
import { ServiceUnavailable } from './service/service-unavailable.js';

/** How to reach the service. */
export interface ServiceAddress {
  /** Without a slash at its end. */
  readonly serviceUrl: string;
  readonly gatewayToken: string;
}

export interface IdentifiedKey {
  readonly account_id: string;
  readonly fingerprint: string;
  readonly credentials: readonly { readonly credential_id: string; readonly version: number }[];
}

/** The body of a target, in the form of the service. */
export type TargetBody =
  | { readonly domain: string }
  | { readonly address: string }
  | { readonly label: { readonly key: string; readonly value: string } };

export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
  readonly matched_rule: string | null;
  readonly credential_id: string | null;
  readonly account_id: string | null;
  readonly version: number | null;
}

export interface ChangedCredential {
  readonly credential_id: string;
  readonly reason: 'changed' | 'expired' | 'owner_inactive' | 'gone';
}

const MAX_ANSWER_MS = 5_000;
const MAX_RECHECKED = 10_000;

/** The routes of the service for gateways. Any failure is a `ServiceUnavailable`, whose message is a sentence. */
export class ServiceClient {
  private readonly requests = new ServiceRequests();

  constructor(private readonly address: ServiceAddress) {}

  /** Undefined if no credential lets the key in. */
  async identify(fingerprint: string): Promise<IdentifiedKey | undefined> {
    const known = await this.ask<Partial<IdentifiedKey> | null>('POST', 'identify', { fingerprint });
    if (known === undefined) return undefined;
    const { account_id, credentials } = known ?? {};
    if (known?.fingerprint === fingerprint && account_id !== undefined && Array.isArray(credentials)) {
      return { account_id, fingerprint, credentials };
    }
    throw new ServiceUnavailable('the answer to identify is none of the service: is SERVICE_URL right?');
  }

  /** One decision for each target, of which there are up to 1,000. */
  async authorize(fingerprint: string, target: readonly TargetBody[], source: string): Promise<readonly Decision[]> {
    const answer = await this.ask<{ decisions: Decision[] }>('POST', 'authorize', { fingerprint, target, source });
    return required(answer).decisions;
  }

  /** Those of the credentials that have changed since the version that a decision named. */
  async recheck(
    credentials: readonly { readonly credential_id: string; readonly version: number }[],
  ): Promise<readonly ChangedCredential[]> {
    const changed: ChangedCredential[] = [];
    for (let n = 0; n === 0 || n < credentials.length; n += MAX_RECHECKED) {
      const body = credentials.slice(n, n + MAX_RECHECKED);
      const answer = await this.ask<{ changed: ChangedCredential[] }>('POST', 'recheck', body);
      changed.push(...required(answer).changed);
    }
    return changed;
  }

  /** The events of a stream of changes, from `ready` on, until it ends or is silent. Then begin again. */
  async *changes(signal: AbortSignal, path: 'changes' | 'edges/changes' = 'changes'): AsyncGenerator<ServiceEvent> {
    const stream = new EventStream(signal);
    try {
      const response = await this.send('GET', path, stream.signal, undefined);
      yield* stream.eventsOf(response);
    } finally {
      stream.close();
    }
  }

  /** Asks a route below `/ssh_gateway`. Undefined for the status 404. */
  async ask<Answer>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer | undefined> {
    const signal = AbortSignal.timeout(MAX_ANSWER_MS);
    const response = await this.send(method, path, signal, body);
    try {
      const text = await textOf(response);
      return response.statusCode === 404 ? undefined : (JSON.parse(text) as Answer);
    } catch (error) {
      throw new ServiceUnavailable(`the answer of the service to ${path} cannot be read: ${reasonOf(error, signal)}`);
    }
  }

  /** Ends the connections that are kept for further requests. */
  close(): void {
    this.requests.close();
  }

  private async send(method: string, path: string, signal: AbortSignal, body: unknown): Promise<IncomingMessage> {
    const { serviceUrl, gatewayToken } = this.address;
    const headers = {
      authorization: `Bearer ${gatewayToken}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const request = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
    const response = await this.requests.send(`${serviceUrl}/ssh_gateway/${path}`, request).catch((error: unknown) => {
      throw new ServiceUnavailable(`the service at ${serviceUrl} cannot be reached: ${reasonOf(error, signal)}`);
    });
    const { statusCode } = response;
    if (statusCode === 200 || statusCode === 404) return response;
    response.resume();
    throw new ServiceUnavailable(`the service answered ${path} with HTTP ${statusCode}`, statusCode);
  }
}

/** An abort hides its reason in the signal. */
const reasonOf = (error: unknown, signal: AbortSignal): string => messageOf(signal.aborted ? signal.reason : error);

function required<Answer>(answer: Answer | undefined): Answer {
  if (answer !== undefined) return answer;
  throw new ServiceUnavailable('the service has no routes for gateways; set its GATEWAY_TOKENS', 404);
}
