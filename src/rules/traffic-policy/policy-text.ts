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
import type { WorkInTurns } from '../../kernel/in-turns.js';
import { isJsonObject } from '../../kernel/json-object.js';
import { MAX_PARTS } from './policy-counts.js';
import { shortened, UnreadablePolicy } from './unreadable-policy.js';

/** The most bytes of the text of a policy. */
export const MAX_TRAFFIC_POLICY_BYTES = 256 * 1024;
/** Hostile YAML of this size takes 10 ms; other work waits as long, since js-yaml reads a text in one turn. */
const MAX_YAML_BYTES = 16 * 1024;
const THE_POLICY = 'the policy';
/** Deeper than any policy; js-yaml would recurse as deep as the text does. */
const MAX_DEPTH = 32;

/** An object with its values, those of the values, and so on, counted. */
interface PolicyDocument {
  readonly document: Readonly<Record<string, unknown>>;
  readonly parts: number;
}

/**
 * The object that a text in JSON or YAML is. js-yaml reads YAML: of the hostile texts that were tried none took more
 * than 0.6 µs a byte, where `yaml` took minutes for nested keys.
 */
export async function readPolicyText(text: string, turns: WorkInTurns): Promise<PolicyDocument> {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TRAFFIC_POLICY_BYTES) {
    throw new UnreadablePolicy(THE_POLICY, `is ${bytes} bytes long; the maximum is ${MAX_TRAFFIC_POLICY_BYTES}.`);
  }
  if (text.trim() === '') throw new UnreadablePolicy(THE_POLICY, 'is empty; send {} for a policy without rules.');
  const [document, parts] = await readDocument(text, bytes, turns);
  if (isJsonObject(document)) return { document, parts };
  throw new UnreadablePolicy(THE_POLICY, 'must be an object, such as {"on_tcp_connect": []}.');
}

async function readDocument(
  text: string,
  bytes: number,
  turns: WorkInTurns,
): Promise<[document: unknown, parts: number]> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    if (bytes <= MAX_YAML_BYTES) {
      const read = yamlOf(text);
      return [read, countsIn(read).parts];
    }
    const limit = `YAML may have at most ${MAX_YAML_BYTES}; send it as JSON`;
    throw new UnreadablePolicy(THE_POLICY, `is ${bytes} bytes long, and not JSON (${jsonReason(error)}); ${limit}.`);
  }
  await turns.step();
  // JSON.parse keeps the last of two fields with one name; who wrote the policy may mean the first one.
  const { fields, parts } = countsIn(document);
  if (namesIn(text) === fields) return [document, parts];
  throw new UnreadablePolicy(THE_POLICY, 'has an object with two fields of one name; leave one of them.');
}

/** How many names of fields a text of JSON has. */
function namesIn(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g)) if (colon !== undefined) count += 1;
  return count;
}

/** The fields of all objects in a document, and all its values. */
function countsIn(document: unknown): { readonly fields: number; readonly parts: number } {
  let [fields, parts] = [0, 0];
  const waiting = [document];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const inside: readonly unknown[] = Object.values(value);
    if (!Array.isArray(value)) fields += inside.length;
    parts += inside.length;
    if (parts > MAX_PARTS) {
      const limit = `has more than ${MAX_PARTS} values; write fewer rules, and put long lists into IP policies.`;
      throw new UnreadablePolicy(THE_POLICY, limit);
    }
    for (const part of inside) waiting.push(part);
  }
  return { fields, parts };
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
