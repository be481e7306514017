import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../kernel/error-message.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { AuthenticationRequest, OfferedKey } from '../protocol/connection.js';
import { Violation } from '../protocol/violation.js';
import type { ConnectionRecord, LoginRefusal } from '../records/connection-record.js';
import type { IdentifiedKey } from '../service-client.js';
import { isSigned, usableKey } from './offered-key.js';

const MAX_ATTEMPTS = 10;
/** Includes requests that only ask whether a key may sign, which the gateway answers at once. */
const MAX_REQUESTS = 50;
/** Every refusal takes this long, so that the time does not tell the reason. It also slows down guesses. */
const REFUSAL_MS = 100;

/** Why a key is refused. `why`: details for the log. */
interface Refusal {
  readonly refusal: LoginRefusal;
  readonly why?: string;
}

/** The answers to a request to log in. */
export interface LoginAnswers {
  maySign(key: OfferedKey): void;
  reject(): void;
  accept(identity: IdentifiedKey): void;
}

/**
 * Logs a client in by public key, and ignores the user name. It lets every usable key sign, and asks the service only
 * about a key that has signed: so a stranger cannot learn which public keys are known. With `unknownKeys: 'refuse'` it
 * refuses unknown keys before a person has to sign with them.
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
    if (this.requests > MAX_REQUESTS) throw this.tooMany(`asked ${this.requests} times to log in`);
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
    if (this.attempts >= MAX_ATTEMPTS) throw this.tooMany(`failed ${this.attempts} times to log in`);
    this.answers.reject();
  }

  /** Usually an agent has more keys than anybody thinks, and the right one comes too late. */
  private tooMany(what: string): Violation {
    this.record.refused('too_many_keys');
    return new Violation('login_limit', what, 'too many keys were offered; use -o IdentitiesOnly=yes -i KEY');
  }

  /** Why a key must not even sign; undefined if it may. */
  private async refusalBefore(fingerprint: string): Promise<Refusal | undefined> {
    if (this.context.settings.unknownKeys === 'sign') return undefined;
    const outcome = await this.identified(fingerprint);
    return 'refusal' in outcome ? outcome : undefined;
  }

  private async outcomeOf(key: OfferedKey, fingerprint: string | undefined): Promise<IdentifiedKey | Refusal> {
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
