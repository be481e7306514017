import { readFileSync } from 'node:fs';
import type { GatewayRoutes } from '../../gateway/index.js';
import { UsageError } from '../../kernel/operator-error.js';

/**
 * Reads the URL and the token from the curl config of the key command, so that a gateway keeps its token in one file.
 */
export function readCurlConfig(file: string): GatewayRoutes {
  const text = readFileSync(file, 'utf8');
  const find = (pattern: RegExp): string | undefined => pattern.exec(text)?.[1];
  const url = find(/^\s*url\s*[=:]?\s*"?([^"\s]+)"?/m);
  const authorization = find(/^\s*header\s*[=:]?\s*"Authorization:\s*([^"]+)"/im);
  const ca = find(/^\s*cacert\s*[=:]?\s*"?([^"\s]+)"?/m);
  if (url === undefined || authorization === undefined || !URL.canParse(url) || !/\/authorized_keys$/.test(url)) {
    throw new UsageError(
      `${file} must have a url that ends in /authorized_keys and a header "Authorization: Bearer TOKEN"`,
    );
  }
  return { url: new URL('.', url), authorization, ca: ca === undefined ? undefined : readFileSync(ca, 'utf8') };
}
