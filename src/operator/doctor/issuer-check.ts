import { discoveryUrl, isSafeToTrust } from '../../api/access/authentication/issuer-url.js';
import type { Config } from '../../api/config/config.js';
import { messageOf } from '../../kernel/error-message.js';
import { isJsonObject } from '../../kernel/json-object.js';
import { HttpClient } from '../../kernel/network/http-client.js';
import { type Finding, ok, wrong } from './finding.js';

const TIMEOUT_MS = 3_000;

/** Whether the issuer publishes keys for the check of tokens. */
export async function checkIssuer({ oidcIssuer: issuer }: Config): Promise<readonly Finding[]> {
  if (issuer === undefined) return [ok('OIDC_ISSUER is not set: API keys only')];
  try {
    const document = await fetchObject(discoveryUrl(issuer));
    if (document.issuer !== issuer) {
      return [wrong(`it names itself '${document.issuer}': set OIDC_ISSUER to exactly that`)];
    }
    const { jwks_uri: keysUrl } = document;
    if (typeof keysUrl !== 'string' || !URL.canParse(keysUrl) || !isSafeToTrust(new URL(keysUrl))) {
      return [wrong('its document has no jwks_uri that starts with https://: correct it at the issuer')];
    }
    const { keys } = await fetchObject(new URL(keysUrl));
    const count = Array.isArray(keys) ? keys.length : 0;
    if (count === 0) return [wrong(`${keysUrl} holds no key: correct it at the issuer`)];
    return [ok(`${issuer} answers, and has ${count} ${count === 1 ? 'key' : 'keys'}`)];
  } catch (error) {
    return [
      wrong(
        `${messageOf(error)}: requests with its tokens get 503 until it answers; check OIDC_ISSUER and the network`,
      ),
    ];
  }
}

async function fetchObject(url: URL): Promise<Readonly<Record<string, unknown>>> {
  try {
    const value = await new HttpClient().getJson(url, TIMEOUT_MS);
    if (isJsonObject(value)) return value;
    throw new Error('its answer is not a JSON object');
  } catch (error) {
    throw new Error(`${url.href}: ${messageOf(error)}`);
  }
}
