import { listenAddress } from '../kernel/settings/listen-address.js';
import { LOG_LEVELS } from '../kernel/settings/log-levels.js';
import { baseUrl, integer, oneOf, text } from '../kernel/settings/parsers.js';
import type { Setting, SettingsTable, ValuesOf } from '../kernel/settings/setting.js';
import { parseToken } from '../kernel/settings/token.js';
import { networksIn } from '../rules/index.js';
import { parseOwnedHosts } from './owned-hosts.js';
import { parsePorts } from './port-ranges.js';
import { parseProxied } from './settings-parsers.js';

const MAX_MS = 86_400_000;

/** The service and its gateways have this setting in common. */
export const OUTAGE_GRACE: Setting<number> = {
  name: 'GATEWAY_OUTAGE_GRACE_MS',
  about:
    'Time for which open tunnels stay while the service cannot be reached. After its start the service waits as long for its gateways.',
  example: '300000',
  fallback: 300_000,
  parse: integer(0, MAX_MS),
};

/** Each setting of the process by the name of its value: its variable, its sentence, and how it is read. */
export const GATEWAY = {
  serviceUrl: {
    name: 'SERVICE_URL',
    about: 'URL of the service, which the gateway asks about keys and binds.',
    example: 'https://api.example.com',
    fallback: 'http://127.0.0.1:8080',
    parse: baseUrl,
  },
  gatewayToken: {
    name: 'GATEWAY_TOKEN',
    about: 'The token of this gateway, one of `GATEWAY_TOKENS` of the service. Required.',
    example: 'the output of: openssl rand -hex 24',
    fallback: '',
    fallbackText: 'none',
    parse: parseToken,
    isSecret: true,
  },
  // Loopback by default, like the service: a first start must not be reachable from the network.
  sshListen: {
    name: 'GATEWAY_LISTEN',
    about: 'Address and port for SSH clients; `0.0.0.0` for all addresses, port 0 takes a free one.',
    example: '0.0.0.0:2222',
    fallback: { host: '127.0.0.1', port: 2222 },
    fallbackText: '`127.0.0.1:2222`',
    parse: listenAddress(0),
  },
  publicAddress: {
    name: 'GATEWAY_PUBLIC_ADDRESS',
    about:
      'Host and port where SSH clients reach this gateway, such as those of a balancer. `GET /caller` and the command line show it.',
    example: 'ssh.example.com:2222',
    fallback: undefined,
    fallbackText: '`GATEWAY_LISTEN`',
    parse: listenAddress(1),
  },
  proxyProtocolFrom: {
    name: 'GATEWAY_PROXY_PROTOCOL_FROM',
    about:
      'Balancers in front of `GATEWAY_LISTEN`: addresses or networks, comma-separated. Their connections must begin with a header of the PROXY protocol.',
    example: '192.0.2.10,2001:db8:7::/64',
    fallback: [],
    fallbackText: 'none',
    parse: networksIn,
  },
  // Whoever reaches it reaches each bound name, so there is none by default.
  httpListen: {
    name: 'GATEWAY_HTTP_LISTEN',
    about: 'Address and port that serve HTTP for the domains that clients bind, each request by its Host.',
    example: '127.0.0.1:8081',
    fallback: undefined,
    parse: listenAddress(0),
  },
  httpProxies: {
    name: 'GATEWAY_HTTP_PROXIES',
    about:
      'Proxies in front of `GATEWAY_HTTP_LISTEN`: addresses or networks, comma-separated. Only their `X-Forwarded-` headers are believed.',
    example: '127.0.0.1,192.0.2.10',
    fallback: [],
    fallbackText: 'none',
    parse: networksIn,
  },
  hostKeyFile: {
    name: 'GATEWAY_HOST_KEY',
    about: 'File of the host key, in any OpenSSH format. The first start makes it. See [What holds](#what-holds).',
    example: '/var/lib/tunnel-gateway/host_key',
    fallback: 'gateway_host_key',
    parse: text,
  },
  // Loopback: binds that the network can reach are the operator's decision.
  gatewayHosts: {
    name: 'GATEWAY_HOSTS',
    about:
      'Hosts that the gateway serves, comma-separated: an address of this machine, or `name=address`. Binds and edges at other hosts get no listener.',
    example: '127.0.0.1,1.tcp.example.com=0.0.0.0',
    fallback: [
      { host: '127.0.0.1', listenAddress: '127.0.0.1' },
      { host: 'localhost', listenAddress: '127.0.0.1' },
    ],
    fallbackText: '`127.0.0.1,localhost=127.0.0.1`',
    parse: parseOwnedHosts,
  },
  unknownKeys: {
    name: 'GATEWAY_UNKNOWN_KEYS',
    about:
      '`sign`: each key must sign before the gateway asks about it. `refuse`: unknown keys are refused first, so [strangers can test keys](#what-clients-can-do).',
    example: 'sign',
    fallback: 'sign',
    parse: oneOf(['sign', 'refuse'] as const),
  },
  loginGraceMs: {
    name: 'GATEWAY_LOGIN_GRACE_MS',
    about: 'Time within which a client must log in.',
    example: '30000',
    fallback: 30_000,
    parse: integer(100, MAX_MS),
  },
  maxStrangers: {
    name: 'GATEWAY_MAX_STRANGERS',
    about:
      'Maximum connections that have not logged in. At the limit, a new one replaces one of the source with the most, or is closed.',
    example: '500',
    fallback: 500,
    parse: integer(1, 100_000),
  },
  maxConnectionsPerSecond: {
    name: 'GATEWAY_MAX_CONNECTIONS_PER_SECOND',
    about:
      'Maximum new connections a second from one source; those of two seconds may come at once. The gateway closes further ones. 0: no limit.',
    example: '200',
    fallback: 200,
    parse: integer(0, 1_000_000),
  },
  keepaliveMs: {
    name: 'GATEWAY_KEEPALIVE_MS',
    about:
      'After this silence the gateway asks a client for a sign of life. After three without an answer it ends the client.',
    example: '15000',
    fallback: 15_000,
    parse: integer(100, MAX_MS),
  },
  takeOver: {
    name: 'GATEWAY_TAKE_OVER',
    about:
      "When a newer connection of a credential gets an older one's address. `dead`: if that gives no sign of life. `always`: at once.",
    example: 'dead',
    fallback: 'dead',
    parse: oneOf(['dead', 'always'] as const),
  },
  idleMs: {
    name: 'GATEWAY_IDLE_MS',
    about:
      'Time after which the gateway closes a connection through a tunnel without a byte, and a client without a bind.',
    example: '3600000',
    fallback: 3_600_000,
    parse: integer(100, MAX_MS),
  },
  halfClosedMs: {
    name: 'GATEWAY_HALF_CLOSED_MS',
    about:
      'Time after which the gateway closes a connection through a tunnel without a byte whose visitor has ended its side. See [What holds](#what-holds).',
    example: '120000',
    fallback: 120_000,
    parse: integer(100, MAX_MS),
  },
  outageGraceMs: OUTAGE_GRACE,
  maxConnections: {
    name: 'GATEWAY_MAX_CONNECTIONS',
    about: 'Maximum SSH connections of a credential. 0 means no limit, here and in the next seven settings.',
    example: '20',
    fallback: 20,
    parse: integer(0, 1_000_000),
  },
  maxBinds: {
    name: 'GATEWAY_MAX_BINDS',
    about: 'Maximum binds of a credential.',
    example: '100',
    fallback: 100,
    parse: integer(0, 1_000_000),
  },
  maxChannels: {
    name: 'GATEWAY_MAX_CHANNELS',
    about: 'Maximum connections through the tunnels of a credential at a time.',
    example: '1000',
    fallback: 1_000,
    parse: integer(0, 1_000_000),
  },
  maxBytesPerSecond: {
    name: 'GATEWAY_MAX_BYTES_PER_SECOND',
    about: 'Maximum bytes a second through the tunnels of a credential, in both directions together.',
    example: '12500000',
    fallback: 0,
    parse: integer(0, 999_999_999),
  },
  maxRequestsPerSecond: {
    name: 'GATEWAY_MAX_REQUESTS_PER_SECOND',
    about:
      'Maximum requests a second of the clients of a credential; a login counts as five. One source may send ten times as many.',
    example: '500',
    fallback: 500,
    parse: integer(0, 1_000_000),
  },
  maxAccountConnections: {
    name: 'GATEWAY_MAX_ACCOUNT_CONNECTIONS',
    about: 'Maximum SSH connections of an account, with all its credentials.',
    example: '20000',
    fallback: 20_000,
    parse: integer(0, 1_000_000),
  },
  maxAccountBinds: {
    name: 'GATEWAY_MAX_ACCOUNT_BINDS',
    about: 'Maximum binds of an account. Each bind of an address takes a port of the machine.',
    example: '10000',
    fallback: 10_000,
    parse: integer(0, 1_000_000),
  },
  maxAccountChannels: {
    name: 'GATEWAY_MAX_ACCOUNT_CHANNELS',
    about: 'Maximum connections through the tunnels of an account at a time.',
    example: '20000',
    fallback: 20_000,
    parse: integer(0, 1_000_000),
  },
  maxBufferedBytes: {
    name: 'GATEWAY_MAX_BUFFERED_BYTES',
    about:
      'Maximum bytes that wait in memory for slow readers, of all connections together; one credential gets an eighth. See [What holds](#what-holds).',
    example: '536870912',
    fallback: 536_870_912,
    parse: integer(1_048_576, 999_999_999),
  },
  bindPorts: {
    name: 'GATEWAY_BIND_PORTS',
    about: 'Ports that clients may bind at these hosts: ports and ranges, comma-separated. The gateway refuses others.',
    example: '1024-19999,25000-65535',
    fallback: [
      { min: 1024, max: 19_999 },
      { min: 25_000, max: 65_535 },
    ],
    fallbackText: '`1024-19999,25000-65535`',
    parse: parsePorts,
  },
  edgePorts: {
    name: 'GATEWAY_EDGE_PORTS',
    about:
      'Ports that edges may have at these hosts; others get no listener. Keep them apart from `GATEWAY_BIND_PORTS`, so that no bind takes one.',
    example: '20000-24999',
    fallback: [{ min: 20_000, max: 24_999 }],
    fallbackText: '`20000-24999`',
    parse: parsePorts,
  },
  edgeTrafficPolicies: {
    name: 'GATEWAY_TRAFFIC_POLICIES',
    about:
      'For edges with an enabled traffic policy. `refuse`: one whose policy the gateway cannot read is not served. `ignore`: all are served without their policies.',
    example: 'refuse',
    fallback: 'refuse',
    parse: oneOf(['refuse', 'ignore'] as const),
  },
  edgeProxyProtocol: {
    name: 'GATEWAY_PROXY_PROTOCOL',
    about:
      'Labels of tunnels (`key=value`, comma-separated), or `all`: their connections from edges begin with a header of the PROXY protocol, version 2.',
    example: 'team=blue',
    fallback: new Set<string>(),
    fallbackText: 'none',
    parse: parseProxied,
  },
  maxEdgeConnections: {
    name: 'GATEWAY_MAX_EDGE_CONNECTIONS',
    about:
      'Maximum open connections to edges; [own-edges.md](own-edges.md#what-serves-what) says which one the gateway closes at the limit.',
    example: '10000',
    fallback: 10_000,
    parse: integer(1, 1_000_000),
  },
  gatewayMetricsAddress: {
    name: 'GATEWAY_METRICS_LISTEN',
    about: 'Address and port that serve `GET /metrics` and `GET /healthz` of the gateway, without a token.',
    example: '127.0.0.1:9465',
    fallback: undefined,
    parse: listenAddress(0),
  },
  logLevel: {
    name: 'LOG_LEVEL',
    about: '`error`, `warn`, `info` or `debug`.',
    example: 'info',
    fallback: 'info',
    parse: oneOf(LOG_LEVELS),
  },
} as const satisfies SettingsTable;

/** The settings of a gateway. */
export type GatewaySettings = ValuesOf<typeof GATEWAY>;
