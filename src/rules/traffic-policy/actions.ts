import { isJsonObject } from '../../kernel/json-object.js';
import { quoted } from '../../kernel/problem.js';
import { parseAddress } from '../ip-rules/address.js';
import { type CompiledPolicy, compilePolicy, type IpRule } from '../ip-rules/ip-policy.js';
import { networkAround, networkText } from '../ip-rules/network.js';
import type { Expressions, PolicyCounts } from './expression.js';
import { MAX_DEPTH, readTemplate, type Template } from './template.js';
import { quotedName, UnreadablePolicy } from './unreadable-policy.js';

/** The actions of this phase. `deny` and `close-connection` do the same to a connection that carried nothing yet. */
export type PolicyAction = { readonly type: 'deny' } | { readonly type: 'close-connection' } | RestrictIps | Log;
/** The type of an action. */
export type ActionType = PolicyAction['type'];

/** Lets in what a rule allows and no rule denies; the rules are those of the action and of IP policies together. */
export interface RestrictIps {
  readonly type: 'restrict-ips';
  /** False: the connection goes on whatever comes out. */
  readonly enforce: boolean;
  readonly rules: CompiledPolicy;
  readonly ipPolicyIds: readonly string[];
}

interface Log {
  readonly type: 'log';
  readonly metadata: Template;
}

/** The most bytes of all logs of a decision together, as JSON. */
export const MAX_LOG_BYTES = 4_096;
/** The most networks of all actions of a policy. */
const MAX_NETWORKS = 500;
/** Longer than any id of an IP policy. */
const MAX_ID = 64;
const ACTION_TYPES = ['deny', 'close-connection', 'restrict-ips', 'log'];

type Fields = Readonly<Record<string, unknown>>;

/** Reads an action. Throws UnreadablePolicy. */
export function readAction(value: unknown, place: string, expressions: Expressions): PolicyAction {
  const { type, config } = fieldsOf(value, place, ['type', 'config']);
  if (typeof type !== 'string') throw new UnreadablePolicy(`${place}.type`, 'must be the name of an action.');
  const at = `${place}.config`;
  switch (type) {
    case 'deny':
    case 'close-connection':
      fieldsOf(config ?? {}, at, []);
      return { type };
    case 'restrict-ips':
      return readRestrictIps(fieldsOf(config, at, ['enforce', 'allow', 'deny', 'ip_policies']), at, expressions.counts);
    case 'log': {
      const { metadata } = fieldsOf(config, at, ['metadata']);
      if (!isJsonObject(metadata)) throw new UnreadablePolicy(`${at}.metadata`, 'must be an object.');
      return { type, metadata: readMetadata(metadata, `${at}.metadata`, expressions) };
    }
    default:
      throw new UnreadablePolicy(
        `${place}.type`,
        `is ${quotedName(type)}, which is not an action for a TCP connection here; known are ${ACTION_TYPES.join(', ')}.`,
      );
  }
}

function readMetadata(metadata: Fields, place: string, expressions: Expressions): Template {
  const bytes = Buffer.byteLength(jsonOf(metadata, place));
  if (bytes <= MAX_LOG_BYTES) return readTemplate(metadata, place, expressions);
  throw new UnreadablePolicy(place, `is ${bytes} bytes long as JSON; the maximum is ${MAX_LOG_BYTES}.`);
}

/** Metadata that are nested thousands deep overflow the stack. */
function jsonOf(metadata: Fields, place: string): string {
  try {
    return JSON.stringify(metadata);
  } catch {
    throw new UnreadablePolicy(place, `is nested more than ${MAX_DEPTH} deep.`);
  }
}

function readRestrictIps(
  { enforce = true, allow, deny, ip_policies }: Fields,
  place: string,
  counts: PolicyCounts,
): RestrictIps {
  if (typeof enforce !== 'boolean') throw new UnreadablePolicy(`${place}.enforce`, 'must be true or false.');
  const lists = { allow: textsOf(allow, `${place}.allow`), deny: textsOf(deny, `${place}.deny`) };
  counts.networks += lists.allow.length + lists.deny.length;
  if (counts.networks > MAX_NETWORKS) {
    const limit = `the maximum is ${MAX_NETWORKS}; put more into IP policies`;
    throw new UnreadablePolicy(place, `makes the policy have ${counts.networks} networks in restrict-ips; ${limit}.`);
  }
  const rules: IpRule[] = [];
  for (const action of ['allow', 'deny'] as const) {
    for (const [n, text] of lists[action].entries()) {
      // The id of a rule is its place in the action.
      const id = `${action}[${n}]`;
      rules.push({ id, cidr: cidrOf(text, `${place}.${id}`), action });
    }
  }
  const ipPolicyIds = textsOf(ip_policies, `${place}.ip_policies`);
  const wrong = ipPolicyIds.findIndex(({ length }) => length === 0 || length > MAX_ID);
  if (wrong >= 0) throw new UnreadablePolicy(`${place}.ip_policies[${wrong}]`, 'must be the id of an IP policy.');
  return { type: 'restrict-ips', enforce, rules: compilePolicy(rules), ipPolicyIds };
}

/** The canonical spelling of a network, or of an address as a network. */
function cidrOf(text: string, place: string): string {
  const address = parseAddress(text);
  const network = address === undefined ? networkAround(text) : { ...address, hostBits: 0n };
  if (network !== undefined) return networkText(network);
  const how = text.includes('${') ? `has \${ }, which is not filled here; write the network out` : `is ${quoted(text)}`;
  throw new UnreadablePolicy(place, `${how}; a network is such as 192.0.2.0/24 or 2001:db8::/32.`);
}

/** The texts of a list that may be absent. */
export function textsOf(value: unknown, place: string): readonly string[] {
  const items = value ?? [];
  if (!Array.isArray(items)) throw new UnreadablePolicy(place, 'must be a list.');
  const wrong = items.findIndex((item) => typeof item !== 'string');
  if (wrong >= 0) throw new UnreadablePolicy(`${place}[${wrong}]`, 'must be a string; put it in quotes.');
  return items;
}

/** The fields of an object that has no others. Throws UnreadablePolicy. */
export function fieldsOf(value: unknown, place: string, known: readonly string[]): Fields {
  if (!isJsonObject(value)) throw new UnreadablePolicy(place, 'must be an object.');
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return value;
  const fields = known.length === 0 ? 'it has no fields' : `known are ${known.join(', ')}`;
  throw new UnreadablePolicy(place, `has the field ${quotedName(unknown)}, which is not known here; ${fields}.`);
}
