import type { IncomingMessage } from 'node:http';
import { malformed, Problem } from '../../../kernel/problem.js';

const VERSIONS: readonly string[] = ['1.0', '1.1'];

/** What the parser accepts but the service does not serve; undefined if the request may go on. */
export function protocolProblemOf({ httpVersion, headers, rawHeaders }: IncomingMessage): Problem | undefined {
  if (!VERSIONS.includes(httpVersion)) return unsupportedVersion();
  const hosts = rawHeaders.filter(
    (text, n) => n % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host',
  ).length;
  // RFC 9112, 3.2. A proxy may have routed the request by the other Host.
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return malformed(`The request has ${hosts} Host headers; send one.`);
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    return new Problem('not_implemented', 'The only Transfer-Encoding that the service knows is chunked.');
  }
  if (httpVersion === '1.1' && headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return new Problem('expectation_failed', 'The only Expect that the service meets is 100-continue.');
  }
  return undefined;
}

export const unsupportedVersion = (): Problem =>
  new Problem('http_version_unsupported', 'The service speaks HTTP/1.1 and HTTP/1.0 only.');
