import { load } from 'js-yaml';
import { parse } from 'smol-toml';
import { isJsonObject } from '../../kernel/json-object.js';
import { Left } from './left.js';

/** A TCP proxy of a client of frp. */
interface TcpProxy {
  readonly name: string;
  /** The value of its label `frp`: the name as the server of frp has it. */
  readonly label: string;
  /** Where its client sends connections. */
  readonly local: string;
  readonly remotePort: number;
}

interface ReadProxy {
  readonly line: number;
  /** Throws Left. */
  read(): TcpProxy;
}

/** A name becomes a label, a file of `--keys` and a word of a shell. */
const NAME = /^\w[\w.-]{0,99}$/;
const HOST = /^\w[\w.-]*$/;
const FIELDS = /^(name|type|localIP|localPort|remotePort|enabled|transport|annotations|metadatas)$/;
/** SSH encrypts each tunnel, whatever frp did. */
const TRANSPORT = /^transport\.(useEncryption|useCompression)$/;

/** Reads a configuration of frpc. No message quotes a value: it may be a token or a password. */
export function readFrpClient(file: string, text: string): readonly ReadProxy[] {
  const lines = text.split('\n');
  const left = (word: string, reason: string): ReadProxy => ({
    line: lines.findIndex((line) => line.includes(word)) + 1 || 1,
    read() {
      throw new Left(reason);
    },
  });
  if (text.includes('{{')) return [left('{{', 'the file is a template; give what frpc makes of it')];
  const document = documentIn(file, text);
  if (document === undefined) return [left('', 'it cannot be read as TOML, YAML or JSON, the forms since frp 0.52')];
  const { proxies, includes, visitors, user = '', start } = document;
  const found: ReadProxy[] = [];
  if (includes !== undefined) found.push(left('includes', 'includes is not followed; give these files too'));
  if (visitors !== undefined) found.push(left('visitors', "visitors open other people's tunnels; ssh -L does it"));
  let line = 0;
  for (const one of Array.isArray(proxies) ? proxies : []) {
    const name = isJsonObject(one) ? String(one.name) : '';
    line = lineOf(lines, name, line);
    found.push({ line, read: () => proxyIn(one, String(user), start) });
  }
  return found.length > 0 ? found : [left('', 'it has no proxies; give the configuration of frpc, not that of frps')];
}

/** The parsers name no line of a value. Proxies stand in the order of the file, so each is sought after the last one. */
function lineOf(lines: readonly string[], name: string, last: number): number {
  for (let n = last; n < lines.length; n += 1) {
    const line = lines[n] ?? '';
    if (line.includes(name) && /name\b/i.test(line)) return n + 1;
  }
  return Math.max(last, 1);
}

/** frpc reads the names of settings in small and in capital letters. */
function documentIn(file: string, text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    // YAML has all of JSON.
    const document: unknown = /\.ya?ml$/i.test(file) || /^\s*\{/.test(text) ? load(text) : parse(text);
    if (!isJsonObject(document)) return undefined;
    return Object.fromEntries(Object.entries(document).map(([name, value]) => [name.toLowerCase(), value]));
  } catch {
    // The messages of the parsers quote the text.
    return undefined;
  }
}

function proxyIn(one: unknown, user: string, start: unknown): TcpProxy {
  if (!isJsonObject(one)) throw new Left('a proxy is no object');
  const { name, type, localIP = '127.0.0.1', localPort, remotePort, enabled = true, transport = {} } = one;
  if (typeof name !== 'string' || !NAME.test(name) || (user !== '' && !NAME.test(user))) {
    throw new Left('the name of the proxy, or its user, has other characters than letters, digits, - _ and .');
  }
  if (type !== 'tcp') throw new Left(`proxies of the type ${wordIn(type)} do not move, only tcp`);
  const ofTransport = Object.keys(isJsonObject(transport) ? transport : { '?': transport });
  const [other] = [
    ...Object.keys(one).filter((field) => !FIELDS.test(field)),
    ...ofTransport.map((field) => `transport.${field}`).filter((field) => !TRANSPORT.test(field)),
  ];
  if (other !== undefined) throw new Left(`its setting ${wordIn(other)} has no counterpart`);
  if (enabled !== true || !isStarted(name, start)) throw new Left('frpc does not start it');
  if (!isPort(remotePort)) throw new Left('it has no fixed remotePort, and an edge has a fixed port');
  if (!isPort(localPort) || typeof localIP !== 'string' || !HOST.test(localIP)) {
    throw new Left('its localIP and localPort are no address of a machine');
  }
  return { name, label: user === '' ? name : `${user}.${name}`, local: `${localIP}:${localPort}`, remotePort };
}

const wordIn = (value: unknown): string => /^[A-Za-z.]{1,40}$/.exec(String(value))?.[0] ?? '?';

const isStarted = (name: string, start: unknown): boolean =>
  start === undefined || (Array.isArray(start) && (start.length === 0 || start.includes(name)));

const isPort = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536;
