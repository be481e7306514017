import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../kernel/error-message.js';
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
 * asked only about a key that has signed. So a stranger cannot learn which public keys are known, unless the operator wants
 * unknown ones to be refused before a person is asked to sign with them.
 */
export class Login {
  private attempts = 0;
  private requests = 0;

  constructor(
    private readonly context: Pick<GatewayContext, 'service' | 'settings'>,
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
    const isQuestion = usable !== undefined && key.signature === undefined;
    const outcome: IdentifiedKey | Refusal | undefined = isQuestion
      ? await this.refusalBefore(usable.fingerprint)
      : await this.outcomeOf(key, usable?.fingerprint);
    if (outcome === undefined) return this.answers.maySign(key);
    if (!('refusal' in outcome)) return this.answers.accept(outcome);
    this.record.refused(outcome.refusal, outcome.why);
    await refusal;
    this.attempts += 1;
    if (this.attempts >= MAX_ATTEMPTS) throw new Violation('login_limit', `failed ${this.attempts} times to log in`);
    this.answers.reject();
  }

  /** Why a key must not even sign; undefined if it may. */
  private async refusalBefore(fingerprint: string): Promise<Refusal | undefined> {
    if (this.context.settings.unknownKeys === 'sign') return undefined;
    const outcome = await this.identified(fingerprint);
    return 'refusal' in outcome ? outcome : undefined;
  }

  private async outcomeOf(key: SignedKey, fingerprint: string | undefined): Promise<IdentifiedKey | Refusal> {
    if (fingerprint === undefined) return { refusal: 'unusable_key' };
    return isSigned(key) ? this.identified(fingerprint) : { refusal: 'bad_signature' };
  }

  private async identified(fingerprint: string): Promise<IdentifiedKey | Refusal> {
    try {
      return (await this.context.service.identify(fingerprint)) ?? { refusal: 'unknown_key' };
    } catch (error) {
      return { refusal: 'service_unavailable', why: messageOf(error) };
    }
  }
}
