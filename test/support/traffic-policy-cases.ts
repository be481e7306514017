// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of policies, which fill ${ } themselves
/** What a traffic policy does with the connections of some sources. Data for every way that a policy is applied. */
export interface TrafficPolicyCase {
  readonly what: string;
  /** The page of ngrok's public documents that has the policy as an example. */
  readonly page?: string;
  readonly policy: string;
  /** The IP policies that it names: the rules of each as `+10.0.0.0/8` (allow) and `-10.1.0.0/16` (deny). */
  readonly ipPolicies?: Readonly<Record<string, readonly string[]>>;
  /** What differs from CONNECTION. With it, even if empty, the outcome depends on more than the source. */
  readonly connection?: Partial<typeof CONNECTION>;
  /** `allowed`, or the reason and the place that decided. */
  readonly sources: Readonly<Record<string, string>>;
  /** The metadata of all logs, source after source. */
  readonly logs?: readonly unknown[];
}

/** A policy that cannot be applied, and why. */
export interface UnreadableCase {
  readonly what: string;
  readonly page?: string;
  readonly policy: string;
  readonly why: string;
}

export const CONNECTION = {
  clientPort: 49_152,
  serverIp: '127.0.0.1',
  serverPort: 10_022,
  endpointId: 'edgtcp_2hrGzPLHppigkyy3AN8oHRBEk9W',
  startedAt: '2026-03-04T09:30:15.250Z',
  now: '2026-03-04T09:30:16Z',
};

const ALLOWED = 'allowed';
const RULE = 'on_tcp_connect[0].actions[0]';
const DENIED = `denied at ${RULE}`;
const RESTRICTED = `ip_restricted at ${RULE}`;

const yaml = (expression: string, action = 'deny'): string =>
  `on_tcp_connect:\n  - expressions:\n      - ${JSON.stringify(expression)}\n    actions:\n      - type: ${action}\n`;
const restrict = (config: object): string =>
  JSON.stringify({ on_tcp_connect: [{ actions: [{ type: 'restrict-ips', config }] }] });

/** A policy that denies if the expression is true, with sources for which it is and is not. */
const denies = (
  expression: string,
  yes: readonly string[],
  no: readonly string[],
  more: Pick<TrafficPolicyCase, 'page' | 'connection'> = {},
): TrafficPolicyCase => ({
  what: `denies if ${expression}`,
  policy: yaml(expression),
  sources: Object.fromEntries([...yes.map((source) => [source, DENIED]), ...no.map((source) => [source, ALLOWED])]),
  ...more,
});

const FROM_DOCUMENTS: readonly TrafficPolicyCase[] = [
  {
    what: 'deny all traffic, in YAML',
    page: 'actions/deny',
    policy: 'on_tcp_connect:\n  - actions:\n      - type: deny\n',
    sources: { '127.0.0.1': DENIED, '8.8.8.8': DENIED, '2001:db8::1': DENIED },
  },
  {
    what: 'deny all traffic, in JSON',
    page: 'actions/deny',
    policy: '{"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}',
    sources: { '127.0.0.1': DENIED, '2001:db8::1': DENIED },
  },
  {
    what: 'deny all traffic, in the older form',
    page: 'actions/deny',
    policy: '{"inbound": [{"actions": [{"type": "deny"}]}]}',
    sources: { '127.0.0.1': 'denied at inbound[0].actions[0]' },
  },
  {
    what: 'the older module of an edge',
    page: 'api/resources/tcp-edge-policy-module',
    policy: `{"enabled":true,"inbound":[{"actions":[{"type":"deny"}],"expressions":["conn.client_ip == '192.0.2.0'"],"name":"Block IP"}]}`,
    sources: { '192.0.2.0': 'denied at inbound[0].actions[0]', '192.0.2.1': ALLOWED, '127.0.0.1': ALLOWED },
  },
  {
    what: 'the older module, as the API answers with it',
    page: 'api/resources/tcp-edge-policy-module',
    policy: `{"enabled":true,"inbound":[{"actions":[{"config":null,"type":"deny"}],"expressions":["conn.client_ip == '192.0.2.0'"],"name":"Block IP"}],"outbound":null}`,
    sources: { '192.0.2.0': 'denied at inbound[0].actions[0]', '127.0.0.1': ALLOWED },
  },
  {
    what: 'allow and deny lists',
    page: 'actions/restrict-ips',
    policy: `on_tcp_connect:
  - actions:
      - type: restrict-ips
        config:
          enforce: true
          allow:
            - 1.1.1.1/32
          deny:
            - 110.0.0.0/8
`,
    sources: { '1.1.1.1': ALLOWED, '110.0.0.0': RESTRICTED, '110.2.3.4': RESTRICTED, '127.0.0.1': RESTRICTED },
  },
  {
    what: 'allow and deny lists, in JSON, with IPv6',
    page: 'actions/restrict-ips',
    policy: restrict({
      enforce: true,
      allow: ['1.1.1.1/32'],
      deny: ['e680:5791:be4c:5739:d959:7b94:6d54:d4b4/128'],
    }),
    sources: { '1.1.1.1': ALLOWED, 'e680:5791:be4c:5739:d959:7b94:6d54:d4b4': RESTRICTED, '127.0.0.1': RESTRICTED },
  },
  {
    what: 'IP policies',
    page: 'actions/restrict-ips',
    policy: `on_tcp_connect:
  - actions:
      - type: restrict-ips
        config:
          enforce: true
          ip_policies:
            - ipp_1yjqdrIBwgciY2I9zH2EelgBbJF
`,
    ipPolicies: { ipp_1yjqdrIBwgciY2I9zH2EelgBbJF: ['+127.0.0.0/8', '-127.0.0.5/32', '+203.0.113.0/24'] },
    sources: { '127.0.0.1': ALLOWED, '127.0.0.5': RESTRICTED, '203.0.113.9': ALLOWED, '198.51.100.1': RESTRICTED },
  },
  {
    what: 'a restriction that is tried, and logged',
    page: 'actions/restrict-ips',
    policy: JSON.stringify({
      on_tcp_connect: [
        {
          actions: [
            { type: 'restrict-ips', config: { enforce: false, ip_policies: ['ipp_1yjqdrIBwgciY2I9zH2EelgBbJF'] } },
            {
              type: 'log',
              config: {
                metadata: {
                  message: 'Restrict IPs action would be ${actions.ngrok.restrict_ips.action} for ${conn.client_ip}.',
                  matched_cidr: '${actions.ngrok.restrict_ips.matched_cidr}',
                  error_code: '${actions.ngrok.restrict_ips.error.code}',
                  error_message: '${actions.ngrok.restrict_ips.error.message}',
                },
              },
            },
          ],
        },
      ],
    }),
    ipPolicies: { ipp_1yjqdrIBwgciY2I9zH2EelgBbJF: ['+127.0.0.0/8', '-127.0.0.5/32'] },
    sources: { '127.0.0.1': ALLOWED, '127.0.0.5': ALLOWED },
    logs: [
      {
        message: 'Restrict IPs action would be allow for 127.0.0.1.',
        matched_cidr: '127.0.0.0/8',
        error_code: '',
        error_message: '',
      },
      {
        message: 'Restrict IPs action would be deny for 127.0.0.5.',
        matched_cidr: '127.0.0.5/32',
        error_code: '',
        error_message: '',
      },
    ],
  },
  {
    what: 'one address, as the page on phase rules has it',
    page: 'concepts/phase-rules',
    policy: `on_tcp_connect:
  - expressions:
      - conn.client_ip == '192.168.1.200'
    actions:
      - type: deny
`,
    sources: { '192.168.1.200': DENIED, '192.168.1.20': ALLOWED, '127.0.0.1': ALLOWED },
  },
  {
    what: 'an expression with ! in quotes',
    page: 'concepts/expressions',
    policy: `on_tcp_connect:
  - expressions:
      - "!(conn.client_ip in ['2001:4860:7:f0e::f4', '98.35.32.113'])"
    actions:
      - type: deny
`,
    sources: { '98.35.32.113': ALLOWED, '2001:4860:7:f0e::f4': ALLOWED, '98.35.32.114': DENIED, '127.0.0.1': DENIED },
  },
  {
    what: 'known addresses',
    page: 'tcp/traffic-policy',
    policy: `on_tcp_connect:
  - name: "LimitToKnownIPs"
    expressions:
      - "conn.client_ip != '8.8.8.8'"
      - "conn.client_ip != '9.9.9.9'"
    actions:
      - type: deny
`,
    sources: { '8.8.8.8': ALLOWED, '9.9.9.9': ALLOWED, '127.0.0.1': DENIED },
  },
  {
    what: 'a log of a known address',
    page: 'tcp/traffic-policy',
    policy: `inbound:
  - name: "LogRequestsFromKnownIP"
    expressions:
      - "conn.client_ip == '127.0.0.1'"
    actions:
      - type: log
        config:
          metadata:
            event: "known-ip"
            data: "127.0.0.1"
`,
    sources: { '127.0.0.1': ALLOWED, '127.0.0.2': ALLOWED },
    logs: [{ event: 'known-ip', data: '127.0.0.1' }],
  },
  {
    what: 'a log with the endpoint',
    page: 'actions/log',
    policy: `on_tcp_connect:
  - actions:
      - type: log
        config:
          metadata:
            message: Log action executed.
            endpoint_id: \${endpoint.id}
`,
    connection: {},
    sources: { '127.0.0.1': ALLOWED },
    logs: [{ message: 'Log action executed.', endpoint_id: CONNECTION.endpointId }],
  },
  {
    what: 'close-connection',
    page: 'actions/close-connection',
    policy: yaml("conn.client_ip.startsWith('127.0.0.')", 'close-connection'),
    sources: { '127.0.0.1': `connection_closed at ${RULE}`, '127.0.1.1': ALLOWED },
  },
  denies("conn.client_ip in ['::1', '127.0.0.1']", ['::1', '127.0.0.1'], ['127.0.0.2', '::2'], {
    page: 'variables/connection',
  }),
  denies('conn.client_port == 80', [], ['127.0.0.1'], { page: 'variables/connection' }),
  denies('conn.client_port == 80', ['127.0.0.1'], [], { page: 'variables/connection', connection: { clientPort: 80 } }),
  denies("conn.server_ip == '192.168.1.1'", ['127.0.0.1'], [], {
    page: 'variables/connection',
    connection: { serverIp: '192.168.1.1' },
  }),
  denies('conn.server_port == 80', ['127.0.0.1'], [], { page: 'variables/connection', connection: { serverPort: 80 } }),
  denies("conn.ts.start > timestamp('2023-12-31T00:00:00Z')", ['127.0.0.1'], [], { page: 'variables/connection' }),
  denies("endpoint.id == 'ep_2iL8LRbQilSCKYjaslRoqBwJcfT'", [], ['127.0.0.1'], { page: 'variables/endpoint' }),
  denies('conn.ts.start < timestamp(time.now)', ['127.0.0.1'], [], { page: 'variables/time', connection: {} }),
  denies("inCidrRange('192.168.1.100', '192.168.1.0/24')", ['127.0.0.1'], [], { page: 'macros' }),
  denies("inCidrRange(conn.client_ip, '66.249.66.1/24')", ['66.249.66.77'], ['66.249.67.1', '127.0.0.1'], {
    page: 'macros',
  }),
  denies(
    "inCidrRanges(conn.client_ip, ['66.249.66.1/24', '2001:4860::/32'])",
    ['66.249.66.77', '2001:4860::8'],
    ['2001:4861::8', '127.0.0.1'],
    { page: 'macros' },
  ),
  denies('isPrivateIp(conn.client_ip)', ['10.0.0.1', 'fd00::1'], ['192.0.2.1']),
  denies("'192.168.1.1'.isPrivateIp()", ['127.0.0.1'], [], { page: 'macros' }),
  denies('[1, -2, 3].exists(x, x > 0) && [1, 2, 3].all(x, x > 0)', ['127.0.0.1'], [], { page: 'macros' }),
  denies('[1, 2, 3].exists_one(x, x == 2) && [1, 2, 3].map(n, n * n) == [1, 4, 9]', ['127.0.0.1'], [], {
    page: 'macros',
  }),
  denies('[1, 2, 3].filter(x, x > 1) == [2, 3]', ['127.0.0.1'], [], { page: 'macros' }),
  denies('[1, 2, 3, 4].map(num, num % 2 == 0, num * 2) == [4, 8]', ['127.0.0.1'], [], { page: 'macros' }),
  denies(`"foobar".matches("foo.*") && matches("hello", "^h.*o$") && !"test".matches("fail")`, ['127.0.0.1'], [], {
    page: 'macros',
  }),
  denies(
    `"hello world".startsWith("hello") && "hello world".endsWith("world") && "ngrok".contains("gro")`,
    ['127.0.0.1'],
    [],
    { page: 'macros' },
  ),
  denies(`'hello mellow'.indexOf('ello') == 1 && 'hello mellow'.indexOf('jello') == -1`, ['127.0.0.1'], [], {
    page: 'macros',
  }),
  denies(
    `['hello', 'mellow'].join() == 'hellomellow' && ['hello', 'mellow'].join(' ') == 'hello mellow'`,
    ['127.0.0.1'],
    [],
    { page: 'macros' },
  ),
  denies(`'hello,mellow,hi'.split(',') == ['hello', 'mellow', 'hi']`, ['127.0.0.1'], [], { page: 'macros' }),
  denies(`"ÉCOLE".lower() == "école" && "йога".upper() == "ЙОГА"`, ['127.0.0.1'], [], { page: 'macros' }),
  denies(
    `size("こんにちは") == 5 && ['hello', 'world'].size() == 2 && {'hello': 'world'}.size() == 1`,
    ['127.0.0.1'],
    [],
    {
      page: 'concepts/expressions',
    },
  ),
  denies(
    `"apple" in {"apple": 1, "banana": 2} && {'one': 1, 'two': 2}.exists(x, x.startsWith('o'))`,
    ['127.0.0.1'],
    [],
    {
      page: 'macros',
    },
  ),
  denies(
    `timestamp("2023-12-25T00:00:00Z").getDate() == 25 && timestamp("2023-12-25T00:00:00Z").getDate("America/Los_Angeles") == 24`,
    ['127.0.0.1'],
    [],
    { page: 'macros' },
  ),
  denies(
    `timestamp("2024-01-01T10:00:00Z").getDate("Asia/Tokyo") == 1 && timestamp("2023-12-25T00:00:00Z").getDayOfMonth() == 24`,
    ['127.0.0.1'],
    [],
    { page: 'macros' },
  ),
  denies(
    `timestamp("2023-12-25T12:00:00Z").getDayOfWeek() == 1 && timestamp("2023-12-25T12:00:00Z").getDayOfYear() == 358`,
    ['127.0.0.1'],
    [],
    { page: 'macros' },
  ),
  denies(
    `duration("1.234s").getMilliseconds() == 234 && duration("1h30m").getMinutes() == 90 && duration("3h").getHours() == 3`,
    ['127.0.0.1'],
    [],
    { page: 'macros' },
  ),
  denies(
    `timestamp("2023-12-25T12:00:00.500Z").getMilliseconds() == 500 && timestamp("2023-12-25T12:00:00Z").getMonth() == 11`,
    ['127.0.0.1'],
    [],
    { page: 'macros' },
  ),
];

const OWN: readonly TrafficPolicyCase[] = [
  { what: 'no rules', policy: '{}', sources: { '127.0.0.1': ALLOWED } },
  { what: 'an empty list of rules', policy: '{"on_tcp_connect": []}', sources: { '127.0.0.1': ALLOWED } },
  { what: 'an empty list of rules, in YAML', policy: 'on_tcp_connect: []\n', sources: { '::1': ALLOWED } },
  ...[
    ['in double quotes', `"! inCidrRange(conn.client_ip, '10.0.0.0/8')"`],
    ['in single quotes', "'!inCidrRange(conn.client_ip, ''10.0.0.0/8'')'"],
    ['in a block', "|-\n          !inCidrRange(conn.client_ip, '10.0.0.0/8')"],
    ['after other text', "true && !inCidrRange(conn.client_ip, '10.0.0.0/8')"],
  ].map(([where, expression]) => ({
    what: `an expression of YAML with ! ${where}`,
    policy: `on_tcp_connect:\n  - expressions:\n      - ${expression}\n    actions:\n      - type: deny\n`,
    sources: { '192.0.2.1': DENIED, '10.1.2.3': ALLOWED },
  })),
  {
    what: 'names in quotes that are signs of YAML',
    policy:
      'on_tcp_connect:\n  - actions:\n      - type: log\n        config:\n          metadata: { "<<": a << b & *c, "!d": "*" }\n',
    sources: { '127.0.0.1': ALLOWED },
    logs: [{ '<<': 'a << b & *c', '!d': '*' }],
  },
  {
    what: 'other phases without rules',
    policy: '{"on_http_request": [], "on_http_response": null, "on_tcp_connect": [{"actions": [{"type": "deny"}]}]}',
    sources: { '127.0.0.1': DENIED },
  },
  {
    what: 'a policy that is not enabled',
    policy: '{"enabled": false, "inbound": [{"actions": [{"type": "deny"}]}]}',
    sources: { '127.0.0.1': ALLOWED },
  },
  {
    what: 'the first rule that ends it',
    policy: `on_tcp_connect:
  - expressions: ["conn.client_ip == '127.0.0.2'"]
    actions: [{ type: close-connection }]
  - name: all others of the machine
    expressions: ["inCidrRange(conn.client_ip, '127.0.0.0/8')"]
    actions: [{ type: deny }]
`,
    sources: {
      '127.0.0.2': `connection_closed at ${RULE}`,
      '127.0.0.3': 'denied at on_tcp_connect[1].actions[0]',
      '192.0.2.1': ALLOWED,
    },
  },
  {
    what: 'actions in their order',
    policy: `on_tcp_connect:
  - actions:
      - type: log
        config: { metadata: { step: 1 } }
      - type: restrict-ips
        config: { allow: [127.0.0.0/30] }
      - type: log
        config: { metadata: { step: 2 } }
      - type: deny
      - type: log
        config: { metadata: { step: 3 } }
`,
    sources: {
      '127.0.0.1': 'denied at on_tcp_connect[0].actions[3]',
      '127.0.0.9': 'ip_restricted at on_tcp_connect[0].actions[1]',
    },
    logs: [{ step: 1 }, { step: 2 }, { step: 1 }],
  },
  {
    what: 'two restrictions, both of which must let in',
    policy: JSON.stringify({
      on_tcp_connect: [
        { actions: [{ type: 'restrict-ips', config: { allow: ['127.0.0.0/8'] } }] },
        { actions: [{ type: 'restrict-ips', config: { allow: ['0.0.0.0/0'], deny: ['127.0.0.4'] } }] },
      ],
    }),
    sources: {
      '127.0.0.1': ALLOWED,
      '127.0.0.4': 'ip_restricted at on_tcp_connect[1].actions[0]',
      '128.0.0.1': RESTRICTED,
    },
  },
  { what: 'a restriction without rules', policy: restrict({}), sources: { '127.0.0.1': RESTRICTED } },
  {
    what: 'a restriction that only denies',
    policy: restrict({ deny: ['10.0.0.0/8'] }),
    sources: { '127.0.0.1': RESTRICTED },
  },
  {
    what: 'a network with bits after its prefix',
    policy: restrict({ allow: ['127.0.0.77/24'] }),
    sources: { '127.0.0.1': ALLOWED, '127.0.1.1': RESTRICTED },
  },
  {
    what: 'an address without a prefix',
    policy: restrict({ allow: ['127.0.0.1', '::1'] }),
    sources: { '127.0.0.1': ALLOWED, '::1': ALLOWED, '127.0.0.2': RESTRICTED },
  },
  {
    what: 'IPv4 only',
    policy: restrict({ allow: ['0.0.0.0/0'] }),
    sources: { '127.0.0.1': ALLOWED, '::1': RESTRICTED },
  },
  { what: 'IPv6 only', policy: restrict({ allow: ['::/0'] }), sources: { '127.0.0.1': RESTRICTED, '::1': ALLOWED } },
  {
    what: 'rules of the action and of IP policies together',
    policy: restrict({ allow: ['127.0.0.1/32'], deny: ['127.0.0.2/32'], ip_policies: ['ipp_a', 'ipp_b'] }),
    ipPolicies: { ipp_a: ['+127.0.0.0/28'], ipp_b: ['-127.0.0.3/32'] },
    sources: {
      '127.0.0.1': ALLOWED,
      '127.0.0.2': RESTRICTED,
      '127.0.0.3': RESTRICTED,
      '127.0.0.4': ALLOWED,
      '127.0.0.16': RESTRICTED,
    },
  },
  {
    what: 'an IP policy that does not exist',
    policy: restrict({ allow: ['127.0.0.0/8'], ip_policies: ['ipp_gone'] }),
    sources: { '127.0.0.1': RESTRICTED },
  },
  {
    what: 'an IP policy that does not exist, without effect',
    policy: restrict({ enforce: false, ip_policies: ['ipp_gone'] }),
    sources: { '127.0.0.1': ALLOWED },
  },
  {
    what: 'what a restriction found, in the next rule',
    policy: `on_tcp_connect:
  - actions:
      - type: restrict-ips
        config: { enforce: false, allow: [127.0.0.0/30] }
  - expressions: ["actions.ngrok.restrict_ips.action == 'deny'"]
    actions: [{ type: close-connection }]
`,
    sources: { '127.0.0.1': ALLOWED, '127.0.0.9': 'connection_closed at on_tcp_connect[1].actions[0]' },
  },
  {
    what: 'what no restriction found yet, in a rule that ends it',
    policy: yaml("actions.ngrok.restrict_ips.action == 'allow'"),
    sources: { '127.0.0.1': 'expression_failed at on_tcp_connect[0].expressions[0]' },
  },
  denies('has(actions.ngrok.restrict_ips.action)', [], ['127.0.0.1']),
  {
    what: 'an expression that fails in a rule that only logs',
    policy: `on_tcp_connect:
  - expressions: ["int(conn.client_ip) > 1"]
    actions: [{ type: log, config: { metadata: { a: 1 } } }]
  - actions: [{ type: log, config: { metadata: { a: 2 } } }]
`,
    sources: { '127.0.0.1': ALLOWED },
    logs: [{ a: 2 }],
  },
  {
    what: 'an expression that fails beside one that is false',
    policy: `on_tcp_connect:
  - expressions: ["int(conn.client_ip) > 1", "conn.client_ip == '127.0.0.2'"]
    actions: [{ type: deny }]
`,
    sources: { '127.0.0.1': ALLOWED, '127.0.0.2': 'expression_failed at on_tcp_connect[0].expressions[0]' },
  },
  denies("int(conn.client_ip.split('.')[3]) >= 128", ['127.0.0.128'], ['127.0.0.127']),
  {
    what: 'a part of an address that IPv6 does not have',
    policy: yaml("int(conn.client_ip.split('.')[3]) >= 128"),
    sources: { '::1': 'expression_failed at on_tcp_connect[0].expressions[0]' },
  },
  denies("conn.client_ip.matches('^127[.]0[.]0[.][1-3]$')", ['127.0.0.1', '127.0.0.3'], ['127.0.0.4', '127.0.0.11']),
  denies(
    'conn.client_ip.isPrivateIp()',
    ['10.1.2.3', '172.16.0.1', '192.168.0.1', 'fc00::1', 'fd12:3456::1', 'fdff:ffff::1'],
    ['127.0.0.1', '172.32.0.1', '::1', 'fe80::1', 'fbff::1', '2001:db8::1'],
  ),
  {
    what: 'a network that is computed, and is none',
    policy: yaml("inCidrRange(conn.client_ip, conn.client_ip + '/33')"),
    sources: { '127.0.0.1': 'expression_failed at on_tcp_connect[0].expressions[0]', '::1': DENIED },
  },
  {
    what: 'an address that is computed, and is none',
    policy: yaml("('1' + conn.client_ip).isPrivateIp()"),
    sources: {
      '1.2.3.4': ALLOWED,
      '0.0.0.1': DENIED,
      '127.0.0.1': 'expression_failed at on_tcp_connect[0].expressions[0]',
    },
  },
  {
    what: 'a part that is no number',
    policy: yaml("int(conn.client_ip.split(':')[0]) > 100"),
    sources: { '::1': 'expression_failed at on_tcp_connect[0].expressions[0]', '200::1': DENIED, '10::1': ALLOWED },
  },
  {
    what: 'a restriction that nobody knows whether it was to happen',
    policy: `on_tcp_connect:
  - actions: [{ type: restrict-ips, config: { enforce: false, allow: [127.0.0.0/8] } }]
  - expressions: ["int(conn.client_ip.split('.')[3]) > 0"]
    actions: [{ type: restrict-ips, config: { enforce: false, allow: [127.0.0.1] } }]
  - expressions: ["actions.ngrok.restrict_ips.action == 'deny'"]
    actions: [{ type: deny }]
`,
    sources: {
      '127.0.0.1': ALLOWED,
      '127.0.0.2': 'denied at on_tcp_connect[2].actions[0]',
      '::1': 'expression_failed at on_tcp_connect[2].expressions[0]',
    },
  },
  denies("inCidrRange(conn.client_ip, '::ffff:127.0.0.0/112')", ['127.0.9.9'], ['127.1.0.1', '::1']),
  denies("inCidrRange(conn.client_ip, '127.0.0.' + string(2 * 2) + '/30')", ['127.0.0.5'], ['127.0.0.1']),
  denies("{'127.0.0.1': 'office', '127.0.0.2': 'home'}[conn.client_ip] == 'office'", ['127.0.0.1'], ['127.0.0.2']),
  denies("conn.client_ip in {'127.0.0.1': true}", ['127.0.0.1'], ['127.0.0.2']),
  denies(
    "conn.client_ip == '127.0.0.1' ? true : conn.client_ip == '127.0.0.2'",
    ['127.0.0.1', '127.0.0.2'],
    ['127.0.0.3'],
  ),
  denies("conn.client_ip.lower() == '2001:db8::a' // in the canonical spelling", ['2001:DB8:0::A'], ['127.0.0.1']),
  denies("conn.client_ip == '127.0.0.1'", ['::ffff:127.0.0.1'], ['127.0.0.2']),
  denies(
    "conn.ts.start.getHours('Europe/Berlin') < 8 || conn.ts.start.getHours('Europe/Berlin') >= 18",
    [],
    ['127.0.0.1'],
    {
      connection: { startedAt: '2026-03-04T07:00:00Z' },
    },
  ),
  denies(
    "conn.ts.start.getHours('Europe/Berlin') < 8 || conn.ts.start.getHours('Europe/Berlin') >= 18",
    ['127.0.0.1'],
    [],
    {
      connection: { startedAt: '2026-07-04T05:59:59Z' },
    },
  ),
  denies("timestamp(time.now) - conn.ts.start < duration('1s')", ['127.0.0.1'], [], { connection: {} }),
  denies('conn.client_port + conn.server_port == 59174', ['127.0.0.1'], [], { connection: {} }),
  denies("timestamp('2026-02-30T00:00:00Z') < conn.ts.start || true", ['127.0.0.1'], []),
  {
    what: 'metadata of every kind',
    policy: JSON.stringify({
      on_tcp_connect: [
        {
          actions: [
            {
              type: 'log',
              config: {
                metadata: {
                  port: '${conn.client_port}',
                  at: 'from ${conn.ts.start} on',
                  brace: "${ {'a': 'x}'}['a'] }",
                  money: '$5 {}',
                  list: ['${1 + 1}', 3, null, { deep: '${true}' }],
                  lost: '<${int(conn.client_ip)}>',
                },
              },
            },
          ],
        },
      ],
    }),
    connection: {},
    sources: { '127.0.0.1': ALLOWED },
    logs: [
      {
        port: '49152',
        at: 'from 2026-03-04T09:30:15Z on',
        brace: 'x}',
        money: '$5 {}',
        list: ['2', 3, null, { deep: 'true' }],
        lost: '<>',
      },
    ],
  },
];

/** Policies with the right outcome for some sources each. */
export const TRAFFIC_POLICY_CASES: readonly TrafficPolicyCase[] = [...FROM_DOCUMENTS, ...OWN];

/**
 * What shows that a program decides by this library: each reason, IP policies, logs, and the ends and times of a
 * connection. The spec of the library has the whole table.
 */
export const SHOWN_CASES: readonly TrafficPolicyCase[] = TRAFFIC_POLICY_CASES.filter((one, n) => {
  const reasons = Object.values(one.sources).map((outcome) => outcome.split(' ')[0]);
  const isFirst = (reason: string | undefined): boolean =>
    TRAFFIC_POLICY_CASES.findIndex(({ sources }) =>
      Object.values(sources).some((outcome) => outcome.split(' ')[0] === reason),
    ) === n;
  return reasons.some(isFirst) || [one.connection, one.ipPolicies, one.logs].some((given) => given !== undefined);
});

const rule = (fields: object): string => JSON.stringify({ on_tcp_connect: [fields] });
const action = (fields: object): string => rule({ actions: [fields] });
const known =
  'known are conn.client_ip, conn.client_port, conn.server_ip, conn.server_port, conn.ts.start, endpoint.id, time.now';
const unreadable = (what: string, policy: string, why: string, page?: string): UnreadableCase => ({
  ...{ what, policy, why, ...(page !== undefined && { page }) },
});
const expression = (text: string, why: string, page?: string): UnreadableCase =>
  unreadable(text, yaml(text), `on_tcp_connect[0].expressions[0] ${why}`, page);

/** Expressions without quotes that YAML reads as something else. */
const SIGNS_OF_YAML = [
  ['! and a blank', "! inCidrRange(conn.client_ip, '10.0.0.0/8')", 'a tag (!)'],
  ['! alone', '!', 'a tag (!)'],
  ['! before a quoted text', `! "conn.client_ip == '10.0.0.1'"`, 'a tag (!)'],
  ['!! before a type', '!!str conn.client_port == 1', 'a tag (!)'],
  ['& and a name', '&conn.client_port == 1', 'an anchor (&)'],
  ['* and a name', '*.example.com', 'an alias (*)'],
] as const;

/** Policies that are stored, but not applied. */
export const UNREADABLE_CASES: readonly UnreadableCase[] = [
  unreadable('nothing', ' \n', 'the policy is empty; send {} for a policy without rules.'),
  unreadable('no object', '[]', 'the policy must be an object, such as {"on_tcp_connect": []}.'),
  unreadable('a word', 'deny', 'the policy must be an object, such as {"on_tcp_connect": []}.'),
  unreadable(
    'neither JSON nor YAML',
    '{"on_tcp_connect": [',
    'the policy is neither JSON nor YAML: unexpected end of the stream within a flow collection (line 1, column 21).',
  ),
  unreadable(
    'an expression with ! without quotes',
    "on_tcp_connect:\n  - expressions:\n      - !(conn.client_ip in ['98.35.32.113'])\n    actions:\n      - type: deny\n",
    'the policy has a tag (!) of YAML in line 3; put it in quotes.',
    'concepts/expressions',
  ),
  ...SIGNS_OF_YAML.map(([what, expression, sign]) => ({
    what,
    policy: `on_tcp_connect:\n  - expressions:\n      - ${expression}\n    actions:\n      - type: deny\n`,
    why: `the policy has ${sign} of YAML in line 3; put it in quotes.`,
  })),
  ...[
    ['an anchor of a rule', 'on_tcp_connect:\n  - &a\n    actions: [{ type: deny }]\n  - *a\n', 'an anchor (&)', 2],
    ['a tag of the whole', '--- !!map\non_tcp_connect: []\n', 'a tag (!)', 1],
    ['a tag of a key', '{"on_tcp_connect": [], !!bool enabled: "false"}', 'a tag (!)', 1],
    ['a tag that it declares', '%TAG !a! tag:a.example,2026:\n---\non_tcp_connect: !a!b []\n', 'a tag (!)', 3],
    ['a merge key', 'on_tcp_connect:\n  - <<: { actions: [] }\n', 'a merge key (<<)', 2],
    ['a merge key after CRLF', '# one\r\n? <<\r\n: { enabled: false }\r\n', 'a merge key (<<)', 2],
  ].map(([what, policy, sign, line]) => ({
    what: `${what} of YAML`,
    policy: String(policy),
    why: `the policy has ${sign} of YAML in line ${line}; put it in quotes.`,
  })),
  unreadable(
    'a key twice in YAML',
    'on_tcp_connect: []\non_tcp_connect: []\n',
    'the policy is neither JSON nor YAML: duplicated mapping key (line 2, column 1).',
  ),
  unreadable(
    'a field twice in JSON',
    '{"on_tcp_connect": [{"actions": [{"type": "deny"}], "actions": [{"type": "log", "config": {"metadata": {}}}]}]}',
    'the policy has an object with two fields of one name; leave one of them.',
  ),
  unreadable(
    'a field twice in JSON, in another spelling',
    String.raw`{"enabled": true, "\u0065nabled": false, "on_tcp_connect": []}`,
    'the policy has an object with two fields of one name; leave one of them.',
  ),
  unreadable(
    'another phase',
    `on_http_request:\n- name: "Immediately close connection"\n  expressions:\n    - req.url.path.startsWith("/dc")\n  actions:\n    - type: close-connection\n`,
    'on_http_request has rules, but a TCP connection goes through on_tcp_connect only; leave it out.',
    'actions/close-connection',
  ),
  unreadable(
    'rules for what goes out',
    '{"inbound": [], "outbound": [{"actions": [{"type": "deny"}]}]}',
    'outbound has rules, but a TCP connection goes through on_tcp_connect only; leave it out.',
  ),
  unreadable(
    'an unknown phase',
    '{"on_udp_packet": []}',
    "the policy has the field 'on_udp_packet', which is not known here; known are on_tcp_connect, inbound, on_http_request, on_http_response, outbound, enabled.",
  ),
  unreadable(
    'both names of the phase',
    '{"inbound": [], "on_tcp_connect": []}',
    'inbound is the older name of on_tcp_connect; send one of them.',
  ),
  unreadable('rules that are no list', '{"on_tcp_connect": {}}', 'on_tcp_connect must be a list of rules.'),
  unreadable('a rule that is no object', '{"on_tcp_connect": ["deny"]}', 'on_tcp_connect[0] must be an object.'),
  unreadable(
    'a rule with an unknown field',
    rule({ expression: 'true', actions: [{ type: 'deny' }] }),
    "on_tcp_connect[0] has the field 'expression', which is not known here; known are name, expressions, actions.",
  ),
  unreadable(
    'a rule without actions',
    rule({ expressions: [] }),
    'on_tcp_connect[0].actions must be a list of one or more actions.',
  ),
  unreadable(
    'a rule with an empty list of actions',
    rule({ actions: [] }),
    'on_tcp_connect[0].actions must be a list of one or more actions.',
  ),
  unreadable(
    'a rule whose name is a number',
    rule({ name: 1, actions: [{ type: 'deny' }] }),
    'on_tcp_connect[0].name must be a string.',
  ),
  unreadable(
    'expressions that are no list',
    rule({ expressions: 'true', actions: [{ type: 'deny' }] }),
    'on_tcp_connect[0].expressions must be a list.',
  ),
  unreadable(
    'an expression that YAML reads as true',
    'on_tcp_connect:\n  - expressions:\n      - true\n    actions:\n      - type: deny\n',
    'on_tcp_connect[0].expressions[0] must be a string; put it in quotes.',
  ),
  unreadable('enabled that is a text', '{"enabled": "no"}', 'enabled must be true or false.'),
  ...['custom-response', 'terminate-tls'].map((type) => ({
    what: `the action ${type}`,
    policy: action({ type, config: {} }),
    why: `on_tcp_connect[0].actions[0].type is '${type}', which is not an action for a TCP connection here; known are deny, close-connection, restrict-ips, log.`,
  })),
  unreadable(
    'an action without a type',
    action({}),
    'on_tcp_connect[0].actions[0].type must be the name of an action.',
  ),
  unreadable(
    'deny with a status',
    action({ type: 'deny', config: { status_code: 404 } }),
    "on_tcp_connect[0].actions[0].config has the field 'status_code', which is not known here; it has no fields.",
    'actions/deny',
  ),
  unreadable(
    'log without metadata',
    action({ type: 'log', config: {} }),
    'on_tcp_connect[0].actions[0].config.metadata must be an object.',
  ),
  unreadable('log without config', action({ type: 'log' }), 'on_tcp_connect[0].actions[0].config must be an object.'),
  unreadable(
    'metadata that is too long',
    action({ type: 'log', config: { metadata: { a: 'x'.repeat(4_096) } } }),
    'on_tcp_connect[0].actions[0].config.metadata is 4104 bytes long as JSON; the maximum is 4096.',
  ),
  unreadable(
    'metadata with an open ${',
    action({ type: 'log', config: { metadata: { a: ['${conn.client_ip'] } } }),
    'on_tcp_connect[0].actions[0].config.metadata.a[0] has ${ without }.',
  ),
  unreadable(
    'metadata with a secret',
    action({ type: 'log', config: { metadata: { a: "${secrets.get('vault', 'name')}" } } }),
    `on_tcp_connect[0].actions[0].config.metadata.a \${ } calls the function 'secrets.get', which is not known here.`,
  ),
  unreadable(
    'metadata with a list as text',
    action({ type: 'log', config: { metadata: { a: '${[1]}' } } }),
    'on_tcp_connect[0].actions[0].config.metadata.a ${ } must be a text, a number, true or false, or a time, and is list<int>.',
  ),
  unreadable(
    'enforce that is a text',
    restrict({ enforce: 'yes' }),
    'on_tcp_connect[0].actions[0].config.enforce must be true or false.',
  ),
  unreadable(
    'a network that is none',
    restrict({ deny: ['10.0.0.0/8', '10.0.0.0/33'] }),
    "on_tcp_connect[0].actions[0].config.deny[1] is '10.0.0.0/33'; a network is such as 192.0.2.0/24 or 2001:db8::/32.",
  ),
  unreadable(
    'a network that is computed',
    restrict({ allow: ['${conn.client_ip}/24'] }),
    'on_tcp_connect[0].actions[0].config.allow[0] has ${ }, which is not filled here; write the network out; a network is such as 192.0.2.0/24 or 2001:db8::/32.',
  ),
  unreadable(
    'an IP policy without an id',
    restrict({ ip_policies: ['ipp_a', ''] }),
    'on_tcp_connect[0].actions[0].config.ip_policies[1] must be the id of an IP policy.',
  ),
  unreadable(
    'IP policies that are no list',
    restrict({ ip_policies: 'ipp_a' }),
    'on_tcp_connect[0].actions[0].config.ip_policies must be a list.',
  ),
  expression(
    "inCidrRange(conn.client_ip, '127.0.0.1/33')",
    "has the network '127.0.0.1/33', which is none such as 192.0.2.0/24, 192.0.2.1/32 or 2001:db8::/32.",
  ),
  expression(
    "inCidrRanges(conn.client_ip, ['10.0.0.0/8', '10.0.0.1'])",
    "has the network '10.0.0.1', which is none such as 192.0.2.0/24, 192.0.2.1/32 or 2001:db8::/32.",
  ),
  expression('[[[[1]]]].size() > 0', 'has lists or maps in each other more than 3 deep.'),
  expression(
    "conn.client_ip.geo.location.country_code == 'US'",
    `uses the variable 'conn.client_ip.geo.location.country_code', which is not known here; ${known}.`,
    'concepts/expressions',
  ),
  expression("conn.ClientIP == '192.0.2.0'", `uses the variable 'conn.ClientIP', which is not known here; ${known}.`),
  expression(
    "req.url.path.startsWith('/api/v1/')",
    `uses the variable 'req.url.path', which is not known here; ${known}.`,
    'concepts/expressions',
  ),
  expression("conn['client_ip'] == '::1'", `uses the variable 'conn', which is not known here; ${known}.`),
  expression('rand.double() >= 0.5', "calls the function 'rand.double', which is not known here.", 'macros'),
  expression("'a,b'.split(',', 1) == ['a']", 'calls split with 2 arguments, which is not known here.', 'macros'),
  expression('cel.bind(a, 1, a == 1)', "calls the function 'cel.bind', which is not known here."),
  expression('matches_(conn.client_ip, conn.client_ip)', "calls the function 'matches_', which is not known here."),
  expression("b'abc' == b'abc'", 'uses bytes, which are not known here.'),
  expression('{1: 2}[1] == 2', 'has a map with a key that is not a plain text.'),
  expression("{'__proto__': 2}.size() == 1", 'has a map with a key that is not a plain text.'),
  expression('99999999999999999999 > 1', 'has an integer of more than 64 bits.'),
  expression('conn.client_ip.matches(conn.server_ip)', 'calls matches with a pattern that is computed; write it out.'),
  expression(
    "conn.client_ip.matches('(?=1)')",
    'has a pattern that has a group that begins with (?, which is read only as (?: ) and as (?i) at the start.',
  ),
  expression(
    "conn.ts.start.getHours('Europe/Nowhere') == 1",
    "has the time zone 'Europe/Nowhere', which is none such as Europe/Berlin.",
  ),
  expression('conn.client_ip', 'must be true or false, and is string.'),
  expression('conn.client_ip == 1', 'is not valid: no such overload: string == int.'),
  expression("conn.client_port.lower() == ''", "is not valid: found no matching overload for 'int.lower()'."),
  expression(
    "[1, 'a'].size() == 2",
    "is not valid: List elements must have the same type, expected type 'int' but found 'string'.",
  ),
  expression('conn.client_ip ==', 'is not an expression: Unexpected token: EOF.'),
  expression('[value * 2 for value in [1]] == [2]', 'is not an expression: ', 'concepts/expressions'),
  expression('', 'is not an expression: Unexpected token: EOF.'),
];
