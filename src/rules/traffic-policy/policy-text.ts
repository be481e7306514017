import {
  constructFromEvents,
  EVENT_ALIAS,
  EVENT_SCALAR,
  type Event,
  parseEvents,
  SCALAR_STYLE_PLAIN,
  YAMLException,
} from 'js-yaml';
import { messageOf } from '../../kernel/error-message.js';
import { isJsonObject } from '../../kernel/json-object.js';
import { shortened, UnreadablePolicy } from './unreadable-policy.js';

/** The most bytes of a text that is read, since other work waits meanwhile. The most hostile texts take some 5 ms. */
export const MAX_READ_POLICY_BYTES = 16 * 1024;
const MAX_YAML_BYTES = 8 * 1024;
const THE_POLICY = 'the policy';
/** Deeper than any policy; js-yaml would recurse as deep as the text does. */
const MAX_DEPTH = 32;

interface PolicyDocument {
  readonly document: Readonly<Record<string, unknown>>;
  /** How many values it has in all, those in others included. */
  readonly values: number;
}

/**
 * The object that a text in JSON or YAML is. js-yaml reads YAML: of the hostile texts that were tried none took more
 * than 0.6 µs a byte, where `yaml` took minutes for nested keys.
 */
export function readPolicyText(text: string): PolicyDocument {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_READ_POLICY_BYTES) {
    const limit = `one of at most ${MAX_READ_POLICY_BYTES} is applied, or ${MAX_YAML_BYTES} as YAML`;
    throw new UnreadablePolicy(THE_POLICY, `is ${bytes} bytes long; ${limit}. Put long lists into IP policies.`);
  }
  if (text.trim() === '') throw new UnreadablePolicy(THE_POLICY, 'is empty; send {} for a policy without rules.');
  const [document, values] = readDocument(text, bytes);
  if (isJsonObject(document)) return { document, values };
  throw new UnreadablePolicy(THE_POLICY, 'must be an object, such as {"on_tcp_connect": []}.');
}

function readDocument(text: string, bytes: number): [document: unknown, values: number] {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    if (bytes <= MAX_YAML_BYTES) {
      const read = yamlOf(text);
      return [read, countsIn(read).values];
    }
    const limit = `YAML may have at most ${MAX_YAML_BYTES}; send it as JSON`;
    throw new UnreadablePolicy(THE_POLICY, `is ${bytes} bytes long, and not JSON (${jsonReason(error)}); ${limit}.`);
  }
  // JSON.parse keeps the last of two fields with one name; who wrote the policy may mean the first one.
  const { fields, values } = countsIn(document);
  if (namesIn(text) === fields) return [document, values];
  throw new UnreadablePolicy(THE_POLICY, 'has an object with two fields of one name; leave one of them.');
}

/** How many names of fields a text of JSON has. */
function namesIn(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g)) if (colon !== undefined) count += 1;
  return count;
}

/** The fields of all objects in a document, and all its values. */
function countsIn(document: unknown): { readonly fields: number; readonly values: number } {
  let [fields, values] = [0, 0];
  const waiting = [document];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const inside: readonly unknown[] = Object.values(value);
    if (!Array.isArray(value)) fields += inside.length;
    values += inside.length;
    for (const part of inside) waiting.push(part);
  }
  return { fields, values };
}

function yamlOf(text: string): unknown {
  // js-yaml takes 20 µs for each document before it says that there is more than one.
  if ((text.match(/^(?:---|\.\.\.)(?=\s|$)/gm)?.length ?? 0) > 2) throw severalDocuments();
  const events = readYaml(text, () => parseEvents(text, { maxDepth: MAX_DEPTH }));
  for (const event of events) refuseSigns(event, text);
  const [document, ...others] = readYaml(text, () => constructFromEvents(events, { source: text }));
  if (others.length > 0) throw severalDocuments();
  return document;
}

const severalDocuments = () => new UnreadablePolicy(THE_POLICY, 'has more than one document of YAML; send one.');

function readYaml<Read>(text: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    if (error instanceof YAMLException) refuseNamedSign(error, text);
    throw new UnreadablePolicy(THE_POLICY, `is neither JSON nor YAML: ${yamlReason(error)}.`);
  }
}

/**
 * What YAML takes out of a text. Who begins an expression with such a sign means the sign: js-yaml reads
 * `! inCidrRange(...)` as `inCidrRange(...)` with a tag, which would let in whom the policy keeps out.
 */
const SIGNS = { tag: 'a tag (!)', anchor: 'an anchor (&)', alias: 'an alias (*)', merge: 'a merge key (<<)' } as const;

function refuseSigns(event: Event, text: string): void {
  if (event.type === EVENT_ALIAS) throw signRefusal('alias', text, event.anchorStart);
  if ('tagStart' in event && event.tagStart >= 0) throw signRefusal('tag', text, event.tagStart);
  if ('anchorStart' in event && event.anchorStart >= 0) throw signRefusal('anchor', text, event.anchorStart);
  const isPlain = event.type === EVENT_SCALAR && event.style === SCALAR_STYLE_PLAIN;
  if (isPlain && text.slice(event.valueStart, event.valueEnd) === '<<')
    throw signRefusal('merge', text, event.valueStart);
}

/** js-yaml names what it cannot read: `tag suffix cannot contain flow indicator characters`. */
function refuseNamedSign({ reason, mark }: YAMLException, text: string): void {
  const [, name] = /\b(tag|anchor|alias)\b/.exec(reason) ?? [];
  if (name === 'tag' || name === 'anchor' || name === 'alias') throw signRefusal(name, text, mark?.position ?? 0);
}

function signRefusal(sign: keyof typeof SIGNS, text: string, at: number): UnreadablePolicy {
  const line = text.slice(0, at).split(/\r\n|\r|\n/).length;
  return new UnreadablePolicy(THE_POLICY, `has ${SIGNS[sign]} of YAML in line ${line}; put it in quotes.`);
}

/** Without what V8 quotes of the text. */
const jsonReason = (error: unknown): string => shortened(messageOf(error).replace(/, (?:\.\.\.)?".*/s, ''));

function yamlReason(error: unknown): string {
  if (!(error instanceof YAMLException)) return shortened(messageOf(error));
  const { reason, mark } = error;
  return mark === undefined
    ? shortened(reason)
    : `${shortened(reason)} (line ${mark.line + 1}, column ${mark.column + 1})`;
}
