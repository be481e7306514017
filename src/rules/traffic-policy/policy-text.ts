import { load, YAMLException } from 'js-yaml';
import { messageOf } from '../../kernel/error-message.js';
import { isJsonObject } from '../../kernel/json-object.js';
import { UnreadablePolicy } from './unreadable-policy.js';

/** The most bytes of the text of a policy. */
export const MAX_TRAFFIC_POLICY_BYTES = 256 * 1024;
/** Hostile YAML of this size takes 10 ms; other work waits as long, since js-yaml reads a text in one turn. */
const MAX_YAML_BYTES = 16 * 1024;
const THE_POLICY = 'the policy';
/** Deeper than any policy; js-yaml would recurse as deep as the text does. */
const MAX_DEPTH = 32;

/**
 * The object that a text in JSON or YAML is. js-yaml reads YAML: of the hostile texts that were tried none took more
 * than 0.6 µs a byte, where `yaml` took minutes for nested keys. Aliases are refused, since a few of them can stand for a
 * document without end.
 */
export function readPolicyText(text: string): Readonly<Record<string, unknown>> {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TRAFFIC_POLICY_BYTES) {
    throw new UnreadablePolicy(THE_POLICY, `is ${bytes} bytes long; the maximum is ${MAX_TRAFFIC_POLICY_BYTES}.`);
  }
  if (text.trim() === '') throw new UnreadablePolicy(THE_POLICY, 'is empty; send {} for a policy without rules.');
  const document = documentOf(text, bytes);
  if (isJsonObject(document)) return document;
  throw new UnreadablePolicy(THE_POLICY, 'must be an object, such as {"on_tcp_connect": []}.');
}

function documentOf(text: string, bytes: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (bytes <= MAX_YAML_BYTES) return yamlOf(text);
    const limit = `YAML may have at most ${MAX_YAML_BYTES}; send it as JSON`;
    throw new UnreadablePolicy(THE_POLICY, `is ${bytes} bytes long, and not JSON (${jsonReason(error)}); ${limit}.`);
  }
}

function yamlOf(text: string): unknown {
  try {
    return load(text, { maxDepth: MAX_DEPTH, maxAliases: 0 });
  } catch (error) {
    throw new UnreadablePolicy(THE_POLICY, `is neither JSON nor YAML: ${yamlReason(error)}.`);
  }
}

const MAX_REASON = 200;
/** What V8 quotes of the text is left out. */
const jsonReason = (error: unknown): string =>
  messageOf(error)
    .replace(/, (?:\.\.\.)?".*/s, '')
    .slice(0, MAX_REASON);

function yamlReason(error: unknown): string {
  if (!(error instanceof YAMLException)) return messageOf(error);
  const { reason, mark } = error;
  return mark === undefined ? reason : `${reason} (line ${mark.line + 1}, column ${mark.column + 1})`;
}
