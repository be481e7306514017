import { parseJsonObject } from '../../kernel/json-object.js';
import { parseAcl, parseCidrs } from '../../rules/index.js';
import { refuseEverything } from './authorized-line.js';
import { type CredentialBody, Left, orLeft } from './left.js';
import type { ImportOptions } from './report.js';

const FIELDS = ['public_key', 'description', 'metadata', 'owner_id', 'expires_at', 'acl', 'source_cidrs'];
/** A line may be an answer of the API, whose own values a copy does not take. */
const SHOWN = ['id', 'uri', 'created_at', 'fingerprint', 'usage'];

/** Reads a line of JSON, a body of `POST /ssh_credentials`. Throws Left. */
export function readCredentialLine(line: string, options: ImportOptions): CredentialBody {
  const given = parseJsonObject(line);
  if (given === undefined) throw new Left('it is no object of JSON');
  const fields = Object.entries(given).filter(([name, value]) => !SHOWN.includes(name) && value !== null);
  const other = fields.find(([name]) => !FIELDS.includes(name));
  if (other !== undefined) throw new Left(`a credential has no field ${other[0].slice(0, 60)}`);
  const body: CredentialBody = { public_key: '', acl: [], ...Object.fromEntries(fields) };
  const { acl, source_cidrs = ['::'], expires_at } = body;
  if (!Array.isArray(acl) || !Array.isArray(source_cidrs)) throw new Left('acl and source_cidrs must be lists');
  orLeft(() => parseAcl(acl));
  orLeft(() => parseCidrs(source_cidrs, 'source_cidrs'));
  refuseEverything(acl, options);
  if (expires_at !== undefined && !(Date.parse(expires_at) > Date.now())) {
    throw new Left('it expired, or expires_at is no time');
  }
  return body;
}
