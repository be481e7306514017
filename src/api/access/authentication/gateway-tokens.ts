import type { Gateway } from '../../../kernel/caller.js';
import { isId } from '../../../kernel/ids.js';
import { isToken } from '../../../kernel/settings/token.js';
import { hashToken } from '../api-keys/api-key.js';

/** A gateway of the setting GATEWAY_TOKENS, with the token that it sends. */
export interface GatewayToken extends Gateway {
  readonly token: string;
}

/** The gateway whose token it is. Instances may list tokens in another order, so a hash identifies one without a name. */
export const gatewayOf = ({ token, ...gateway }: GatewayToken): Gateway => ({
  ...gateway,
  identity: gateway.name ?? hashToken(token),
});

/** The name, the account if there is one, and the token. */
const ENTRY = /^(?<name>[a-z0-9-]{1,32})(?:@(?<account>[^=@]+))?=(?<token>.*)$/;
/**
 * A text that is meant as `name=token`. Any other text with `=` is a token alone, as in earlier versions: it is like
 * base64 with `=` only at its end, or has a character like `+` or `/` before the first `=`.
 */
const MEANT_AS_NAMED = /^[A-Za-z0-9._@-]*=+[^=]/;

const TOKEN_FORM = 'tokens of 20 to 255 printable ASCII characters, without blanks, " and \\';
const NAMED_FORM =
  'must be name=token or name@account=token, with a name of 1 to 32 of a-z, 0-9 and -, and the id of an account. A token that has = in its middle needs a name too';

/**
 * Parses a comma-separated list: with several tokens an operator can rotate them gateway by gateway. Errors count the
 * entries from 1, since a name may be a part of a token.
 */
export function parseGatewayTokens(text: string): readonly GatewayToken[] {
  const gateways = text.split(',').map((entry, n) => parseEntry(entry.trim(), `entry ${n + 1}`));
  refuseRepeated(gateways, 'token');
  refuseRepeated(gateways, 'name');
  return gateways;
}

function parseEntry(entry: string, which: string): GatewayToken {
  if (!MEANT_AS_NAMED.test(entry)) return { token: checkedToken(entry, which) };
  const { name, account, token = '' } = ENTRY.exec(entry)?.groups ?? {};
  if (name === undefined || (account !== undefined && !isId(account, 'ac'))) throw new Error(`${which} ${NAMED_FORM}`);
  return { name, ...(account !== undefined && { accountId: account }), token: checkedToken(token, which) };
}

function checkedToken(token: string, which: string): string {
  if (isToken(token)) return token;
  throw new Error(`must be a comma-separated list of ${TOKEN_FORM}, each alone or after name= (${which})`);
}

function refuseRepeated(gateways: readonly GatewayToken[], field: 'token' | 'name'): void {
  const values = gateways.map((gateway) => gateway[field]);
  const n = values.findIndex((value, at) => value !== undefined && values.indexOf(value) < at);
  if (n === -1) return;
  throw new Error(`has one ${field} twice, in entry ${values.indexOf(values[n]) + 1} and entry ${n + 1}`);
}
