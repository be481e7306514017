import {
  type Decoder,
  flag,
  integer,
  listOf,
  mapOfTexts,
  nullable,
  object,
  optional,
  text,
  time,
  uri,
} from './decoders.js';

/**
 * The requests of the other official clients, and their requirements for the answers, recorded from their public
 * sources (facts, no code), so that the development of this service does not need their languages. `{{name}}` stands
 * for a value of the run: `token`, `key` (a new public key), and the ids that earlier exchanges keep. Everything else
 * is sent byte for byte.
 */
export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  readonly status: number;
  /** The client's decoder of the answer. */
  readonly answer?: Decoder;
  /** Fields that the client's user must find in the answer. */
  readonly holds?: object;
  /** The name of the answer's id in later exchanges. */
  readonly keeps?: string;
}

export interface RecordedClient {
  readonly name: string;
  /** Source of the facts: the repository and its files. */
  readonly from: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent beside `headers` if there is a body. */
  readonly bodyHeaders: Readonly<Record<string, string>>;
  readonly exchanges: readonly Exchange[];
  readonly list: {
    readonly firstPage: string;
    readonly page: Decoder;
    /** How it finds the next page, and when it stops. */
    readonly next: 'follows next_page_uri' | 'asks before the last id until a page is empty' | 'cuts the base URL off';
  };
  readonly error: Decoder;
}

/** How a client reads the fields of a resource. It differs by language, but hardly by resource. */
interface Rules {
  readonly text: Decoder;
  readonly uri: Decoder;
  readonly time: Decoder;
  readonly list: (item: Decoder) => Decoder;
  /** Fields that the API itself calls optional. */
  readonly may: (decoder: Decoder) => Decoder;
}

function resources(rules: Rules) {
  const { text: words, uri: address, time: instant, list, may } = rules;
  const ref = object({ id: text, uri: address });
  const backend = object({ enabled: may(flag), backend: ref });
  const ipRestriction = object({ enabled: may(flag), ip_policies: list(ref) });
  const trafficPolicy = object({ enabled: may(flag), value: words });
  const head = { id: text, uri: address, created_at: instant };
  const labels = { description: words, metadata: words };
  const credential = object({ ...head, ...labels, public_key: words, acl: list(text), owner_id: may(text) });
  const edge = object({
    ...head,
    ...labels,
    hostports: may(listOf(text)),
    backend: may(backend),
    ip_restriction: may(ipRestriction),
    traffic_policy: may(trafficPolicy),
  });
  const bot = object({ ...head, name: words, active: flag });
  const apiKey = object({ ...head, ...labels, token: may(text), owner_id: may(text) });
  const policy = object({ ...head, ...labels });
  const rule = object({ ...head, ...labels, cidr: words, ip_policy: ref, action: words });
  const group = object({ ...head, ...labels, labels: may(mapOfTexts), tunnels: list(ref) });
  const addr = object({ ...head, ...labels, addr: words, region: words });
  const domain = object({
    ...head,
    ...labels,
    domain: words,
    region: words,
    cname_target: may(words),
    certificate: may(ref),
    certificate_management_policy: may(object({ authority: words, private_key_type: words })),
    certificate_management_status: may(object({ renews_at: may(instant) })),
    acme_challenge_cname_target: may(words),
  });
  // Every client requests it unchanged, so it must be absolute for all.
  const page = object({ ssh_credentials: list(credential), uri: address, next_page_uri: may(uri) });
  const pages = {
    ip_policies: object({ ip_policies: list(policy), uri: address, next_page_uri: may(uri) }),
    ip_policy_rules: object({ ip_policy_rules: list(rule), uri: address, next_page_uri: may(uri) }),
    'backends/tunnel_group': object({ backends: list(group), uri: address, next_page_uri: may(uri) }),
  };
  const reservedPages = {
    reserved_addrs: object({ reserved_addrs: list(addr), uri: address, next_page_uri: may(uri) }),
    reserved_domains: object({ reserved_domains: list(domain), uri: address, next_page_uri: may(uri) }),
  };
  const modules = { backend, ipRestriction, trafficPolicy };
  return { ...modules, credential, edge, bot, apiKey, page, policy, rule, group, pages, addr, domain, reservedPages };
}

const wholeError = object({ error_code: optional(text), status_code: integer, msg: text, details: mapOfTexts });

type More = Pick<Exchange, 'holds' | 'keeps'>;
const get = (path: string, answer: Decoder, more: More = {}): Exchange => ({
  ...{ method: 'GET', path, status: 200, answer, ...more },
});
const post = (path: string, body: string, answer: Decoder, more: More = {}): Exchange => ({
  ...{ method: 'POST', path, body, status: 201, answer, ...more },
});
const patch = (path: string, body: string, answer: Decoder, more: More = {}): Exchange => ({
  ...{ method: 'PATCH', path, body, status: 200, answer, ...more },
});
const put = (path: string, body: string, answer: Decoder, more: More = {}): Exchange => ({
  ...{ method: 'PUT', path, body, status: 200, answer, ...more },
});
const remove = (path: string): Exchange => ({ method: 'DELETE', path, status: 204 });

/** The bodies in which a client writes policies, their rules and tunnel groups. */
interface BodiesOfNamed {
  readonly policy: string;
  readonly rule: string;
  readonly ruleUpdate: string;
  readonly group: string;
  readonly groupUpdate: string;
}

/**
 * What edges name: created, read, listed, changed and deleted. Three clients do it: Rust writes every field, .NET writes
 * null for all of them, and Java writes none that is not set, as Go does.
 */
function named({ policy, rule, group, pages }: ReturnType<typeof resources>, bodies: BodiesOfNamed): Exchange[] {
  const [ofRule, ofGroup] = ['/ip_policy_rules/{{rule}}', '/backends/tunnel_group/{{group}}'];
  const allows = { cidr: '192.0.2.0/24', action: 'allow', ip_policy: { id: '{{policy}}' } };
  const isNew = { labels: { app: 'build' }, tunnels: [] };
  return [
    post('/ip_policies', bodies.policy, policy, { keeps: 'policy' }),
    post('/ip_policy_rules', bodies.rule, rule, { holds: allows, keeps: 'rule' }),
    get(ofRule, rule),
    patch(ofRule, bodies.ruleUpdate, rule, { holds: { cidr: '2001:db8::/32', action: 'allow' } }),
    post('/backends/tunnel_group', bodies.group, group, { holds: isNew, keeps: 'group' }),
    get(ofGroup, group),
    patch(ofGroup, bodies.groupUpdate, group, { holds: { labels: { app: 'test' } } }),
    ...Object.entries(pages).map(([path, answer]) => get(`/${path}?limit=2`, answer)),
    ...[ofRule, '/ip_policies/{{policy}}', ofGroup].map(remove),
  ];
}

/** The bodies in which a client reserves any address of a pool and the domain `<client>.example.test`. */
interface BodiesOfReserved {
  readonly addr: string;
  readonly domain: string;
  /** Sets the description of either to `d`. */
  readonly addrUpdate: string;
  readonly domainUpdate: string;
}

/** Addresses and domains: created, read, listed, changed and deleted. No client has a field for the address, and the same three do it. */
function reserved(
  { addr, domain, reservedPages }: ReturnType<typeof resources>,
  name: string,
  bodies: BodiesOfReserved,
): Exchange[] {
  const [ofAddr, ofDomain] = ['/reserved_addrs/{{addr}}', '/reserved_domains/{{domain}}'];
  const isDomain = { domain: `${name}.example.test`, region: '' };
  return [
    post('/reserved_addrs', bodies.addr, addr, { keeps: 'addr', holds: { metadata: '', region: '' } }),
    get(ofAddr, addr),
    patch(ofAddr, bodies.addrUpdate, addr, { holds: { description: 'd', metadata: '' } }),
    post('/reserved_domains', bodies.domain, domain, { keeps: 'domain', holds: { ...isDomain, metadata: '' } }),
    get(ofDomain, domain, { holds: isDomain }),
    patch(ofDomain, bodies.domainUpdate, domain, { holds: { ...isDomain, description: 'd' } }),
    ...Object.entries(reservedPages).map(([path, answer]) => get(`/${path}?limit=2`, answer)),
    ...[ofAddr, ofDomain].map(remove),
  ];
}

/** nil and null are the zero value to encoding/json; a value of another type fails the whole answer. */
const go = resources({
  text: optional(text),
  uri: optional(uri),
  time: optional(text),
  list: (item) => optional(listOf(item)),
  may: optional,
});

/**
 * Every field is `omitempty`: empty texts, lists and nil pointers are not sent, the id of a PATCH neither. Fields of an update
 * are pointers, so `""` can be sent; `[]` cannot. encoding/json writes <, > and & as \u003c, \u003e, \u0026. A module is put
 * bare. The status of an error is read from its body (`IsNotFound`); `details` is a map[string]string.
 */
const GO: RecordedClient = {
  name: 'Go',
  from: 'ngrok/ngrok-api-go: client.go, error.go, datatypes.go, ssh_credentials/, edges/tcp/, edge_modules/tcp_edge_*/, reserved_addrs/, reserved_domains/ (v2 to v7)',
  headers: {
    authorization: 'Bearer {{token}}',
    'user-agent': 'github.com/ngrok/ngrok-api-go/v2',
    'ngrok-version': '2',
    'accept-encoding': 'gzip',
  },
  bodyHeaders: { 'content-type': 'application/json' },
  exchanges: [
    post('/ssh_credentials', '{"description":"laptop \\u003ca\\u0026b\\u003e","public_key":"{{key}}"}', go.credential, {
      holds: { description: 'laptop <a&b>', metadata: '', acl: [], public_key: '{{key}}' },
      keeps: 'credential',
    }),
    get('/ssh_credentials/{{credential}}', go.credential),
    patch('/ssh_credentials/{{credential}}', '{"acl":["bind:*.example.com"]}', go.credential, {
      holds: { description: 'laptop <a&b>', acl: ['bind:*.example.com'] },
    }),
    patch('/ssh_credentials/{{credential}}', '{"description":""}', go.credential, {
      holds: { description: '', acl: ['bind:*.example.com'] },
    }),
    remove('/ssh_credentials/{{credential}}'),
    post('/edges/tcp', '{"hostports":["go.example.test:443"],"backend":{"backend_id":"bkdtg_1"}}', go.edge, {
      holds: { hostports: ['go.example.test:443'], backend: { enabled: true, backend: { id: 'bkdtg_1' } } },
      keeps: 'edge',
    }),
    patch(
      '/edges/tcp/{{edge}}',
      '{"metadata":"m","ip_restriction":{"enabled":false,"ip_policy_ids":["ipp_1"]}}',
      go.edge,
      { holds: { metadata: 'm', ip_restriction: { enabled: false, ip_policies: [{ id: 'ipp_1' }] } } },
    ),
    put('/edges/tcp/{{edge}}/traffic_policy', '{"enabled":true,"value":"{}"}', go.trafficPolicy, {
      holds: { enabled: true, value: '{}' },
    }),
    get('/edges/tcp/{{edge}}/backend', go.backend),
    remove('/edges/tcp/{{edge}}/traffic_policy'),
    post('/bot_users', '{"name":"go"}', go.bot, { holds: { name: 'go', active: true }, keeps: 'bot' }),
    post('/api_keys', '{"description":"go","owner_id":"{{bot}}"}', go.apiKey, {
      holds: { owner_id: '{{bot}}' },
      keeps: 'api_key',
    }),
    patch('/bot_users/{{bot}}', '{"active":false}', go.bot, { holds: { name: 'go', active: false } }),
  ],
  list: { firstPage: '/ssh_credentials?limit=2', page: go.page, next: 'follows next_page_uri' },
  error: wholeError,
};

/** Before v4 the iterator ignored `next_page_uri`: it requested the items before the last id until a page was empty. */
const GO_BEFORE_V4: RecordedClient = {
  ...GO,
  name: 'Go before v4',
  from: 'ngrok/ngrok-api-go: ssh_credentials/client.go (v2)',
  exchanges: [],
  list: { ...GO.list, next: 'asks before the last id until a page is empty' },
};

/** A property is `props["x"]`: a missing field is a KeyError, null is None. */
const python = resources({
  text: nullable(text),
  uri: nullable(text),
  time: nullable(text),
  list: listOf,
  may: nullable,
});

/**
 * Creates send the defaults `"description": ""`, `"metadata": ""`, `"acl": []`; what is None is left out, in updates too.
 * `requests` writes JSON with a blank after each comma and colon and everything outside ASCII escaped. Base URL and path
 * are joined as they are. A DELETE has `Content-Length: 0`. Errors are read by `err["status_code"]`, `["msg"]`, `["details"]`.
 */
const PYTHON: RecordedClient = {
  name: 'Python',
  from: 'ngrok/ngrok-api-python: ngrok/http_client.py, ngrok/services.py, ngrok/datatypes.py, ngrok/iterator.py',
  headers: {
    'user-agent': 'python-requests/2.32.3',
    'accept-encoding': 'gzip, deflate',
    accept: '*/*',
    connection: 'keep-alive',
    'ngrok-version': '2',
    authorization: 'Bearer {{token}}',
  },
  bodyHeaders: { 'content-type': 'application/json' },
  exchanges: [
    post(
      '/ssh_credentials',
      '{"description": "", "metadata": "", "acl": [], "public_key": "{{key}}"}',
      python.credential,
      { holds: { description: '', metadata: '', acl: [] }, keeps: 'credential' },
    ),
    get('/ssh_credentials/{{credential}}', python.credential),
    patch('/ssh_credentials/{{credential}}', '{"description": "b\\u00fcro \\ud83d\\udd11"}', python.credential, {
      holds: { description: 'büro 🔑' },
    }),
    patch('/ssh_credentials/{{credential}}', '{}', python.credential, { holds: { description: 'büro 🔑' } }),
    remove('/ssh_credentials/{{credential}}'),
    post(
      '//edges/tcp',
      '{"description": "", "metadata": "", "hostports": ["py.example.test:22"], "backend": {"enabled": null, "backend_id": "bkdwd_1"}}',
      python.edge,
      { holds: { backend: { enabled: true, backend: { id: 'bkdwd_1' } }, ip_restriction: null }, keeps: 'edge' },
    ),
    put(
      '/edges/tcp/{{edge}}/ip_restriction',
      '{"enabled": true, "ip_policy_ids": ["ipp_1", "ipp_2"]}',
      python.ipRestriction,
      { holds: { ip_policies: [{ id: 'ipp_1' }, { id: 'ipp_2' }] } },
    ),
    remove('/edges/tcp/{{edge}}/ip_restriction'),
    post('/bot_users', '{"name": "py"}', python.bot, { keeps: 'bot' }),
    post('/api_keys', '{"description": "", "metadata": ""}', python.apiKey, { keeps: 'api_key' }),
    get('/api_keys/{{api_key}}', python.apiKey, { holds: { token: null } }),
  ],
  list: { firstPage: '/ssh_credentials?limit=2', page: python.page, next: 'follows next_page_uri' },
  error: object({ error_code: optional(text), status_code: integer, msg: text, details: mapOfTexts }),
};

/** `result['x']` is nil for a missing field; only a field that it maps over must be a list. */
const ruby = resources({
  text: optional(text),
  uri: optional(text),
  time: optional(text),
  list: listOf,
  may: optional,
});

/**
 * Creates send the same defaults as Python's. A module is put as `{"module": ...}` without the id. A full URL has the base URL
 * cut off its front and put back, so `next_page_uri` must begin with the base URL. Net::HTTP adds its own headers.
 */
const RUBY: RecordedClient = {
  name: 'Ruby',
  from: 'ngrok/ngrok-api-ruby: lib/ngrokapi/http_client.rb, services/ssh_credentials_client.rb, services/tcp_edge_backend_module_client.rb, services/reserved_domains_client.rb, models/listable.rb, paged_iterator.rb',
  headers: {
    authorization: 'Bearer {{token}}',
    'ngrok-version': '2',
    'accept-encoding': 'gzip;q=1.0,deflate;q=0.6,identity;q=0.3',
    accept: '*/*',
    'user-agent': 'Ruby',
  },
  bodyHeaders: { 'content-type': 'application/json' },
  exchanges: [
    post('/ssh_credentials', '{"description":"","metadata":"","acl":[],"public_key":"{{key}}"}', ruby.credential, {
      keeps: 'credential',
    }),
    get('/ssh_credentials/{{credential}}', ruby.credential),
    patch('/ssh_credentials/{{credential}}', '{"metadata":"m","acl":["*"]}', ruby.credential, {
      holds: { description: '', metadata: 'm', acl: ['*'] },
    }),
    remove('/ssh_credentials/{{credential}}'),
    post('/edges/tcp', '{"description":"","metadata":"","hostports":["rb.example.test:22"]}', ruby.edge, {
      keeps: 'edge',
    }),
    put('/edges/tcp/{{edge}}/backend', '{"module":{"backend_id":"bkdhr_1"}}', ruby.backend, {
      holds: { enabled: true, backend: { id: 'bkdhr_1' } },
    }),
    remove('/edges/tcp/{{edge}}/backend'),
  ],
  list: { firstPage: '/ssh_credentials?limit=2', page: ruby.page, next: 'cuts the base URL off' },
  error: object({}),
};

/** serde: `String` and `Vec` bear neither null nor absence, `Option` bears both. */
const rust = resources({ text, uri: text, time: text, list: listOf, may: optional });

/**
 * serde writes every field: null for each `Option` that is not set, "" and [] for the rest. The id is in the body of a PATCH and
 * beside the module of a PUT. Fields a version has and we do not are null too: `policy`, the predecessor of `traffic_policy`.
 * 204 is read without its body. An error needs `error_code` and `msg`.
 */
const RUST: RecordedClient = {
  name: 'Rust',
  from: 'ngrok/ngrok-api-rs: src/lib.rs, src/types.rs, src/clients.rs',
  headers: { authorization: 'Bearer {{token}}', 'ngrok-version': '2', accept: '*/*' },
  bodyHeaders: { 'content-type': 'application/json' },
  exchanges: [
    post(
      '/ssh_credentials',
      '{"description":"","metadata":"","acl":[],"public_key":"{{key}}","owner_id":null}',
      rust.credential,
      { keeps: 'credential' },
    ),
    get('/ssh_credentials/{{credential}}', rust.credential),
    patch(
      '/ssh_credentials/{{credential}}',
      '{"id":"{{credential}}","description":"rust","metadata":null,"acl":["bind:a.example.com"]}',
      rust.credential,
      { holds: { description: 'rust', metadata: '', acl: ['bind:a.example.com'] } },
    ),
    patch(
      '/ssh_credentials/{{credential}}',
      '{"id":"{{credential}}","description":null,"metadata":null,"acl":null}',
      rust.credential,
      { holds: { description: 'rust', acl: ['bind:a.example.com'] } },
    ),
    remove('/ssh_credentials/{{credential}}'),
    post(
      '/edges/tcp',
      '{"description":"","metadata":"","hostports":null,"backend":null,"ip_restriction":null,"traffic_policy":null}',
      rust.edge,
      { holds: { hostports: [], backend: null }, keeps: 'edge' },
    ),
    post(
      '/edges/tcp',
      '{"description":"","metadata":"","hostports":null,"backend":{"enabled":null,"backend_id":"bkdtg_1"},"ip_restriction":null,"policy":null}',
      rust.edge,
      { holds: { backend: { enabled: true, backend: { id: 'bkdtg_1' } } } },
    ),
    put(
      '/edges/tcp/{{edge}}/traffic_policy',
      '{"id":"{{edge}}","module":{"enabled":null,"value":"{}"}}',
      rust.trafficPolicy,
      { holds: { enabled: true, value: '{}' } },
    ),
    patch(
      '/edges/tcp/{{edge}}',
      '{"id":"{{edge}}","description":null,"metadata":null,"hostports":["rs.example.test:22"],"backend":null,"ip_restriction":null,"traffic_policy":null}',
      rust.edge,
      { holds: { hostports: ['rs.example.test:22'], traffic_policy: { value: '{}' } } },
    ),
    remove('/edges/tcp/{{edge}}/traffic_policy'),
    post('/bot_users', '{"name":"rs","active":null}', rust.bot, { holds: { active: true }, keeps: 'bot' }),
    patch('/bot_users/{{bot}}', '{"id":"{{bot}}","name":null,"active":false}', rust.bot, {
      holds: { name: 'rs', active: false },
    }),
    post('/api_keys', '{"description":"","metadata":"","owner_id":null}', rust.apiKey),
    ...named(rust, {
      policy: '{"description":"office","metadata":""}',
      rule: '{"description":"","metadata":"","cidr":"192.0.2.0/24","ip_policy_id":"{{policy}}","action":"allow"}',
      ruleUpdate: '{"id":"{{rule}}","description":null,"metadata":null,"cidr":"2001:db8::/32"}',
      group: '{"description":"","metadata":"","labels":{"app":"build"}}',
      groupUpdate: '{"id":"{{group}}","description":null,"metadata":null,"labels":{"app":"test"}}',
    }),
    ...reserved(rust, 'rs', {
      addr: '{"description":"","metadata":"","region":""}',
      domain:
        '{"domain":"rs.example.test","region":"","description":"","metadata":"","certificate_id":null,"certificate_management_policy":null}',
      addrUpdate: '{"id":"{{addr}}","description":"d","metadata":null}',
      domainUpdate:
        '{"id":"{{domain}}","description":"d","metadata":null,"certificate_id":null,"certificate_management_policy":null}',
    }),
  ],
  list: { firstPage: '/ssh_credentials?limit=2', page: rust.page, next: 'follows next_page_uri' },
  error: object({ error_code: text, msg: text }),
};

/** Newtonsoft: a reference may be null or absent, a `bool` may not; `Details` is a Dictionary<string, string>. */
const dotnet = resources({
  text: optional(text),
  uri: optional(text),
  time: optional(text),
  list: (item) => optional(listOf(item)),
  may: optional,
});

/**
 * Newtonsoft writes null for all that is not set, also for fields a version has and we do not (`policy`), and the id into the
 * body of a PATCH. A module is put bare. The first page is asked for with an empty `before_id`, the last one is empty.
 */
const DOTNET: RecordedClient = {
  name: '.NET',
  from: 'ngrok/ngrok-api-dotnet: NgrokApi/ApiHttpClient.cs, Iterator.cs, Error.cs, Services/SshCredentials.cs, Services/TcpEdgeBackendModule.cs, Services/ReservedDomains.cs, Datatypes/',
  headers: { 'ngrok-version': '2', authorization: 'Bearer {{token}}' },
  bodyHeaders: { 'content-type': 'application/json; charset=utf-8' },
  exchanges: [
    post(
      '/ssh_credentials',
      '{"description":null,"metadata":null,"acl":null,"public_key":"{{key}}","owner_id":null}',
      dotnet.credential,
      { holds: { description: '', metadata: '', acl: [] }, keeps: 'credential' },
    ),
    get('/ssh_credentials/{{credential}}', dotnet.credential),
    patch(
      '/ssh_credentials/{{credential}}',
      '{"id":"{{credential}}","description":null,"metadata":"m","acl":null}',
      dotnet.credential,
      { holds: { metadata: 'm', acl: [] } },
    ),
    remove('/ssh_credentials/{{credential}}'),
    post(
      '/edges/tcp',
      '{"description":null,"metadata":null,"hostports":["net.example.test:22"],"backend":null,"ip_restriction":{"enabled":null,"ip_policy_ids":["ipp_1"]},"policy":null}',
      dotnet.edge,
      { holds: { ip_restriction: { enabled: true, ip_policies: [{ id: 'ipp_1' }] } }, keeps: 'edge' },
    ),
    patch(
      '/edges/tcp/{{edge}}',
      '{"id":"{{edge}}","description":"d","metadata":null,"hostports":null,"backend":null,"ip_restriction":null,"policy":null}',
      dotnet.edge,
      { holds: { description: 'd', hostports: ['net.example.test:22'], ip_restriction: { enabled: true } } },
    ),
    put('/edges/tcp/{{edge}}/backend', '{"enabled":null,"backend_id":"bkdsc_1"}', dotnet.backend, {
      holds: { enabled: true },
    }),
    remove('/edges/tcp/{{edge}}/backend'),
    post('/bot_users', '{"name":"net","active":null}', dotnet.bot),
    post('/api_keys', '{"description":null,"metadata":null,"owner_id":null}', dotnet.apiKey, {
      holds: { description: '', metadata: '' },
    }),
    ...named(dotnet, {
      policy: '{"description":"office","metadata":null}',
      rule: '{"description":null,"metadata":null,"cidr":"192.0.2.0/24","ip_policy_id":"{{policy}}","action":"allow"}',
      ruleUpdate: '{"id":"{{rule}}","description":null,"metadata":null,"cidr":"2001:db8::/32"}',
      group: '{"description":null,"metadata":null,"labels":{"app":"build"}}',
      groupUpdate: '{"id":"{{group}}","description":null,"metadata":null,"labels":{"app":"test"}}',
    }),
    ...reserved(dotnet, 'net', {
      addr: '{"description":null,"metadata":null,"region":null}',
      domain:
        '{"domain":"net.example.test","region":null,"description":null,"metadata":null,"certificate_id":null,"certificate_management_policy":null,"resolves_to":null}',
      addrUpdate: '{"id":"{{addr}}","description":"d","metadata":null}',
      domainUpdate:
        '{"id":"{{domain}}","description":"d","metadata":null,"certificate_id":null,"certificate_management_policy":null,"resolves_to":null}',
    }),
  ],
  list: {
    firstPage: '/ssh_credentials?before_id=&limit=2',
    page: dotnet.page,
    next: 'asks before the last id until a page is empty',
  },
  error: wholeError,
};

/** Jackson into constructors with `requireNonNull`; uris are parsed as URI, times as OffsetDateTime. */
const java = resources({ text, uri, time, list: listOf, may: optional });

/**
 * What is not set is not sent, an empty acl neither (the order of the fields is a HashMap's). No id in bodies: a PATCH has only
 * the change, a PUT `{"module": ...}`. `next_page_uri` is asked for as it is.
 */
const JAVA: RecordedClient = {
  name: 'Java',
  from: 'ngrok/ngrok-api-java: DefaultNgrokApiClient.java, services/SshCredentials.java, services/TcpEdgeBackendModule.java, services/ReservedDomains.java, definitions/',
  headers: {
    'user-agent': 'ngrok-api-java/0.5.0/17.0.2',
    'ngrok-version': '2',
    authorization: 'Bearer {{token}}',
  },
  bodyHeaders: { 'content-type': 'application/json' },
  exchanges: [
    post('/ssh_credentials', '{"public_key":"{{key}}"}', java.credential, { keeps: 'credential' }),
    get('/ssh_credentials/{{credential}}', java.credential),
    patch('/ssh_credentials/{{credential}}', '{"metadata":"m","description":"java"}', java.credential, {
      holds: { description: 'java', metadata: 'm', acl: [] },
    }),
    remove('/ssh_credentials/{{credential}}'),
    post('/edges/tcp', '{"backend":{"backend_id":"bkdtg_1"},"hostports":["java.example.test:22"]}', java.edge, {
      keeps: 'edge',
    }),
    put('/edges/tcp/{{edge}}/ip_restriction', '{"module":{"enabled":false,"ip_policy_ids":[]}}', java.ipRestriction, {
      holds: { enabled: false, ip_policies: [] },
    }),
    remove('/edges/tcp/{{edge}}/ip_restriction'),
    post('/bot_users', '{"name":"java"}', java.bot),
    post('/api_keys', '{}', java.apiKey),
    ...named(java, {
      policy: '{"description":"office"}',
      rule: '{"action":"allow","cidr":"192.0.2.0/24","ip_policy_id":"{{policy}}"}',
      ruleUpdate: '{"cidr":"2001:db8::/32"}',
      group: '{"labels":{"app":"build"}}',
      groupUpdate: '{"labels":{"app":"test"}}',
    }),
    ...reserved(java, 'java', {
      addr: '{}',
      domain: '{"domain":"java.example.test"}',
      addrUpdate: '{"description":"d"}',
      domainUpdate: '{"description":"d"}',
    }),
  ],
  list: { firstPage: '/ssh_credentials?limit=2', page: java.page, next: 'follows next_page_uri' },
  error: object({ error_code: optional(text), status_code: integer, msg: optional(text), details: mapOfTexts }),
};

export const RECORDED_CLIENTS: readonly RecordedClient[] = [GO, GO_BEFORE_V4, PYTHON, RUBY, RUST, DOTNET, JAVA];

/**
 * The Terraform provider: Go's wire under its own user agent. What a plan compares are the texts of the configuration with those of the last read,
 * so a byte of difference in `public_key` replaces the credential, and one in `acl` updates it at every apply.
 * A value that is configured must be in the answer as it was, or the apply fails ("inconsistent result").
 * An update sends every updatable field. A read that answers 404 drops the resource, and the next apply creates it.
 */
export const TERRAFORM = {
  from: 'ngrok/terraform-provider-ngrok: internal/provider/resource_ssh_credential.go, resource_api_key.go, helpers.go, provider.go',
  client: { ...GO, headers: { ...GO.headers, 'user-agent': 'terraform-provider-ngrok/1.0.0' } },
  /** `file("id_ed25519.pub")` ends in a line feed; nothing sorts or merges the rules. */
  configured: {
    description: 'deploy <key>',
    metadata: '{"team": "a&b"}',
    public_key: '{{key}}\n',
    acl: ['bind:b.example.com', 'bind:A.example.com', 'bind:b.example.com'],
  },
  create:
    '{"description":"deploy \\u003ckey\\u003e","metadata":"{\\"team\\": \\"a\\u0026b\\"}","acl":["bind:b.example.com","bind:A.example.com","bind:b.example.com"],"public_key":"{{key}}\\n"}',
  reconfigured: { description: '', metadata: 'changed', acl: ['*'] },
  update: '{"description":"","metadata":"changed","acl":["*"]}',
  createApiKey: '{"description":"ci"}',
} as const;

/**
 * Addresses and domains of the Terraform provider. `addr` is computed, and cannot be configured. A domain that comes back
 * otherwise than it is configured is an inconsistent result (1.0), or is replaced at every apply (0.x); later versions bear
 * another case and a dot at the end, but no A-labels. Which fields are sent differs by version:
 * - 1.x sends what is configured. An update sends every text of the state too, so `certificate_id` is `""` in each. A region
 *   that is not configured may come back as any text.
 * - 0.x sends the region `us` for an address without one, and replaces the address if another comes back. The region of a
 *   domain may change, and is sent in each update.
 * A policy for certificates, an id of a certificate and `resolves_to` are sent by both only if they are configured.
 */
export const TERRAFORM_RESERVED = {
  from: 'ngrok/terraform-provider-ngrok: internal/provider/resource_reserved_addr.go, resource_tcp_address.go, resource_reserved_domain.go, resource_domain.go, schema_overrides.go (1.x); ngrok/resource_reserved_addr.go, ngrok/resource_reserved_domain.go (0.x)',
  addr: {
    create: '{"description":"camera"}',
    update: '{"description":"","metadata":"m"}',
    updated: { description: '', metadata: 'm' },
    createBefore1: '{"region":"us"}',
  },
  domain: {
    configured: { domain: 'Shop.B\u00fcro.example.com', description: 'shop' },
    create: '{"domain":"Shop.B\u00fcro.example.com","description":"shop"}',
    update: '{"description":"","metadata":"m","certificate_id":""}',
    updated: { description: '', metadata: 'm' },
    createBefore1: '{"domain":"before-1.example.com","region":"us"}',
    updateBefore1: '{"description":"d","region":"eu"}',
  },
} as const;
