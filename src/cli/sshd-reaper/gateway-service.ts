import type { IncomingMessage } from 'node:http';
import { eventsIn } from '../../gateway/service/event-stream.js';
import { ServiceRequests, textOf } from '../../gateway/service/service-requests.js';
import type { ServiceAddress } from './curl-config.js';
import type { KeyAnswer } from './log-lines.js';

const MAX_ANSWER_MS = 5_000;
/** The service says something every 5 s. */
const MAX_SILENCE_MS = 15_000;
const MAX_RECHECKED = 10_000;

export interface ChangeFollower {
  /** From now on every change is told. */
  ready(): void;
  changed(credentialIds: ReadonlySet<string>): void;
}

/** The routes of the service that the reaper uses. Every failure of the service is an error. */
export class GatewayService {
  private readonly requests = new ServiceRequests();
  private address: ServiceAddress;

  constructor(private readonly readAddress: () => ServiceAddress) {
    this.address = readAddress();
  }

  /** The options of the lines that sshd would get for the key; undefined if it would not be let in. */
  async optionsFor({ keyType, fingerprint }: KeyAnswer): Promise<string[] | undefined> {
    const query = new URLSearchParams({ type: keyType, fingerprint });
    const answer = await this.send('GET', `authorized_keys?${query}`, MAX_ANSWER_MS);
    const text = await textOf(answer);
    if (answer.statusCode === 404) return undefined;
    refuseUnlessOk(answer);
    return text
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(0, line.indexOf(' ')));
  }

  /** The ids of those that have changed. */
  async recheck(credentials: KeyAnswer['credentials']): Promise<ReadonlySet<string>> {
    const changed = new Set<string>();
    for (let n = 0; n < credentials.length; n += MAX_RECHECKED) {
      const body = JSON.stringify(credentials.slice(n, n + MAX_RECHECKED));
      const answer = await this.send('POST', 'recheck', MAX_ANSWER_MS, body);
      const text = await textOf(answer);
      refuseUnlessOk(answer);
      const found: { changed: { credential_id: string }[] } = JSON.parse(text);
      for (const { credential_id } of found.changed) changed.add(credential_id);
    }
    return changed;
  }

  /** Returns or throws when the stream ends. Reads the address again: the token may be another one now. */
  async follow(follower: ChangeFollower, signal: AbortSignal): Promise<void> {
    this.address = this.readAddress();
    const answer = await this.send('GET', 'changes', MAX_SILENCE_MS, undefined, signal);
    refuseUnlessOk(answer);
    for await (const { name, data } of eventsIn(answer, () => undefined)) {
      if (name === 'ready') follower.ready();
      if (name === 'changed') follower.changed(new Set((data as { credential_ids: string[] }).credential_ids));
    }
  }

  private send(
    method: string,
    path: string,
    maxSilenceMs: number,
    body?: string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const { url, authorization, ca } = this.address;
    const headers = { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) };
    return this.requests.send(new URL(path, url).href, { method, headers, signal, body, ca, maxSilenceMs });
  }
}

function refuseUnlessOk(answer: IncomingMessage): void {
  if (answer.statusCode === 200) return;
  answer.destroy();
  throw new Error(`the service answered HTTP ${answer.statusCode}`);
}
