import type { Decision, IdentifiedKey, ServiceClient, TargetBody } from '../service-client.js';
import { BindRefused, isOfReservation } from '../tunnels/bind-refused.js';
import { sentenceOf } from './sentences.js';

/** The service takes 1,000 targets. The smaller limit lets the questions of other clients come in between. */
const MAX_TARGETS = 100;

/** A target that the service permitted. */
export interface Permission {
  readonly target: TargetBody;
  readonly credentialId: string;
  readonly version: number;
  readonly expiresAt: Decision['expiresAt'];
}

interface Question {
  readonly target: TargetBody;
  readonly answer: (decision: Decision | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/** Asks the service about the binds of one client: one request at a time, with all questions that wait. */
export class BindQuestions {
  private readonly waiting: Question[] = [];
  private isAsking = false;

  constructor(
    private readonly service: Pick<ServiceClient, 'authorize'>,
    private readonly identity: IdentifiedKey,
    private readonly source: string,
  ) {}

  /** Rejects with BindRefused unless every target is permitted, and with Unavailable if the service does not answer. */
  permissionsFor(targets: readonly TargetBody[]): Promise<readonly Permission[]> {
    return Promise.all(targets.map((target) => this.permissionFor(target)));
  }

  private async permissionFor(target: TargetBody): Promise<Permission> {
    const decision = await this.ask(target);
    const refused = (reason: string | undefined) =>
      new BindRefused(
        isOfReservation(reason) ? reason : 'not_permitted',
        sentenceOf(reason, decision?.needs, this.source),
      );
    if (decision?.allowed !== true) throw refused(decision?.reason);
    if (decision.account_id !== this.identity.account_id) throw refused('another_account');
    const { credential_id, version, expiresAt } = decision;
    return { target, credentialId: credential_id ?? '', version: version ?? 0, expiresAt };
  }

  private ask(target: TargetBody): Promise<Decision | undefined> {
    return new Promise((answer, fail) => {
      this.waiting.push({ target, answer, fail });
      if (!this.isAsking) void this.askAll();
    });
  }

  /** Never rejects: a failed request fails its questions. */
  private async askAll(): Promise<void> {
    this.isAsking = true;
    while (this.waiting.length > 0) await this.askSome(this.waiting.splice(0, MAX_TARGETS));
    this.isAsking = false;
  }

  private async askSome(asked: readonly Question[]): Promise<void> {
    try {
      const targets = asked.map(({ target }) => target);
      const decisions = await this.service.authorize(this.identity.fingerprint, targets, this.source);
      for (const [n, { answer }] of asked.entries()) answer(decisions[n]);
    } catch (error) {
      for (const { fail } of asked) fail(error);
    }
  }
}
