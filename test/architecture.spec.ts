import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

/** Every path below is relative to src/, for example `http/pages.ts` or `../migrations/all.ts`. */
const SRC = new URL('../src', import.meta.url).pathname;

/**
 * The rooms, from the top down. A file imports from its own room and from the rooms below it. Rooms of one line do not
 * import each other. A folder without a line of its own belongs to the room of the folder around it; a file of src/
 * without a line belongs to the wiring.
 */
const ROOMS: readonly (readonly string[])[] = [
  ['main.ts', 'cli/cli.ts'],
  ['cli/doctor', 'cli/projections'],
  ['cli/audit'],
  ['cli'],
  ['wiring'],
  ['settings'],
  ['service-log'],
  ['metrics'],
  ['ssh-gateway', 'audit', 'evidence', 'health', 'gateway'],
  ['ssh-gateway/bind-decisions'],
  ['ssh-credentials', 'tcp-edges', 'ip-policies', 'tunnel-groups'],
  ['access/authentication'],
  ['access/accounts'],
  ['access/api-keys'],
  ['resources'],
  ['http/openapi'],
  ['http'],
  ['log/transfer'],
  ['log/prove'],
  ['log/read'],
  ['log/append'],
  ['log'],
  ['database'],
  ['database/embedded', '../migrations'],
  ['public-keys', 'bind-rules'],
  ['ip-rules', 'instance', 'http-client', 'retry'],
  ['vocabulary'],
];

const VOCABULARY = [
  'caller.ts',
  'edit-distance.ts',
  'error-message.ts',
  'host-name.ts',
  'ids.ts',
  'in-turns.ts',
  'json-object.ts',
  'omit-undefined.ts',
  'operator-error.ts',
  'problem.ts',
];

/** Files that decide: they import no package but these, and no file that is not pure itself. */
const PURE = [
  ...VOCABULARY,
  'public-keys/*',
  'bind-rules/*',
  'ip-rules/*',
  'log/event.ts',
  'log/tree/*',
  'resources/access-rules.ts',
  'resources/changed-fields.ts',
  'resources/expiry/expiry.ts',
  'resources/plain-entity.ts',
  'resources/read-only-fields.ts',
  'access/accounts/account.ts',
  'access/accounts/principal.ts',
  'access/api-keys/api-key.ts',
  'access/authentication/failure-limit.ts',
  'access/authentication/deployment-tokens.ts',
  'access/authentication/gateway-tokens.ts',
  'access/authentication/issuer-url.ts',
  'access/authentication/request-limits.ts',
  'ssh-credentials/ssh-credential.ts',
  'ip-policies/ip-policy.ts',
  'ip-policies/ip-policy-rule.ts',
  'tunnel-groups/tunnel-group.ts',
  'tcp-edges/edge-modules.ts',
  'tcp-edges/hostport.ts',
  'tcp-edges/tcp-edge.ts',
  'instance/account-turns.ts',
  'instance/keyed-queue.ts',
  'instance/places.ts',
  'instance/windows.ts',
  'ssh-gateway/authorized-keys.ts',
  'ssh-gateway/compiled-acls.ts',
  'ssh-gateway/source-check.ts',
  'ssh-gateway/gateway-requests.ts',
  'ssh-gateway/bind-decisions/queue-shares.ts',
  'ssh-gateway/bind-decisions/bind-decision.ts',
  'cli/sshd-reaper/log-lines.ts',
  'cli/sshd-reaper/permissions.ts',
];
const PACKAGES_OF_PURE_FILES = ['lru-cache', 'node:crypto', 'node:net', 'node:url', 'sshpk'];

const MAX_FILES_IN_FOLDER = 19;
/** Files and lines that the controller of a resource reaches by imports, itself included. */
const MAX_CLOSURE = { files: 47, lines: 4_450 };

/** The resources that commands change. The pure file has the singular name, the other five files the plural one. */
const RESOURCES = [
  { folder: 'ssh-credentials', one: 'ssh-credential', many: 'ssh-credentials' },
  { folder: 'tcp-edges', one: 'tcp-edge', many: 'tcp-edges' },
  { folder: 'ip-policies', one: 'ip-policy', many: 'ip-policies' },
  { folder: 'ip-policies', one: 'ip-policy-rule', many: 'ip-policy-rules' },
  { folder: 'tunnel-groups', one: 'tunnel-group', many: 'tunnel-groups' },
  { folder: 'access/api-keys', one: 'api-key', many: 'api-keys' },
  { folder: 'access/accounts', one: 'user', many: 'users' },
  { folder: 'access/accounts', one: 'bot-user', many: 'bot-users' },
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
  'ip-policies/ip-policy-rules.module.ts': {
    instead: 'ip-policies/ip-policies.module.ts',
    reason: 'Policies and rules share a module: the deletion of a policy deletes its rules.',
  },
  'access/accounts/user.ts': { instead: 'access/accounts/principal.ts', reason: ONE_PRINCIPAL },
  'access/accounts/bot-user.ts': { instead: 'access/accounts/principal.ts', reason: ONE_PRINCIPAL },
  'access/accounts/users.read-model.ts': { instead: 'access/accounts/principals.read-model.ts', reason: ONE_TABLE },
  'access/accounts/bot-users.read-model.ts': { instead: 'access/accounts/principals.read-model.ts', reason: ONE_TABLE },
  'access/accounts/users.module.ts': { instead: 'access/accounts/accounts.module.ts', reason: ONE_MODULE },
  'access/accounts/bot-users.module.ts': { instead: 'access/accounts/accounts.module.ts', reason: ONE_MODULE },
};

/** Files in the folder of a resource beyond the shape, each with its reason. */
const FURTHER: Readonly<Record<string, string>> = {
  'tcp-edges/tcp-edges.bodies.ts': 'A TCP edge has many fields: bodies and answers together exceed 150 lines.',
  'tcp-edges/edge-modules.ts': 'Modules are parts of an edge with rules of their own.',
  'tcp-edges/edge-modules.controller.ts': 'Modules have routes of their own: GET, PUT and DELETE for each.',
  'tcp-edges/hostport.ts': 'Edges and strict mode compare hostports in their canonical spelling.',
  'tcp-edges/hostport-claims.ts': 'Strict mode refuses a hostport of another edge, which takes a look-up.',
  'ssh-credentials/credential-restrictions.controller.ts':
    'Expiry and source restriction have routes of their own, since a credential has exactly the fields of the public API.',
  'access/accounts/role.ts': 'Users and bots have the same roles.',
  'access/accounts/account.ts': 'An account is the stream that principals belong to; only operators create one.',
  'access/accounts/accounts.read-model.ts': 'The rows of accounts, which no route of the API shows.',
  'access/accounts/email.ts': 'The API and the commands of the operator accept the same email addresses.',
  'access/accounts/create-account.ts': 'Creates an account with its first admin, for the start and the operator.',
  'access/accounts/default-admin-email.ts':
    'The help of the operator names it, and should not load the framework for it.',
  'access/accounts/first-account.ts': 'The start makes the first account and its key, or finds them.',
  'access/accounts/principals.ts': 'Commands of users and of bots change a principal and its account together.',
  'access/accounts/pending-removals.ts': 'What a deleted principal owns can take more appends than its deletion.',
  'access/accounts/removal-sweeper.ts': 'Every instance finishes the deletions that another one did not.',
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

const LEVELS = new Map(ROOMS.flatMap((rooms, level) => rooms.map((room) => [room, level])));

/** The name of the line in ROOMS that a file belongs to; undefined if no line has its folder. */
function roomOf(file: string): string | undefined {
  if (VOCABULARY.includes(file)) return 'vocabulary';
  if (LEVELS.has(file)) return file;
  if (dirname(file) === '.') return 'wiring';
  for (let folder = dirname(file); folder !== '.' && folder !== '..'; folder = dirname(folder)) {
    if (LEVELS.has(folder)) return folder;
  }
  return undefined;
}

function pointsDown({ from, to }: Import): boolean {
  const [own, other] = [roomOf(from) ?? '', roomOf(to) ?? ''];
  return own === other || (LEVELS.get(own) ?? Number.NaN) < (LEVELS.get(other) ?? Number.NaN);
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

function closureOf(file: string, reached = new Set<string>()): ReadonlySet<string> {
  if (reached.has(file)) return reached;
  reached.add(file);
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
    expect(files.filter((file) => roomOf(file) === undefined)).toEqual([]);
    const inhabited = new Set(files.map(roomOf));
    expect([...LEVELS.keys()].filter((room) => !inhabited.has(room))).toEqual([]);
  });

  it('a file imports only from its own room and from rooms below it', () => {
    expect(described(imports.filter((one) => isFile(one.to) && !pointsDown(one)))).toEqual([]);
  });

  it('files do not import each other in a circle', () => {
    expect(cyclesOf(imports.filter(({ to }) => isFile(to)))).toEqual([]);
  });

  it('the gateway runs on another machine, so it imports pure rooms and what asks over HTTP only', () => {
    const rooms = ['gateway', 'public-keys', 'bind-rules', 'ip-rules', 'http-client', 'retry', 'vocabulary'];
    const own = imports.filter(({ from, to }) => from.startsWith('gateway/') && isFile(to));
    expect(own.length).toBeGreaterThan(5);
    expect(described(own.filter(({ to }) => !rooms.includes(roomOf(to) ?? '')))).toEqual([]);
  });

  it('only what starts the app imports it', () => {
    const importers = imports.filter(({ to }) => to === 'app.ts' || to === 'app.module.ts');
    expect(described(importers)).toEqual(['app.ts imports app.module.ts', 'cli/start/serve.ts imports app.ts']);
  });

  it(`a folder has at most ${MAX_FILES_IN_FOLDER} files, specs not counted`, () => {
    const countIn = (folder: string): number => files.filter((file) => dirname(file) === folder).length;
    // Migrations are never merged, so their folder grows.
    const folders = new Set(files.map(dirname).filter((folder) => folder !== '../migrations'));
    const full = [...folders].filter((folder) => countIn(folder) > MAX_FILES_IN_FOLDER);
    expect(full.map((folder) => `${folder} has ${countIn(folder)} files`)).toEqual([]);
  });

  it('there are no barrels and no drawers for everything', () => {
    expect(files.filter((file) => /(^|\/)(index\.ts|(common|utils?|helpers?|shared|core|lib)\/)/.test(file))).toEqual(
      [],
    );
  });
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

describe('the tests', () => {
  const LOAD = new URL('load', import.meta.url).pathname;

  it('load on purpose in at most nine files, each of which README names', () => {
    const names = readdirSync(LOAD).map((file) => file.replace(/\.spec\.ts$/, ''));
    expect(names.length).toBeLessThanOrEqual(9);
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    expect(names.filter((name) => !readme.includes(name))).toEqual([]);
  });
});
