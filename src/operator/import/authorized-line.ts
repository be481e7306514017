import { inZone, parseAcl, parseBindRule, parseCidrs, parsePublicKey } from '../../rules/index.js';
import { type CredentialBody, Left, orLeft } from './left.js';
import type { ImportOptions } from './report.js';

/** What the options of a line say about forwarding. */
interface Said {
  forwards: boolean;
  from?: string;
  readonly listens: string[];
  readonly expiries: string[];
}

const KEY_FIRST = /^\S+[ \t]+AAAA/;
/** sshd takes blanks and tabs alone for what separates. */
const KEY = /^(\S+)[ \t]+(\S+)(?:[ \t]+(.*))?$/s;
/** sshd reads a quote after a backslash as part of the value; no address, name or time has a backslash. */
const OPTION = /([A-Za-z0-9-]{1,30})(?:="([^"\\]*)")?([, \t])/y;
/** What a gateway never gives: a terminal, an agent, X11, files of the user, and forwarding to the other side. */
const NEVER_GIVEN = /^(no-)?(pty|agent-forwarding|x11-forwarding|user-rc)$/;
/** sshd ignores a line whose permitopen it cannot read. */
const PERMIT_OPEN = /^(\[[^\]]+\]|[^:[\]]+):(\*|[1-9]\d{0,4})$/;
const PERMIT_LISTEN = /^(?:(\[[^\]]+\]|[^:[\]]+):)?(\*|[1-9]\d{0,4})$/;
const MAX_DESCRIPTION_CHARACTERS = 60;

/** Reads a line of authorized_keys as sshd does. Throws Left if a credential would permit anything else. */
export function readAuthorizedLine(text: string, options: ImportOptions): CredentialBody {
  const said: Said = { forwards: true, listens: [], expiries: [] };
  const key = KEY_FIRST.test(text) ? text : keyAfterOptions(text, said);
  if (!said.forwards) throw new Left('its options forbid port forwarding');
  const [, type, base64, comment = ''] = KEY.exec(key) ?? [];
  if (type === undefined) throw new Left('no key follows its options');
  // The comment goes with the key into its check, since people paste secrets there.
  orLeft(() => parsePublicKey(key));
  const acl = orLeft(() => parseAcl([...new Set(said.listens.map(ruleOf))]));
  refuseEverything(acl, options);
  const expiry = said.expiries.map((time) => instantOf(time, options.timezone)).sort()[0];
  if (expiry !== undefined && Date.parse(expiry) <= Date.now()) throw new Left(`it expired at ${expiry}`);
  return {
    public_key: `${type} ${base64}`,
    acl,
    description: [...comment].slice(0, MAX_DESCRIPTION_CHARACTERS).join(''),
    ...(said.from !== undefined && { source_cidrs: networksIn(said.from) }),
    ...(expiry !== undefined && { expires_at: expiry }),
  };
}

/** Throws Left for rules that permit everything, unless the operator wants them. */
export function refuseEverything(acl: readonly string[], { allowEverything }: ImportOptions): void {
  if (allowEverything) return;
  if (acl.length > 0 && acl.every((rule, n) => parseBindRule(rule, n).kind !== 'everything')) return;
  throw new Left('it permits every bind; add --allow-everything to take such lines');
}

function keyAfterOptions(text: string, said: Said): string {
  OPTION.lastIndex = 0;
  for (;;) {
    const rest = text.slice(OPTION.lastIndex);
    const [, name = '', value, after] = OPTION.exec(text) ?? [];
    if (after === undefined) throw new Left(unreadable(rest));
    take(said, `${name.toLowerCase()}${value === undefined ? '' : '='}`, value);
    if (after !== ',') return text.slice(OPTION.lastIndex).replace(/^[ \t]+/, '');
  }
}

/** In the order of the line, since a later option overrides an earlier one. */
function take(said: Said, option: string, value = ''): void {
  if (option === 'restrict' || option === 'no-port-forwarding') said.forwards = false;
  else if (option === 'port-forwarding') said.forwards = true;
  else if (option === 'permitlisten=') said.listens.push(value);
  else if (option === 'expiry-time=') said.expiries.push(value);
  else if (option === 'from=' && said.from === undefined) said.from = value;
  else if (!NEVER_GIVEN.test(option) && !(option === 'permitopen=' && PERMIT_OPEN.test(value))) {
    throw new Left(`the option ${option} is unknown, incomplete, repeated, or says what no credential can say`);
  }
}

/** Only these names are shown: a line that is no line of authorized_keys may be a secret. */
const unreadable = (rest: string): string => {
  const [name = 'one of its options'] = /^(command|environment|principals)(?==)/i.exec(rest) ?? [];
  return `${name} cannot be read, or no key follows`;
};

/** The rule that permits what `permitlisten` does. sshd compares texts, so another spelling of a name is another name. */
function ruleOf(listen: string): string {
  const [, host = '*', port] = PERMIT_LISTEN.exec(listen) ?? [];
  if (port === undefined) throw new Left('a permitlisten is no port, host:port or [address]:port');
  if (host === '*' && port === '*') return 'bind:*';
  const rule = `bind:${host}${port === '*' ? '' : `:${port}`}`;
  const read = orLeft(() => parseBindRule(rule, 0), 'a permitlisten has a pattern or a name that no rule can say');
  if (read.kind === 'port') return rule;
  if (read.kind === 'domain' && host === `${read.pattern === 'suffix' ? '*.' : ''}${read.host}`) return rule;
  throw new Left('a permitlisten has a name in another spelling than gateways compare: write it in lower case');
}

/** sshd takes no IPv4-mapped address for the IPv4 address of a client, but gateways do. */
function networksIn(from: string): readonly string[] {
  const given = from.split(',');
  if (given.some((one) => one.startsWith('!'))) throw new Left('its from= has exceptions (!)');
  const sentence = 'its from= has names, patterns, or networks with bits after the prefix';
  const networks = orLeft(() => given.map((one) => parseCidrs([one], 'from').join()), sentence);
  if (given.some((one, n) => one.includes(':') !== networks[n]?.includes(':'))) throw new Left(sentence);
  return orLeft(() => parseCidrs(networks, 'from'));
}

const EXPIRY = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(z|utc)?$/i;
const DAY_MS = 86_400_000;

/** Of two instants that a clock shows when it is set back, the earlier one. */
function instantOf(text: string, zone: Intl.DateTimeFormat | undefined): string {
  const [whole, year, month, day, hour = '00', minute = '00', second = '00', utc] = EXPIRY.exec(text) ?? [];
  const wall = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const wallMs = Date.parse(wall);
  // A day that its month does not have is read as one of the next month.
  if (whole === undefined || Number.isNaN(wallMs) || new Date(wallMs).toISOString() !== wall) {
    throw new Left('its expiry-time is no time');
  }
  if (utc !== undefined) return wall;
  if (zone === undefined) throw new Left('its expiry-time has no zone; add Z to it, or give --timezone');
  const [instant] = [-DAY_MS, DAY_MS]
    .map((shift) => wallMs + shift)
    .map((nearMs) => wallMs - (inZone(new Date(nearMs), zone).getTime() - nearMs))
    .filter((ms) => inZone(new Date(ms), zone).getTime() === wallMs)
    .sort((one, other) => one - other);
  if (instant === undefined) throw new Left('its expiry-time does not exist in the zone');
  return new Date(instant).toISOString();
}
