import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { SshCredentialResource } from '../../api/ssh-credentials/ssh-credentials.resource.js';
import type { TunnelResource } from '../../api/tunnel-sessions/tunnel-sessions.resource.js';
import { messageOf } from '../../kernel/error-message.js';
import { fingerprintOfLine } from '../../kernel/fingerprint.js';
import { UsageError } from '../../kernel/operator-error.js';
import { appended } from '../appended-option.js';
import { type Destination, serviceOf, withDestination, withServiceExamples } from '../http/destination.js';
import { Refused, type ServiceApi } from '../http/service-api.js';
import { print, tell } from '../print.js';
import { type Columns, printItems, printMade } from '../table.js';
import { findCredential, KEY_ARGUMENT } from './find-credential.js';
import { tellSshLine } from './next-step.js';
import { agoOf, parseLater } from './time-argument.js';

interface KeyOptions extends Destination {
  readonly bind: readonly string[];
  readonly from: readonly string[];
  readonly expires?: string;
  readonly description?: string;
  readonly owner?: string;
}

const LIST = 'ssh_credentials';
const COLUMNS: Columns<SshCredentialResource> = {
  ID: ({ id }) => id,
  DESCRIPTION: ({ description }) => description,
  RULES: ({ acl }) => (acl.length === 0 ? 'everything' : acl.join(' ')),
  FROM: ({ source_cidrs = ['anywhere'] }) => source_cidrs.join(' '),
  EXPIRES: ({ expires_at = 'never' }) => expires_at,
  SEEN: ({ usage }) => seenIn(usage),
  OWNER: ({ owner_id }) => owner_id,
};

/** What is not known is not "never". */
function seenIn(usage: SshCredentialResource['usage']): string {
  if (usage === undefined || usage.online === null) return 'unknown';
  if (usage.online) return 'online';
  return usage.last_seen_at === null ? 'never' : `${agoOf(usage.last_seen_at)} ago`;
}

export function keysCommands(keys: Command): void {
  keys.addHelpText('after', '\nFor keys of the API see api-keys.');
  withServiceExamples(keys, 'keys add laptop.pub --bind app=web', 'keys list');
  addAdd(keys);
  addList(keys);
  addShow(keys);
  addEdit(keys);
  addRemove(keys);
  addRotate(keys);
}

/** `--bind` and `--from` may each be repeated. `without` says what holds without them. */
const withRights = (command: Command, without: { readonly bind: string; readonly from: string }): Command =>
  command
    .addOption(
      new Option('--bind <rule>', 'what it may bind: a domain, host:port, key=value or *; may be repeated')
        .argParser(appended)
        .default([], without.bind),
    )
    .addOption(
      new Option('--from <network>', 'network or address that its tunnels may come from; may be repeated')
        .argParser(appended)
        .default([], without.from),
    )
    .option('--expires <when>', 'when it expires: 30d, 12h, or an RFC 3339 time')
    .option('--description <text>', 'what the key is for');

function addAdd(keys: Command): void {
  const command = keys
    .command('add')
    .description('Upload a public key, so that its holder may open tunnels. Prints the id, and tells the ssh line')
    .argument('<file>', 'the .pub file; - for stdin')
    .option('--owner <id>', 'user or bot that owns it, for admins (default: the caller)')
    .option('--another', 'make one more credential of a key that has one: their rights add up');
  withRights(command, { bind: 'everything', from: 'anywhere' }).action(
    async (file: string, options: KeyOptions & { another?: true }) => {
      const { owner, description, another } = options;
      const publicKey = readPublicKey(file);
      const api = await serviceOf(options);
      if (another !== true) await refuseSecond(api, publicKey);
      const { body: made } = await api.send<SshCredentialResource>('POST', LIST, {
        public_key: publicKey,
        acl: options.bind.map(ruleOf),
        ...(options.from.length > 0 && { source_cidrs: options.from }),
        ...(options.expires !== undefined && { expires_at: parseLater(options.expires) }),
        description: description ?? commentOf(publicKey),
        ...(owner !== undefined && { owner_id: owner }),
      });
      printMade(made, options);
      tell(`made at ${api.name}: it may bind ${rightsOf(made)}`);
      await tellSshLine(api, { acl: made.acl, keyFile: file.endsWith('.pub') ? file.slice(0, -4) : undefined });
    },
  );
  withDestination(command, 'keys add laptop.pub --bind app=web --expires 30d --from 10.0.0.0/8');
}

/** A second credential of a key silently widens what the key may do. */
async function refuseSecond(api: ServiceApi, publicKey: string): Promise<void> {
  const fingerprint = fingerprintOfLine(publicKey);
  if (fingerprint === undefined) return;
  const [first] = await api.all<SshCredentialResource>(LIST, LIST, { fingerprint });
  if (first === undefined) return;
  const more = 'or add --another for one more, whose rights add up';
  throw new UsageError(
    `the key has ${first.id} already, which may bind ${rightsOf(first)}: change it with keys edit, ${more}`,
  );
}

function addList(keys: Command): void {
  const command = keys
    .command('list')
    .description('List the credentials, the newest first')
    .option('--owner <id>', 'only those of this owner')
    .option('--online', 'only those with an open session')
    .option('--offline', 'only those without one')
    .action(async (options: Destination & { owner?: string; online?: true; offline?: true }) => {
      const { owner, online, offline } = options;
      if (online && offline) throw new UsageError('--online and --offline exclude each other');
      const api = await serviceOf(options);
      const query = {
        include: 'usage',
        ...(owner !== undefined && { owner_id: owner }),
        ...((online || offline) && { online: String(online === true) }),
      };
      const found = await api.all<SshCredentialResource>(LIST, LIST, query);
      printItems(found, COLUMNS, options);
      if (found.length === 0) tell('there is none; make one: tunnel-access keys add FILE.pub --bind RULE');
    });
  withDestination(command, 'keys list', 'keys list --offline');
}

function addShow(keys: Command): void {
  const command = keys
    .command('show')
    .description('Show a credential')
    .argument(...KEY_ARGUMENT)
    .action(async (key: string, options: Destination) => {
      const api = await serviceOf(options);
      const { id } = await findCredential(api, key);
      printItems([await api.read<SshCredentialResource>(`${LIST}/${id}?include=usage`)], COLUMNS, options);
    });
  withDestination(command, 'keys show laptop.pub');
}

function addEdit(keys: Command): void {
  const command = keys
    .command('edit')
    .description(
      'Change what is given, and nothing else. --bind and --from replace all rules and networks; --from any and --expires never take the limit away',
    )
    .argument(...KEY_ARGUMENT);
  withRights(command, { bind: 'unchanged', from: 'unchanged' }).action(async (key: string, options: KeyOptions) => {
    const { bind, from, expires, description } = options;
    if (bind.length + from.length === 0 && expires === undefined && description === undefined) {
      throw new UsageError('nothing to change: give --bind, --from, --expires or --description');
    }
    const api = await serviceOf(options);
    const path = `${LIST}/${(await findCredential(api, key)).id}`;
    const edit = new Edit(api, path, (await api.send('GET', path)).etag);
    if (bind.length > 0 || description !== undefined) {
      await edit.send('PATCH', '', {
        ...(bind.length > 0 && { acl: bind.map(ruleOf) }),
        ...(description !== undefined && { description }),
      });
    }
    if (from.length > 0) await edit.part('source_restriction', from[0] === 'any' ? undefined : { cidrs: from });
    if (expires !== undefined) {
      await edit.part('expiry', expires === 'never' ? undefined : { expires_at: parseLater(expires) });
    }
    const { body: now } = await api.send<SshCredentialResource>('GET', `${path}?include=usage`);
    printItems([now], COLUMNS, options);
    tell(`changed at ${api.name}: it may bind ${rightsOf(now)}`);
  });
  withDestination(command, 'keys edit laptop.pub --bind app=web --bind app=api', 'keys edit laptop --expires never');
}

/** Changes of one credential, each of which must find it as the one before left it. */
class Edit {
  constructor(
    private readonly api: ServiceApi,
    private readonly path: string,
    private etag: string | undefined,
  ) {}

  /** Without a body the part is taken away. One that is not there needs no change. */
  part(name: string, body: object | undefined): Promise<void> {
    if (body !== undefined) return this.send('PUT', `/${name}`, body);
    return this.send('DELETE', `/${name}`).catch((error: unknown) => {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
    });
  }

  async send(method: 'PATCH' | 'PUT' | 'DELETE', part: string, body?: object): Promise<void> {
    await this.api.send(method, `${this.path}${part}`, body, { ifMatch: this.etag });
    this.etag = (await this.api.send('GET', this.path)).etag;
  }
}

function addRemove(keys: Command): void {
  const command = keys
    .command('rm')
    .description('Delete credentials. Their tunnels end within a second')
    .argument('<key...>', KEY_ARGUMENT[1])
    .action(async (words: readonly string[], options: Destination) => {
      const api = await serviceOf(options);
      // All are found before the first is deleted, so that a misspelled one deletes nothing.
      const found: SshCredentialResource[] = [];
      for (const word of words) found.push(await findCredential(api, word));
      for (const { id } of found) {
        const open = await api.all<TunnelResource>('tunnels', 'tunnels', { credential_id: id });
        await api.send('DELETE', `${LIST}/${id}`);
        print(id);
        tell(`deleted at ${api.name}; ${open.length} ${open.length === 1 ? 'tunnel' : 'tunnels'} ended`);
      }
    });
  withDestination(command, 'keys rm laptop.pub');
}

function addRotate(keys: Command): void {
  const command = keys
    .command('rotate')
    .description(
      'Replace the key of a credential: makes a credential with the new key and all else of the old one, which then expires',
    )
    .argument(...KEY_ARGUMENT)
    .argument('<file>', 'the .pub file of the new key; - for stdin')
    .option('--overlap <duration>', 'how long the old key stays valid', '1d')
    .action(async (key: string, file: string, { overlap, ...options }: Destination & { overlap: string }) => {
      const publicKey = readPublicKey(file);
      const overlapMs = Date.parse(parseLater(overlap)) - Date.now();
      const api = await serviceOf(options);
      const { id } = await findCredential(api, key);
      const body = { public_key: publicKey, overlap_seconds: Math.round(overlapMs / 1_000) };
      const { body: made } = await api.send<SshCredentialResource>('POST', `${LIST}/${id}/rotate`, body);
      printMade(made, options);
      tell(`made at ${api.name}; ${id} expires after ${overlap}`);
      await tellSshLine(api, { acl: made.acl, keyFile: file.endsWith('.pub') ? file.slice(0, -4) : undefined });
    });
  withDestination(command, 'keys rotate laptop.pub laptop-2.pub --overlap 7d');
}

/** As in an ACL: `app=web` is written as `bind:app=web`. */
const ruleOf = (text: string): string => (text === '*' || text.startsWith('bind:') ? text : `bind:${text}`);

function rightsOf({ acl, source_cidrs, expires_at }: SshCredentialResource): string {
  const what =
    acl.length === 0 ? 'everything: no --bind limits it' : acl.map((rule) => rule.replace('bind:', '')).join(', ');
  const where = source_cidrs === undefined ? '' : `, from ${source_cidrs.join(', ')}`;
  return `${what}${where}${expires_at === undefined ? '' : `, until ${expires_at}`}`;
}

function readPublicKey(file: string): string {
  const text = readText(file);
  // The service refuses it too, but then it has left this machine.
  if (text.includes('PRIVATE KEY')) throw new UsageError(`${file} is a private key; give the .pub file beside it`);
  return text;
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`the public key cannot be read: ${messageOf(error)}`);
  }
}

/** The comment of an OpenSSH line, which ssh-keygen makes of user and host. */
const commentOf = (publicKey: string): string => /^\S+ \S+ (.{1,255})$/.exec(publicKey)?.[1] ?? '';
