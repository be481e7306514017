import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../error-message.js';
import type { GatewayContext } from '../gateway-context.js';
import type { ConnectionRecord, LoginRefusal } from '../log/connection-record.js';
import type { AuthenticationRequest, SignedKey } from '../protocol/connection.js';
import { Violation } from '../protocol/violation.js';
import type { IdentifiedKey } from '../service-client.js';
import { isSigned, usableKey } from './signed-key.js';

const MAX_ATTEMPTS = 10;
/** Including those that only ask whether a key may sign. These are answered at once, and each answer repeats the key. */
const MAX_REQUESTS = 50;
/** Each refusal takes as long, whatever its reason. It also slows down those who guess. */
const REFUSAL_MS = 100;

/** Why a key is refused; `why` says more. */
interface Refusal {
  readonly refusal: LoginRefusal;
  readonly why?: string;
}

/** What a request to log in gets. */
export interface LoginAnswers {
  maySign(key: SignedKey): void;
  reject(): void;
  accept(identity: IdentifiedKey): void;
}

/**
 * Logs a client in by public key; the user name is ignored. Every usable key is told that it may sign, and the service is
 * asked only about a key that has signed. So a stranger cannot learn which public keys are known.
 */
export class Login {
  private attempts = 0;
  private requests = 0;

  constructor(
    private readonly context: Pick<GatewayContext, 'service'>,
    private readonly record: ConnectionRecord,
    private readonly answers: LoginAnswers,
  ) {}

  /** Throws Violation above the maximum of requests. */
  async answer({ method, key }: AuthenticationRequest): Promise<void> {
    this.requests += 1;
    if (this.requests > MAX_REQUESTS) throw new Violation('login_limit', `asked ${this.requests} times to log in`);
    this.record.asked(key);
    if (method !== 'publickey' || key === undefined) return this.answers.reject();
    const refusal = sleep(REFUSAL_MS);
    const usable = usableKey(key);
    if (usable !== undefined && key.signature === undefined) return this.answers.maySign(key);
    this.attempts += 1;
    const outcome: IdentifiedKey | Refusal =
      usable === undefined ? { refusal: 'unusable_key' } : await this.outcomeOf(key, usable.fingerprint);
    if (!('refusal' in outcome)) return this.answers.accept(outcome);
    this.record.refused(outcome.refusal, outcome.why);
    await refusal;
    if (this.attempts >= MAX_ATTEMPTS) throw new Violation('login_limit', `failed ${this.attempts} times to log in`);
    this.answers.reject();
  }

  private async outcomeOf(key: SignedKey, fingerprint: string): Promise<IdentifiedKey | Refusal> {
    if (!isSigned(key)) return { refusal: 'bad_signature' };
    try {
      return (await this.context.service.identify(fingerprint)) ?? { refusal: 'unknown_key' };
    } catch (error) {
      return { refusal: 'service_unavailable', why: messageOf(error) };
    }
  }
}
