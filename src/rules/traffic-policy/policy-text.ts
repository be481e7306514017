import { load, YAMLException } from 'js-yaml';
import { messageOf } from '../../kernel/error-message.js';
import { isJsonObject } from '../../kernel/json-object.js';
import { UnreadablePolicy } from './unreadable-policy.js';

/** The most bytes of the text of a policy. */
export const MAX_TRAFFIC_POLICY_BYTES = 256 * 1024;
const THE_POLICY = 'the policy';
/** Deeper than any policy; js-yaml would recurse as deep as the text does. */
const MAX_DEPTH = 32;

/**
 * The object that a text in JSON or YAML is. js-yaml reads YAML: it took at most 0.2 s for 256 KiB of any hostile text
 * that was tried, where `yaml` took 6 s for many keys and minutes for nested ones. Aliases are refused, since a few of
 * them can stand for a document without end.
 */
export function readPolicyText(text: string): Readonly<Record<string, unknown>> {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TRAFFIC_POLICY_BYTES) {
    throw new UnreadablePolicy(THE_POLICY, `is ${bytes} bytes long; the maximum is ${MAX_TRAFFIC_POLICY_BYTES}.`);
  }
  if (text.trim() === '') throw new UnreadablePolicy(THE_POLICY, 'is empty; send {} for a policy without rules.');
  const document = jsonOf(text) ?? yamlOf(text);
  if (isJsonObject(document)) return document;
  throw new UnreadablePolicy(THE_POLICY, 'must be an object, such as {"on_tcp_connect": []}.');
}

function jsonOf(text: string): unknown {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function yamlOf(text: string): unknown {
  try {
    return load(text, { maxDepth: MAX_DEPTH, maxAliases: 0 });
  } catch (error) {
    throw new UnreadablePolicy(THE_POLICY, `is neither JSON nor YAML: ${yamlReason(error)}.`);
  }
}

function yamlReason(error: unknown): string {
  if (!(error instanceof YAMLException)) return messageOf(error);
  const { reason, mark } = error;
  return mark === undefined ? reason : `${reason} (line ${mark.line + 1}, column ${mark.column + 1})`;
}
