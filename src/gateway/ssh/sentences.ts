import type { Stop } from '../sessions/open-sessions.js';
import type { BindRequest } from './bind-request.js';

/** Sentences for the terminal of a client. */

/** The name of a bind for its client. A port without a listener is part of it only if the client chose it. */
export function nameOf({ target, asked }: BindRequest, port: number): string {
  if ('host' in target) return `${target.host}:${port}`;
  const name = 'domain' in target ? target.domain : target.labels.map(({ key, value }) => `${key}=${value}`).join(',');
  return asked.port === 0 ? name : `${name}:${asked.port}`;
}

/** The line that a session shows while the bind is open. */
export function boundLine(request: BindRequest, port: number, isHttp: boolean, url: string | undefined): string {
  if (url !== undefined) return `bound ${nameOf(request, port)}: ${url}`;
  const note = isHttp ? ', which serves HTTP' : ' (nothing serves it: this gateway has no GATEWAY_HTTP_LISTEN)';
  return `bound ${nameOf(request, port)}${'domain' in request.target ? note : ''}`;
}

/** Why a session ends that somebody stopped. */
export const stopSentence = ({ by, restart }: Stop): string =>
  `closed: ${by} ${restart ? 'restarted' : 'stopped'} this session`;

/** Why a bind is refused or closed. `needs`: the rule that would permit it, if the service names one. */
export function sentenceOf(reason: string | undefined, needs: string | null | undefined, source: string): string {
  const rule = typeof needs === 'string' ? `; it needs the rule ${needs}` : '';
  const sentences: Record<string, string> = {
    not_permitted: `no rule of the credential permits it${rule}`,
    source_not_allowed: `the credential may not be used from ${source}`,
    expired: 'the credential has expired',
    owner_inactive: 'the owner of the credential is inactive',
    unknown_key: 'the credential was deleted',
    reserved_elsewhere: 'it is reserved for another account or credential; bind another one',
    not_reserved: 'it must be reserved before it is bound: POST /reserved_addrs, or /reserved_domains for a domain',
    another_account: 'the key belongs to another account now; connect again',
    service_unavailable: 'the service was away for too long',
  };
  return sentences[reason ?? ''] ?? `the service refuses it (${reason})`;
}
