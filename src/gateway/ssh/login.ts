import { setTimeout as sleep } from 'node:timers/promises';
import type { AuthContext, PublicKeyAuthContext } from 'ssh2';
import { messageOf } from '../../error-message.js';
import type { GatewayContext } from '../gateway-context.js';
import type { IdentifiedKey } from '../service-client.js';
import { isSigned, usableKey } from './signed-key.js';

const MAX_ATTEMPTS = 10;
/** Including those that only ask whether a key may sign. These are answered at once, and each answer repeats the key. */
const MAX_REQUESTS = 50;
/** Each refusal takes as long, whatever its reason. It also slows down those who guess. */
const REFUSAL_MS = 100;

type Outcome = 'accepted' | 'bad_signature' | 'unknown_key' | 'service_unavailable';

/**
 * Logs a client in by public key; the user name is ignored. Every usable key is told that it may sign, and the service is
 * asked only about a key that has signed. So a stranger cannot learn which public keys are known.
 */
export class Login {
  private attempts = 0;
  private requests = 0;
  /** That of the signature which was accepted. */
  identity: IdentifiedKey | undefined;

  constructor(
    private readonly context: GatewayContext,
    private readonly source: string,
    private readonly end: () => void,
  ) {}

  async answer(request: AuthContext): Promise<void> {
    this.requests += 1;
    if (this.requests > MAX_REQUESTS) return this.end();
    if (request.method !== 'publickey') return request.reject(['publickey']);
    const refusal = sleep(REFUSAL_MS);
    const key = usableKey(request);
    if (key !== undefined && request.signature === undefined) return request.accept();
    this.attempts += 1;
    const outcome = key === undefined ? 'bad_signature' : await this.outcomeOf(request, key.fingerprint);
    this.context.metrics.logins.inc({ outcome });
    if (outcome === 'accepted') return request.accept();
    await refusal;
    if (this.attempts >= MAX_ATTEMPTS) this.end();
    else request.reject(['publickey']);
  }

  private async outcomeOf(request: PublicKeyAuthContext, fingerprint: string): Promise<Outcome> {
    if (!isSigned(request)) return 'bad_signature';
    try {
      this.identity = await this.context.service.identify(fingerprint);
      return this.identity === undefined ? 'unknown_key' : 'accepted';
    } catch (error) {
      const { source } = this;
      this.context.log.line('warn', { source, fingerprint }, `a login was refused: ${messageOf(error)}`);
      return 'service_unavailable';
    }
  }
}
