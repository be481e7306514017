import { load } from 'js-yaml';
import { parse } from 'smol-toml';
import { isJsonObject } from '../../kernel/json-object.js';
import { Left } from './left.js';

/** A TCP proxy of a client of frp. */
export interface TcpProxy {
  readonly name: string;
  /** The value of its label `frp`: the name as the server of frp has it. */
  readonly label: string;
  /** Where its client sends connections. */
  readonly local: string;
  readonly remotePort: number;
}

interface ReadProxy {
  readonly line: number;
  readonly proxy: TcpProxy | Left;
}

type Fields = Readonly<Record<string, unknown>>;

/** A name becomes a label, a file of `--keys` and a word of a shell. */
const NAME = /^\w[\w.-]{0,99}$/;
const HOST = /^[\w.-]+$/;
const FIELDS = [
  'name',
  'type',
  'localIP',
  'localPort',
  'remotePort',
  'enabled',
  'transport',
  'annotations',
  'metadatas',
];
/** SSH encrypts each tunnel, whatever frp did. */
const TRANSPORT = ['useEncryption', 'useCompression'];

/** Reads a configuration of frpc. No message quotes a value: it may be a token or a password. */
export function readFrpClient(file: string, text: string): readonly ReadProxy[] {
  const lines = text.split('\n');
  if (text.includes('{{')) {
    return [leftAt(lineOf(lines, '{{'), 'the file is a template; give what frpc makes of it')];
  }
  const document = documentIn(file, text);
  if (document instanceof Left) return [{ line: 1, proxy: document }];
  const { proxies = [], includes, visitors, user = '', start } = document;
  const found: ReadProxy[] = [];
  if (includes !== undefined)
    found.push(leftAt(lineOf(lines, 'includes'), 'includes is not followed; give these files too'));
  if (visitors !== undefined)
    found.push(leftAt(lineOf(lines, 'visitors'), "visitors open other people's tunnels; ssh -L does it"));
  for (const one of Array.isArray(proxies) ? proxies : []) {
    const name = isJsonObject(one) ? String(one.name) : '';
    const line = lineOf(lines, name);
    try {
      found.push({ line, proxy: proxyIn(one, String(user), start) });
    } catch (error) {
      if (!(error instanceof Left)) throw error;
      found.push({ line, proxy: error });
    }
  }
  return found.length > 0 ? found : [leftAt(1, 'it has no proxies; give the configuration of frpc, not that of frps')];
}

const leftAt = (line: number, reason: string): ReadProxy => ({ line, proxy: new Left(reason) });

/** The parsers name no line of a value, so it is the first with its text. */
function lineOf(lines: readonly string[], word: string): number {
  const isNamed = (line: string): boolean => line.includes(word) && (/name\b/i.test(line) || line.startsWith('['));
  const at = lines.findIndex(isNamed);
  return (at < 0 ? lines.findIndex((line) => line.includes(word)) : at) + 1 || 1;
}

function documentIn(file: string, text: string): Fields | Left {
  if (/^\s*\[common\]/m.test(text)) return iniDocument(text);
  const isYaml = /\.ya?ml$/i.test(file);
  try {
    // YAML has all of JSON.
    const document: unknown = isYaml || /^\s*\{/.test(text) ? load(text) : parse(text);
    if (isJsonObject(document)) return document;
  } catch {
    // The messages of the parsers quote the text.
  }
  return new Left(`it cannot be read as ${isYaml ? 'YAML' : 'TOML or JSON'}`);
}

const OLD_NAMES: Readonly<Record<string, string>> = {
  type: 'type',
  local_ip: 'localIP',
  local_port: 'localPort',
  remote_port: 'remotePort',
};
const OLD_IGNORED = /^(use_encryption|use_compression|meta_.*)$/;

/** The old form: a section for each proxy, and `common` for the client. */
function iniDocument(text: string): Fields {
  const common: Record<string, unknown> = {};
  const proxies: Record<string, unknown>[] = [];
  let section: Record<string, unknown> | undefined;
  for (const line of text.split('\n').map((one) => one.trim())) {
    const [, title] = /^\[(.+)\]$/.exec(line) ?? [];
    const [, name = '', value = ''] = /^([^;#=][^=]*?)\s*=\s*(.*)$/.exec(line) ?? [];
    if (title === 'common') section = common;
    else if (title !== undefined) {
      section = { type: 'tcp', name: title };
      proxies.push(section);
    } else if (section === common && name !== '') common[name] = name === 'start' ? value.split(/\s*,\s*/) : value;
    else if (section !== undefined && name !== '' && !OLD_IGNORED.test(name)) {
      section[OLD_NAMES[name] ?? name] = /^\d{1,5}$/.test(value) ? Number(value) : value;
    }
  }
  return { ...common, proxies };
}

function proxyIn(one: unknown, user: string, start: unknown): TcpProxy {
  if (!isJsonObject(one)) throw new Left('a proxy is no object');
  const { name, type, localIP = '127.0.0.1', localPort, remotePort, enabled = true, transport = {} } = one;
  if (typeof name !== 'string' || !NAME.test(name) || (user !== '' && !NAME.test(user))) {
    throw new Left('the name of the proxy, or its user, has other characters than letters, digits, - _ and .');
  }
  if (type !== 'tcp')
    throw new Left(`proxies of the type ${/^[a-z]+$/.exec(String(type))?.[0] ?? '?'} do not move, only tcp`);
  const others = Object.keys(one).filter((field) => !FIELDS.includes(field));
  const ofTransport = isJsonObject(transport)
    ? Object.keys(transport).filter((field) => !TRANSPORT.includes(field))
    : ['?'];
  const [other] = [...others, ...ofTransport.map((field) => `transport.${field}`)];
  if (other !== undefined) throw new Left(`its setting ${other.slice(0, 60)} has no counterpart`);
  const isStarted = start === undefined || (Array.isArray(start) && (start.length === 0 || start.includes(name)));
  if (enabled !== true || !isStarted) throw new Left('frpc does not start it');
  if (!isPort(remotePort)) throw new Left('it has no fixed remotePort, and an edge has a fixed port');
  if (!isPort(localPort) || typeof localIP !== 'string' || !HOST.test(localIP)) {
    throw new Left('its localIP and localPort are no address of a machine');
  }
  return { name, label: user === '' ? name : `${user}.${name}`, local: `${localIP}:${localPort}`, remotePort };
}

const isPort = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536;
