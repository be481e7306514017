import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { isJsonObject } from '../../src/kernel/json-object.js';

/** The answers of the earlier version, and the secrets that it issued. */
interface Before {
  readonly adminKey: string;
  readonly userKey: string;
  readonly revokedKey: string;
  readonly gatewayToken: string;
  readonly answers: Readonly<Record<string, object>>;
  readonly questions: readonly (readonly [question: object, answer: object])[];
}

const fileOf = (name: string): string => fileURLToPath(new URL(`../e2e/upgrade/${name}`, import.meta.url));

/** SQL that fills a new database with one of the last version before 1.0, as pg_dump wrote it. */
export const dumpOfBefore = (): string => gunzipSync(readFileSync(fileOf('before-1.0.sql.gz'))).toString();
/** Fields of histories that GET does not show. */
const INNER_FIELDS = ['key_type', 'key_bits', 'key_blob', 'fingerprint', 'exclusive'];

export const EARLIER = JSON.parse(readFileSync(fileOf('answers.json'), 'utf8'), asToday) as Before;

/** Applies the changes of later versions to an answer of the earlier one. */
function asToday(name: string, value: unknown): unknown {
  if (name === 'changes' && Array.isArray(value)) return value.filter(({ field }) => !INNER_FIELDS.includes(field));
  if (!isJsonObject(value)) return value;
  if ('matched_rule' in value) {
    // Every bind that it refused for lack of a rule was of this domain.
    const answer = { ...value, needs: value.reason === 'not_permitted' ? 'bind:x.example.com' : null };
    if (!('decided_at' in value)) return answer;
    return { ...answer, gateway_name: null, log_position: null, rule_index: null, read_at: null };
  }
  if ('last_used_at' in value && 'id' in value) return { ...value, online: false, last_seen_at: null };
  if ('specversion' in value) {
    return { ...value, source: new URL(String(value.source)).pathname, correlationid: value.operationid };
  }
  if ('changes' in value) return { ...value, correlation_id: value.operation_id, causation_id: null };
  return value;
}
