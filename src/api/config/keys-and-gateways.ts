import { readFileSync } from 'node:fs';
import { OUTAGE_GRACE } from '../../gateway/index.js';
import { flag, integer } from '../../kernel/settings/parsers.js';
import type { SettingsTable } from '../../kernel/settings/setting.js';
import { parseDeniedFingerprints } from '../../rules/index.js';
import { parseGatewayTokens } from '../access/authentication/gateway-tokens.js';

/** The public keys that are accepted, and the gateways that ask about them. */
export const KEYS_AND_GATEWAYS = {
  minRsaBits: {
    name: 'MIN_RSA_BITS',
    about: 'Minimum length of an uploaded RSA key, in bits; at least 1024.',
    example: '3072',
    fallback: 2048,
    parse: integer(1024, 16_384),
  },
  // Read once, at start: if the file vanishes later, its keys must stay denied.
  deniedFingerprints: {
    name: 'DENIED_KEYS_FILE',
    about:
      'File of refused keys, read at start. Each line has a fingerprint (`SHA256:...`) or the output of `ssh-keygen -l`; `#` begins a comment.',
    example: '/etc/tunnel-access/denied-keys',
    fallback: new Set<string>(),
    parse: (path: string) => parseDeniedFingerprints(readFileSync(path, 'utf8')),
  },
  // Empty by default: a gateway reads across accounts, so the operator must name its token.
  gatewayTokens: {
    name: 'GATEWAY_TOKENS',
    about:
      'Tokens of SSH gateways, comma-separated: `token`, `name=token` or `name@account=token`. Without any, the routes of gateways do not exist. See [gateways.md](gateways.md#tokens).',
    example: 'the output of: openssl rand -hex 24',
    fallback: [],
    parse: parseGatewayTokens,
    isSecret: true,
  },
  // The minimum is the largest number of decisions in one request, which otherwise could never succeed.
  decisionsQueueLimit: {
    name: 'DECISIONS_QUEUE_LIMIT',
    about:
      'Maximum bind decisions that wait to be recorded; minimum 1000. The service answers further questions of gateways with 503.',
    example: '10000',
    fallback: 10_000,
    parse: integer(1000, 1_000_000),
  },
  decisionsRetentionDays: {
    name: 'DECISIONS_RETENTION_DAYS',
    about:
      'Days for which bind decisions and the records of sessions, tunnels and edge connections are kept; 0: for ever.',
    example: '90',
    fallback: 90,
    parse: integer(0, 36_500),
  },
  outageGraceMs: OUTAGE_GRACE,
  strict: {
    name: 'STRICT',
    about:
      '`true`: the service also refuses repeated keys and hostports, unknown owners, and what else [Strict mode](#strict-mode) lists.',
    example: 'true',
    fallback: false,
    parse: flag,
  },
} as const satisfies SettingsTable;
