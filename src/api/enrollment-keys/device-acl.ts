import { malformed, Problem, quoted } from '../../kernel/problem.js';
import { parseAcl } from '../../rules/index.js';

/** A device as the rules of its enrollment key name it. */
interface Device {
  readonly name: string;
  /** `host:port`. Null: none is reserved for it. */
  readonly addr: string | null;
}

const NAME = '{name}';
const ADDR = '{addr}';
/** A rule that fits for the longest name fits for any. */
const LONGEST: Device = { name: 'a'.repeat(63), addr: `${'a'.repeat(63)}.example.com:65535` };
/** What must follow `{name}`: without it, a device could name itself like the domain of somebody else. */
const LABELS_AFTER = 2;

/**
 * One label of a domain, in the one spelling that it has. Digits alone would make an address of some domains, and `xn--`
 * could be a name that looks like another one.
 */
const DEVICE = /^(?!\d+$)(?!xn--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Throws Problem. */
export function parseDeviceName(name: string | undefined): string {
  if (name === undefined) throw malformed('name is missing; send the name of the device.');
  if (DEVICE.test(name)) return name;
  const form = '1 to 63 of a-z, 0-9 and -, which begin and end with a letter or digit';
  throw malformed(`name ${quoted(name)} must be ${form}, are not digits alone, and do not begin with xn--.`);
}

/** Checks rules in which `{name}` and `{addr}` stand for what a device gets. Throws Problem. */
export function parseDeviceAcl(acl: readonly unknown[], hasAddr: boolean): readonly string[] {
  if (acl.length === 0) throw refusal('acl is empty, which would permit everything; give it a rule, or bind:*.');
  const rules = acl.map((rule, n) => {
    const wrong = typeof rule === 'string' ? mistakeIn(rule, hasAddr) : 'it must be a string';
    if (wrong !== undefined) throw refusal(`acl[${n}] ${quoted(String(rule))}: ${wrong}.`);
    return String(rule);
  });
  aclOf(rules, LONGEST);
  return rules;
}

const refusal = (sentence: string): Problem => new Problem('acl_rule_invalid', sentence);

function mistakeIn(rule: string, hasAddr: boolean): string | undefined {
  const parts = rule.match(/\{[^}]*\}?|\}/g) ?? [];
  if (parts.some((part) => part !== NAME && part !== ADDR)) return 'braces stand only in {name} and {addr}';
  if (parts.length > 1) return '{name} or {addr} may stand in it once';
  if (parts[0] === ADDR && rule !== `bind:${ADDR}`) return "{addr} is a whole address, as in 'bind:{addr}'";
  if (parts[0] === ADDR && !hasAddr) return '{addr} needs reserve_addr: true';
  if (parts[0] === NAME && !namesWell(rule)) {
    return "{name} is one whole label with two further labels after it, as in 'bind:{name}.dev.example.com', or a whole value";
  }
  return undefined;
}

function namesWell(rule: string): boolean {
  const [, key, value] = /^bind:([^=]*)=(.*)$/.exec(rule) ?? [];
  if (key !== undefined) return value === NAME;
  const labels = rule
    .replace(/^bind:/, '')
    .replace(/:[^:]*$/, '')
    .replace(/\.$/, '')
    .split('.');
  const at = labels.indexOf(NAME);
  return at >= 0 && labels.length - 1 - at >= LABELS_AFTER;
}

/** The rules of a device's credential. Throws Problem if a rule asks for an address and the device has none. */
export const aclOf = (rules: readonly string[], { name, addr }: Device): readonly string[] =>
  parseAcl(rules.map((rule) => rule.replace(NAME, () => name).replace(ADDR, () => addr ?? ADDR)));
