import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

/** Every path below is relative to src/, for example `api/http/pages.ts` or `../migrations/all.ts`. */
const SRC = new URL('../src', import.meta.url).pathname;

/**
 * The floors, from the top down. A file imports from its own floor and from the floors below it. Floors of one line do not
 * import each other. A folder without a line of its own belongs to the floor of the folder around it.
 */
const FLOORS: readonly (readonly string[])[] = [
  ['main.ts', 'operator/cli.ts'],
  ['operator/commands.ts'],
  ['operator/doctor', 'operator/projections'],
  ['operator/audit'],
  ['operator'],
  ['api'],
  ['api/config'],
  ['api/service-log'],
  ['api/metrics'],
  ['api/gateway-api', 'api/audit', 'api/health', 'gateway/index.ts'],
  ['api/gateway-api/decision-record'],
  ['api/gateway-api/decisions'],
  ['api/reservations'],
  ['api/ssh-credentials', 'api/tcp-edges', 'api/ip-policies', 'api/tunnel-groups'],
  ['api/access/authentication'],
  ['api/access/accounts'],
  ['api/access/api-keys'],
  ['api/resources'],
  ['api/http/openapi'],
  ['api/http'],
  ['api/instance'],
  ['event-log/index.ts'],
  ['event-log/transfer'],
  ['event-log/fold'],
  ['event-log/read'],
  ['event-log/append'],
  ['event-log'],
  ['database/index.ts'],
  ['database'],
  ['database/embedded', '../migrations'],
  ['gateway/gateway.ts'],
  ['gateway/ssh', 'gateway/edges', 'gateway/http', 'gateway/metrics-server.ts'],
  ['gateway/records'],
  ['gateway/context'],
  ['gateway/tunnels', 'gateway/rights', 'gateway/proxy-protocol'],
  ['gateway/protocol', 'gateway/sessions'],
  ['gateway'],
  ['rules/index.ts'],
  ['rules'],
  ['kernel'],
];

/** Files that decide: they import no package but these, and no file that is not pure itself. */
const PURE = [
  'kernel/*',
  'kernel/settings/*',
  'rules/index.ts',
  'rules/public-keys/*',
  'rules/bind-rules/*',
  'rules/ip-rules/*',
  'rules/traffic-policy/*',
  'rules/edge-admission.ts',
  'rules/host-name.ts',
  'rules/tunnel-domain.ts',
  'event-log/event.ts',
  'event-log/transparency/tree/*',
  'api/enrollment-keys/enrollment-key.ts',
  'api/enrollment-keys/device-acl.ts',
  'api/resources/access-rules.ts',
  'api/resources/changed-fields.ts',
  'api/resources/expiry/expiry.ts',
  'api/resources/plain-entity.ts',
  'api/resources/read-only-fields.ts',
  'api/access/accounts/account.ts',
  'api/access/accounts/principal.ts',
  'api/access/api-keys/api-key.ts',
  'api/access/authentication/failure-limit.ts',
  'api/access/authentication/deployment-tokens.ts',
  'api/access/authentication/gateway-tokens.ts',
  'api/access/authentication/issuer-url.ts',
  'api/access/authentication/request-limits.ts',
  'api/ssh-credentials/ssh-credential.ts',
  'api/ssh-credentials/credential-rotation.ts',
  'api/ip-policies/ip-policy.ts',
  'api/ip-policies/ip-policy-rule.ts',
  'api/tunnel-groups/tunnel-group.ts',
  'api/reservations/reserved-addr.ts',
  'api/reservations/reserved-domain.ts',
  'api/reservations/address-pools.ts',
  'api/reservations/reservation.ts',
  'api/tunnel-sessions/tunnel-session.ts',
  'api/tcp-edges/edge-modules.ts',
  'api/tcp-edges/hostport.ts',
  'api/tcp-edges/tcp-edge.ts',
  'api/gateway-api/binds/authorized-keys.ts',
  'api/gateway-api/binds/gateway-requests.ts',
  'api/gateway-api/decisions/bind-decision.ts',
  'api/gateway-api/decisions/compiled-acls.ts',
  'api/gateway-api/decisions/source-check.ts',
  'operator/sshd-reaper/log-lines.ts',
  'operator/sshd-reaper/permissions.ts',
  'operator/sshd-reaper/session-binds.ts',
];
/** The one file of a room that code outside may import. Tests may enter anywhere. */
const DOORS = ['database/index.ts', 'event-log/index.ts', 'gateway/index.ts', 'rules/index.ts'];

const PACKAGES_OF_PURE_FILES = [
  '@marcbachmann/cel-js',
  'js-yaml',
  'lru-cache',
  'node:crypto',
  'node:net',
  'node:url',
  'sshpk',
];

/** Files and lines that the controller of a resource reaches by imports, itself included. */
const MAX_CLOSURE = { files: 52, lines: 4_800 };

/** The resources that commands change. The pure file has the singular name, the other five files the plural one. */
const RESOURCES = [
  { folder: 'api/ssh-credentials', one: 'ssh-credential', many: 'ssh-credentials' },
  { folder: 'api/tcp-edges', one: 'tcp-edge', many: 'tcp-edges' },
  { folder: 'api/ip-policies', one: 'ip-policy', many: 'ip-policies' },
  { folder: 'api/ip-policies', one: 'ip-policy-rule', many: 'ip-policy-rules' },
  { folder: 'api/reservations', one: 'reserved-addr', many: 'reserved-addrs' },
  { folder: 'api/reservations', one: 'reserved-domain', many: 'reserved-domains' },
  { folder: 'api/tunnel-groups', one: 'tunnel-group', many: 'tunnel-groups' },
  { folder: 'api/access/api-keys', one: 'api-key', many: 'api-keys' },
  { folder: 'api/enrollment-keys', one: 'enrollment-key', many: 'enrollment-keys' },
  { folder: 'api/access/accounts', one: 'user', many: 'users' },
  { folder: 'api/access/accounts', one: 'bot-user', many: 'bot-users' },
  { folder: 'api/tunnel-sessions', one: 'tunnel-session', many: 'tunnel-sessions' },
] as const;

const ROLES = ['handlers', 'read-model', 'resource', 'controller', 'module'];

interface SharedFile {
  readonly instead: string;
  readonly reason: string;
}

const ONE_PRINCIPAL = 'Users and bots are principals: they have the same events and decisions, and one fold.';
const ONE_TABLE = 'Users and bots are rows of one table.';
const ONE_MODULE = 'Users and bots share the providers of principals.';

/** Files of the shape that a resource shares with another one. */
const SHARED: Readonly<Record<string, SharedFile>> = {
  'api/ip-policies/ip-policy-rules.module.ts': {
    instead: 'api/ip-policies/ip-policies.module.ts',
    reason: 'Policies and rules share a module: the deletion of a policy deletes its rules.',
  },
  'api/reservations/reserved-addrs.module.ts': {
    instead: 'api/reservations/reservations.module.ts',
    reason: 'Addresses and domains share a module: their limits and their names are looked up together.',
  },
  'api/reservations/reserved-domains.module.ts': {
    instead: 'api/reservations/reservations.module.ts',
    reason: 'Addresses and domains share a module: their limits and their names are looked up together.',
  },
  'api/access/accounts/user.ts': { instead: 'api/access/accounts/principal.ts', reason: ONE_PRINCIPAL },
  'api/access/accounts/bot-user.ts': { instead: 'api/access/accounts/principal.ts', reason: ONE_PRINCIPAL },
  'api/access/accounts/users.read-model.ts': {
    instead: 'api/access/accounts/principals.read-model.ts',
    reason: ONE_TABLE,
  },
  'api/access/accounts/bot-users.read-model.ts': {
    instead: 'api/access/accounts/principals.read-model.ts',
    reason: ONE_TABLE,
  },
  'api/access/accounts/users.module.ts': { instead: 'api/access/accounts/accounts.module.ts', reason: ONE_MODULE },
  'api/access/accounts/bot-users.module.ts': { instead: 'api/access/accounts/accounts.module.ts', reason: ONE_MODULE },
};

/** Files in the folder of a resource beyond the shape, each with its reason. */
const FURTHER: Readonly<Record<string, string>> = {
  'api/tcp-edges/tcp-edges.bodies.ts': 'A TCP edge has many fields: bodies and answers together exceed 150 lines.',
  'api/tcp-edges/edge-modules.ts': 'Modules are parts of an edge with rules of their own.',
  'api/tcp-edges/edge-modules.controller.ts': 'Modules have routes of their own: GET, PUT and DELETE for each.',
  'api/tcp-edges/hostport.ts': 'Edges and strict mode compare hostports in their canonical spelling.',
  'api/tcp-edges/hostport-claims.ts': 'Strict mode refuses a hostport of another edge, which takes a look-up.',
  'api/reservations/address-pools.ts':
    'The pools are a setting, which decides about addresses that nobody has reserved.',
  'api/reservations/free-addresses.ts': 'What may still be reserved takes look-ups over all accounts.',
  'api/reservations/reservation.ts': 'What a reservation means: pure rules of gateways, edges and lines for sshd.',
  'api/reservations/reserved-for-sshd.ts': 'Stock sshd needs what is reserved as patterns that it can match.',
  'api/reservations/reserved-names.ts': 'Gateways and edges ask whose a name is, over all accounts.',
  'api/reservations/tls-ask.controller.ts': 'A proxy in front asks which names may have a certificate.',
  'api/reservations/told-hosts.ts':
    'What gateways say of their hosts spares users a reservation that would never count.',
  'api/ssh-credentials/credential-restrictions.controller.ts':
    'Expiry and source restriction are set by routes of their own, since official clients send null for what they do not know.',
  'api/ssh-credentials/credential-usage.ts': 'Gateways report who is online, and no event says it.',
  'api/ssh-credentials/credential-usage.controller.ts': 'The usage of a credential has a route of its own.',
  'api/ssh-credentials/credential-usage.resource.ts': 'The usage stands in a credential and under a route of its own.',
  'api/ssh-credentials/credential-rotation.controller.ts': 'A rotation is a verb, with a body of its own.',
  'api/ssh-credentials/rotate-credential.ts': 'A rotation changes two credentials in one append.',
  'api/ssh-credentials/credential-rotation.ts': 'What a rotation makes of two credentials, pure.',
  'api/ssh-credentials/credential-inclusions.ts': 'What `include` adds is shown on request alone.',
  'api/access/api-keys/operator-key.ts': 'Whoever runs the service makes a key without one.',
  'api/access/accounts/role.ts': 'Users and bots have the same roles.',
  'api/access/accounts/account.ts': 'An account is the stream that principals belong to; only operators create one.',
  'api/access/accounts/accounts.read-model.ts': 'The rows of accounts, which no route of the API shows.',
  'api/access/accounts/email.ts': 'The API and the commands of the operator accept the same email addresses.',
  'api/access/accounts/new-account.ts': 'Creates an account with its first admin, for the start and the operator.',
  'api/access/accounts/default-admin-email.ts':
    'The help of the operator names it, and should not load the framework for it.',
  'api/access/accounts/first-account.ts': 'The start makes the first account and its key, or finds them.',
  'api/access/accounts/principals-controller.ts': 'Users, bots and service users have the same routes.',
  'api/access/accounts/principals.ts': 'Commands of users and of bots change a principal and its account together.',
  'api/access/accounts/pending-removals.ts': 'What a deleted principal owns can take more appends than its deletion.',
  'api/enrollment-keys/device-acl.ts': 'The rules of a device are made of those of its key, and its name has a form.',
  'api/enrollment-keys/enroll-device.ts': 'An enrolment changes a key, a credential and an address in one append.',
  'api/enrollment-keys/enroll.controller.ts': 'Devices call a route of their own, with another kind of key.',
  'api/enrollment-keys/enroll.resource.ts': 'What a device sends and gets.',
  'api/enrollment-keys/enrolled-devices.ts': 'Whether a name is free takes a look-up of credentials.',
  'api/tunnel-groups/open-tunnels.ts': 'Gateways report which tunnels a group has, and no event says it.',
  'api/tunnel-sessions/open-sessions.ts': 'Gateways report what is open, and no event makes these rows.',
  'api/tunnel-sessions/session-changes.ts': 'Finds what opened and ended, for streams of news.',
  'api/tunnel-sessions/session-changes.controller.ts': 'The stream of news.',
  'api/tunnel-sessions/wanted-open.ts': 'The lists of sessions and of tunnels have the same filters.',
  'api/tunnel-sessions/tunnels.controller.ts': 'The tunnels of sessions have routes of their own.',
  'api/access/accounts/removal-sweeper.ts': 'Every instance finishes the deletions that another one did not.',
};

interface Import {
  readonly from: string;
  /** A path relative to src/, or the name of a package. */
  readonly to: string;
}

const STATEMENT = /^(?:import|export)\b[^;'"`]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm;

/** Imports, re-exports, dynamic imports and the types of `import('...')`; type imports count like any other import. */
function importsOf(from: string, text: string): Import[] {
  return [...text.matchAll(STATEMENT)].map((match) => {
    const target = match[1] ?? match[2] ?? match[3] ?? '';
    const isFile = target.startsWith('.');
    return { from, to: isFile ? join(dirname(from), target).replace(/\.js$/, '.ts') : target };
  });
}

const filesOf = (folder: string): string[] =>
  readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .sort();

const files = [...filesOf('.'), ...filesOf('../migrations')];
const imports = files.flatMap((file) => importsOf(file, readFileSync(join(SRC, file), 'utf8')));
const isFile = (to: string): boolean => to.endsWith('.ts');

const LEVELS = new Map(FLOORS.flatMap((rooms, level) => rooms.map((room) => [room, level])));

/** The name of the line in FLOORS that a file belongs to; undefined if no line has its folder. */
function floorOf(file: string): string | undefined {
  if (LEVELS.has(file)) return file;
  for (let folder = dirname(file); folder !== '.' && folder !== '..'; folder = dirname(folder)) {
    if (LEVELS.has(folder)) return folder;
  }
  return undefined;
}

function pointsDown({ from, to }: Import): boolean {
  const [own, other] = [floorOf(from) ?? '', floorOf(to) ?? ''];
  return own === other || (LEVELS.get(own) ?? Number.NaN) < (LEVELS.get(other) ?? Number.NaN);
}

/** The names that a door gives, each with the file that defines it. */
const namesOf = (door: string): { readonly name: string; readonly file: string }[] =>
  [...readFileSync(join(SRC, door), 'utf8').matchAll(/export (?:type )?\{([^}]*)\} from '(.*?)\.js'/g)].flatMap(
    ([, list = '', from = '']) =>
      (list.match(/\w+(?=\s*(?:,|$))/g) ?? []).map((name) => ({ name, file: join(dirname(door), `${from}.ts`) })),
  );

function isDescribed(name: string, file: string): boolean {
  const declaration = `export (?:abstract )?(?:async )?(?:interface|type|class|const|function\\*?) ${name}\\b`;
  return new RegExp(`\\*/\\n${declaration}`).test(readFileSync(join(SRC, file), 'utf8'));
}

/** Each cycle once for every import that closes it, written as a path: `a.ts > b.ts > a.ts`. */
function cyclesOf(edges: readonly Import[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
  const cycles: string[] = [];
  const finished = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' > '));
    if (path.includes(file) || finished.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
    finished.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return cycles;
}

/** Not what is behind a door: nobody need read it. */
function closureOf(file: string, reached = new Set<string>()): ReadonlySet<string> {
  if (reached.has(file)) return reached;
  reached.add(file);
  if (DOORS.includes(file)) return reached;
  for (const { to } of imports.filter(({ from, to }) => from === file && isFile(to))) closureOf(to, reached);
  return reached;
}

const sizeOf = (reached: ReadonlySet<string>) => ({
  files: reached.size,
  lines: [...reached].reduce((sum, file) => sum + readFileSync(join(SRC, file), 'utf8').split('\n').length - 1, 0),
});

const isPure = (file: string): boolean => PURE.includes(file) || PURE.includes(`${dirname(file)}/*`);

const shapeOf = ({ folder, one, many }: (typeof RESOURCES)[number]): string[] => [
  `${folder}/${one}.ts`,
  ...ROLES.map((role) => `${folder}/${many}.${role}.ts`),
];
const shape = RESOURCES.flatMap(shapeOf);

const described = (found: readonly Import[]): string[] => found.map(({ from, to }) => `${from} imports ${to}`);

describe('the imports that the rules judge', () => {
  it('are all imports, of types as well, in every spelling', () => {
    const text = [
      "import { a } from './a.js';",
      "import type { B } from '../b.js';",
      "import {\n  type C,\n} from './c.js';",
      "export type { D } from './d.js';",
      "export * from './e.js';",
      "import 'reflect-metadata';",
      "type F = typeof import('./f.js');",
      "export const g = await import('fastify');",
    ].join('\n');
    const targets = ['http/a.ts', 'b.ts', 'http/c.ts', 'http/d.ts', 'http/e.ts', 'reflect-metadata', 'http/f.ts'];
    expect(importsOf('http/x.ts', text).map(({ to }) => to)).toEqual([...targets, 'fastify']);
  });

  it('lead to files that exist', () => {
    expect(imports.length).toBeGreaterThan(500);
    expect(described(imports.filter(({ to }) => isFile(to) && !existsSync(join(SRC, to))))).toEqual([]);
  });
});

describe('the rooms hold', () => {
  it('every file is in a room, and every room has files', () => {
    expect(files.filter((file) => floorOf(file) === undefined)).toEqual([]);
    const inhabited = new Set(files.map(floorOf));
    expect([...LEVELS.keys()].filter((room) => !inhabited.has(room))).toEqual([]);
  });

  it('a file imports only from its own room and from rooms below it', () => {
    expect(described(imports.filter((one) => isFile(one.to) && !pointsDown(one)))).toEqual([]);
  });

  it('files do not import each other in a circle', () => {
    expect(cyclesOf(imports.filter(({ to }) => isFile(to)))).toEqual([]);
  });

  it('the gateway runs on another machine, so it imports pure rooms and what asks over HTTP only', () => {
    const own = imports.filter(({ from, to }) => from.startsWith('gateway/') && isFile(to));
    expect(own.length).toBeGreaterThan(5);
    expect(described(own.filter(({ to }) => !/^(gateway\/|kernel\/|rules\/index\.ts$)/.test(to)))).toEqual([]);
  });

  it('only what starts the app imports it', () => {
    const importers = imports.filter(({ to }) => to === 'api/app.ts' || to === 'api/app.module.ts');
    expect(described(importers)).toEqual([
      'api/app.ts imports api/app.module.ts',
      'operator/start/serve.ts imports api/app.ts',
    ]);
  });

  it('there are no barrels but the doors, and no drawers for everything', () => {
    const found = files.filter((file) => /(^|\/)(index\.ts|(common|utils?|helpers?|shared|core|lib)\/)/.test(file));
    expect(found).toEqual(DOORS);
  });
});

describe('each door is the only one of its room', () => {
  const roomOf = (door: string): string => `${dirname(door)}/`;
  const through = imports.filter(({ to }) => DOORS.includes(to));

  it('code outside enters by the door', () => {
    const past = DOORS.flatMap((door) =>
      imports.filter(({ from, to }) => to.startsWith(roomOf(door)) && to !== door && !from.startsWith(roomOf(door))),
    );
    expect(described(past)).toEqual([]);
  });

  it('code inside does not', () => {
    expect(described(through.filter(({ from, to }) => from.startsWith(roomOf(to))))).toEqual([]);
  });

  it.each(DOORS)('%s gives only names that code outside takes, each with its sentence where it is defined', (door) => {
    const takers = through.filter(({ to }) => to === door).map(({ from }) => readFileSync(join(SRC, from), 'utf8'));
    const names = namesOf(door);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter(({ name }) => !takers.some((text) => new RegExp(`\\b${name}\\b`).test(text)))).toEqual([]);
    expect(names.filter(({ name, file }) => !isDescribed(name, file))).toEqual([]);
  });
});

/** For who reads the run of the tests: each room with its files and lines, and how many names its door gives. */
afterAll(() => {
  const rooms = new Set(files.map((file) => file.split('/')[0] ?? '').filter((room) => !room.endsWith('.ts')));
  const lines = [...LEVELS.keys()]
    .filter((room) => rooms.has(room))
    .map((room) => {
      const own = new Set(files.filter((file) => file.startsWith(`${room}/`)));
      const door = `${room}/index.ts`;
      const names = DOORS.includes(door) ? `, ${namesOf(door).length} names in its door` : '';
      return `${room}: ${own.size} files, ${sizeOf(own).lines} lines${names}`;
    });
  process.stdout.write(`The rooms, from the top down:\n  ${lines.join('\n  ')}\n`);
});

describe('pure files stay pure', () => {
  it('they import only pure files and a few packages', () => {
    const allowed = (to: string): boolean => (isFile(to) ? isPure(to) : PACKAGES_OF_PURE_FILES.includes(to));
    expect(described(imports.filter(({ from, to }) => isPure(from) && !allowed(to)))).toEqual([]);
  });

  it('every pure file and package in the lists is in use', () => {
    const pure = files.filter(isPure);
    const isInUse = (name: string): boolean =>
      pure.includes(name) || pure.some((file) => `${dirname(file)}/*` === name);
    expect(PURE.filter((name) => !isInUse(name))).toEqual([]);
    const packages = new Set(imports.filter(({ from }) => isPure(from)).map(({ to }) => to));
    expect(PACKAGES_OF_PURE_FILES.filter((name) => !packages.has(name))).toEqual([]);
  });
});

describe('every resource has the same six files', () => {
  it('each of the six exists, or the list names the file that the resource shares instead', () => {
    expect(shape.filter((file) => !files.includes(SHARED[file]?.instead ?? file))).toEqual([]);
  });

  it('its folder holds a further file only if the list gives the reason', () => {
    const folders = new Set<string>(RESOURCES.map(({ folder }) => folder));
    const known = [...shape, ...Object.values(SHARED).map(({ instead }) => instead), ...Object.keys(FURTHER)];
    expect(files.filter((file) => folders.has(dirname(file)) && !known.includes(file))).toEqual([]);
  });

  it('a listed deviation still is one', () => {
    expect(Object.keys(SHARED).filter((file) => !shape.includes(file) || files.includes(file))).toEqual([]);
    expect(Object.keys(FURTHER).filter((file) => !files.includes(file))).toEqual([]);
  });

  it('the first of the six is pure', () => {
    const first = RESOURCES.map(({ folder, one }) => `${folder}/${one}.ts`);
    expect(first.filter((file) => !isPure(SHARED[file]?.instead ?? file))).toEqual([]);
  });

  it(`its controller reaches at most ${MAX_CLOSURE.files} files and ${MAX_CLOSURE.lines} lines by imports`, () => {
    const controllers = RESOURCES.map(({ folder, many }) => `${folder}/${many}.controller.ts`);
    const closures = controllers.map((controller) => ({ controller, ...sizeOf(closureOf(controller)) }));
    expect(closures.filter(({ files, lines }) => files > MAX_CLOSURE.files || lines > MAX_CLOSURE.lines)).toEqual([]);
    expect(Math.min(...closures.map(({ files }) => files))).toBeGreaterThan(10);
  });

  it('every file of handlers belongs to one of these resources', () => {
    const handlers = files.filter((file) => file.endsWith('.handlers.ts'));
    expect(handlers.length).toBe(RESOURCES.length);
    expect(handlers.filter((file) => !shape.includes(file))).toEqual([]);
  });
});

describe('comments', () => {
  const LINE = /^\s*(?:\/\*\*?|\*(?!\/)|\/\/)(.*)$/;
  /** Lines of comments that follow each other. */
  function commentsOf(file: string): string[] {
    const lines = readFileSync(join(SRC, file), 'utf8').split('\n');
    const marked = lines.map((line) => LINE.exec(line)?.[1]?.trim() ?? '\n').join(' ');
    return marked.split('\n').filter((comment) => comment.trim() !== '');
  }
  const sentencesOf = (comment: string): number => comment.match(/[.!?](?=\s|$)/g)?.length ?? 0;

  it('have at most three sentences: what takes more is a section of docs/architecture.md', () => {
    const comments = files.flatMap((file) => commentsOf(file).map((comment) => `${file}: ${comment.trim()}`));
    expect(comments.length).toBeGreaterThan(1_000);
    expect(comments.filter((comment) => sentencesOf(comment) > 3)).toEqual([]);
  });
});

describe('the tests', () => {
  const LOAD = new URL('load', import.meta.url).pathname;

  it('load on purpose in at most ten files', () => {
    expect(readdirSync(LOAD).length).toBeLessThanOrEqual(10);
  });
});
