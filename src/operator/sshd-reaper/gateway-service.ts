import { type GatewayRoutes, type Rechecked, ServiceClient, type ServiceEvent } from '../../gateway/index.js';
import { HttpClient } from '../../kernel/network/http-client.js';
import type { KeyAnswer } from './log-lines.js';

/** Calls the routes of the service that the reaper needs. Each method rejects if the service fails. */
export class GatewayService {
  private readonly http = new HttpClient();
  private client: ServiceClient;

  constructor(private readonly readRoutes: () => GatewayRoutes) {
    this.client = new ServiceClient(readRoutes(), this.http);
  }

  /** The options of the lines that sshd would get for the key now; undefined if it would refuse the key. */
  async optionsFor({ keyType, fingerprint }: KeyAnswer): Promise<string[] | undefined> {
    const text = await this.client.text(
      'GET',
      `authorized_keys?${new URLSearchParams({ type: keyType, fingerprint })}`,
    );
    return text
      ?.trimEnd()
      .split('\n')
      .map((line) => line.slice(0, line.indexOf(' ')));
  }

  /** The ids of the credentials that have changed. */
  async recheck(credentials: KeyAnswer['credentials']): Promise<ReadonlySet<string>> {
    if (credentials.length === 0) return new Set();
    const { changed } = await this.client.recheck(credentials);
    return new Set(changed.map(({ credential_id }) => credential_id));
  }

  /** Whether reservations have changed since an earlier answer, whose `reservations` stood for all of that moment. */
  async reservationsSince(reservations: string | undefined): Promise<Omit<Rechecked, 'changed'>> {
    return this.client.recheck([], reservations);
  }

  /** Follows the changes. Resolves when the stream ends. Reads the config again, since the token may have changed. */
  async changes(signal: AbortSignal, tell: (event: ServiceEvent) => void): Promise<void> {
    this.client = new ServiceClient(this.readRoutes(), this.http);
    await this.client.changes('changes', signal, tell);
  }
}
