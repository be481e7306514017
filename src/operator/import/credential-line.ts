import { parseJsonObject } from '../../kernel/json-object.js';
import { parseAcl, parseCidrs, parsePublicKey } from '../../rules/index.js';
import { refuseEverything } from './authorized-line.js';
import { type CredentialBody, Left, orLeft, type Permitted } from './left.js';

const TEXTS = ['public_key', 'description', 'metadata', 'owner_id', 'expires_at'];
const LISTS = ['acl', 'source_cidrs'];
/** A line may be an answer of the API, whose own values a copy does not take. */
const SHOWN = ['id', 'uri', 'created_at', 'fingerprint', 'usage'];

/** Reads a line of JSON, a body of `POST /ssh_credentials`. Throws Left. */
export function readCredentialLine(line: string, permitted: Permitted): CredentialBody {
  const given = parseJsonObject(line);
  if (given === undefined) throw new Left('it is no object of JSON');
  const fields = Object.entries(given).filter(([name, value]) => !SHOWN.includes(name) && value !== null);
  for (const [name, value] of fields) {
    if (!TEXTS.includes(name) && !LISTS.includes(name))
      throw new Left(`a credential has no field ${name.slice(0, 60)}`);
    if (TEXTS.includes(name) ? typeof value !== 'string' : !Array.isArray(value)) {
      throw new Left(`${name} must be ${TEXTS.includes(name) ? 'a string' : 'a list'}`);
    }
  }
  const body = { acl: [], ...Object.fromEntries(fields) } as Partial<CredentialBody> & Pick<CredentialBody, 'acl'>;
  const { public_key, acl, source_cidrs, expires_at } = body;
  orLeft(() => parsePublicKey(public_key));
  orLeft(() => parseAcl(acl));
  if (source_cidrs !== undefined) orLeft(() => parseCidrs(source_cidrs, 'source_cidrs'));
  if (public_key === undefined) throw new Left('public_key is missing');
  refuseEverything(acl, permitted);
  if (expires_at !== undefined && !(Date.parse(expires_at) > Date.now()))
    throw new Left(`it expired, or expires_at is no time`);
  return { ...body, public_key };
}
