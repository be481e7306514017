import { integer } from '../../kernel/settings/parsers.js';
import type { SettingsTable } from '../../kernel/settings/setting.js';
import { canonicalHost, networksIn, ParseError, parseTunnelDomain } from '../../rules/index.js';
import { parsePools } from '../reservations/address-pools.js';

const WEEK_MS = 604_800_000;

export const RESERVATIONS = {
  addressPools: {
    name: 'ADDRESS_POOL',
    about:
      'Addresses that the service gives to whoever reserves one: `host:from-to` or `region=host:from-to`, comma-separated. See [reservations.md](reservations.md).',
    example: 'eu=1.tcp.example.com:20000-29999',
    fallback: [],
    fallbackText: 'none',
    parse: parsePools,
  },
  reservationRestMs: {
    name: 'RESERVATION_REST_MS',
    about:
      'Time for which nobody binds a reserved address or domain after its deletion, and no other account reserves it.',
    example: '3600000',
    fallback: 3_600_000,
    parse: integer(0, WEEK_MS),
  },
  maxReservations: {
    name: 'MAX_RESERVATIONS',
    about: 'Maximum reserved addresses and domains of an account.',
    example: '1000',
    fallback: 10_000,
    parse: integer(0, 1_000_000),
  },
  tunnelDomain: {
    name: 'TUNNEL_DOMAIN',
    about:
      'Domain below which each credential has a name of its own, as the URL that browsers use. See [http-by-name.md](http-by-name.md#names-below-yours).',
    example: 'https://tunnels.example.com',
    fallback: undefined,
    parse: parseTunnelDomain,
  },
  tlsAskFrom: {
    name: 'TLS_ASK_FROM',
    about:
      'Who may ask `GET /tls_ask`: addresses or networks, comma-separated. See [http-by-name.md](http-by-name.md#certificates).',
    example: '192.0.2.10',
    fallback: networksIn('127.0.0.0/8,::1'),
    fallbackText: 'loopback',
    parse: networksIn,
  },
  unreservableHosts: {
    name: 'UNRESERVABLE_HOSTS',
    about:
      'Hosts, comma-separated, that nobody may reserve, nor addresses at them outside of pools. See [reservations.md](reservations.md#who-may-reserve-what).',
    example: 'gateway.example.com,api.example.com',
    fallback: [],
    fallbackText: 'none',
    parse: (text: string): readonly string[] => text.split(',').map((host) => parseHost(host.trim())),
  },
} as const satisfies SettingsTable;

function parseHost(text: string): string {
  try {
    return canonicalHost(text);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new Error(`has ${text}: ${error.message}`);
  }
}
