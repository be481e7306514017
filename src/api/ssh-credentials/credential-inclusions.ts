import { Injectable } from '@nestjs/common';
import type { Entity } from '../../event-log/index.js';
import { malformed, quoted } from '../../kernel/problem.js';
import { Answer } from '../http/answer.js';
import { queryParameter } from '../http/openapi/parts.js';
import { lastOf } from '../http/pages.js';
import type { ReadRequest } from '../http/request-context.js';
import { type Found, type Inclusion, isAsOf } from '../resources/reads.js';
import { CredentialUsage } from './credential-usage.js';
import type { SshCredential } from './ssh-credential.js';

interface Included extends Inclusion<SshCredential> {
  fieldsOf(credential: Entity<SshCredential>): Promise<{ readonly fingerprint?: string; readonly usage?: object }>;
}

const NAMES: readonly string[] = ['fingerprint', 'usage'];

export const INCLUDE = queryParameter(
  'include',
  'Further fields, separated by commas: `fingerprint`, `usage`. With `usage` there is no ETag, and no `as_of`.',
  { type: 'string', examples: ['fingerprint,usage'] },
);

/** A credential with what the caller asked for. */
export class FoundWith extends Answer {
  constructor(
    private readonly found: Found<SshCredential>,
    private readonly fields: { readonly usage?: object },
  ) {
    super();
  }

  /** No event says the usage, so the version is no validator of it. */
  get headers() {
    return this.fields.usage === undefined ? this.found.headers : {};
  }

  render(baseUrl: string): object {
    return { ...this.found.render(baseUrl), ...this.fields };
  }
}

/** The fields that a caller asks for. A credential has exactly the fields of the public API otherwise. */
@Injectable()
export class CredentialInclusions {
  constructor(private readonly usage: CredentialUsage) {}

  /** Undefined if the caller asks for none. Throws Problem. */
  of(request: ReadRequest): Included | undefined {
    const include = lastOf(request.query.include);
    if (include === undefined) return undefined;
    const names = include.split(',');
    const unknown = names.find((name) => !NAMES.includes(name));
    if (unknown !== undefined) throw malformed(`include ${quoted(unknown)} is unknown; it takes ${NAMES.join(', ')}.`);
    const [hasFingerprint, isOfNow] = [names.includes('fingerprint'), names.includes('usage')];
    if (isOfNow && isAsOf(request)) throw malformed('include=usage is about now: leave out as_of.');
    const fieldsOf = async (credential: Entity<SshCredential>) => ({
      ...(hasFingerprint && { fingerprint: credential.fingerprint }),
      ...(isOfNow && { usage: await this.usage.shownTo(request.caller, credential) }),
    });
    return { query: { include }, fieldsOf };
  }
}
