import { isSafeToTrust } from '../../api/access/authentication/issuer-url.js';
import { type Config, ConfigError, misspelledIn, readConfig } from '../../api/config/config.js';
import { type Finding, ok, warning, wrong } from './finding.js';

const LOOPBACK_HOSTS = ['127.0.0.1', '::1', 'localhost'];

/** Combinations that are valid, and that an operator hardly wants. */
const DOUBTS: readonly { readonly isSo: (config: Config) => boolean; readonly text: string }[] = [
  {
    isSo: ({ publicUrl }) => publicUrl !== undefined && !isSafeToTrust(new URL(publicUrl)),
    text: 'PUBLIC_URL is not https, so keys cross the network in the clear: put a proxy with TLS in front, and name its URL',
  },
  {
    isSo: ({ publicUrl, trustedProxies }) => publicUrl === undefined && trustedProxies.length > 0,
    text: 'TRUST_PROXY is set without PUBLIC_URL, so each uri in an answer is what the request called: set PUBLIC_URL to the URL of the proxy',
  },
  {
    isSo: ({ publicUrl, trustedProxies }) => publicUrl?.startsWith('https:') === true && trustedProxies.length === 0,
    text: 'PUBLIC_URL names a proxy, but TRUST_PROXY is not set, so all clients count as one address: set TRUST_PROXY to the address of the proxy',
  },
  {
    isSo: ({ publicUrl, host }) => publicUrl === undefined && !LOOPBACK_HOSTS.includes(host),
    text: 'HOST opens the service to the network, and it has no TLS: put a proxy in front, and set PUBLIC_URL and TRUST_PROXY',
  },
  {
    isSo: ({ authFailuresPerMinute }) => authFailuresPerMinute === 0,
    text: 'AUTH_FAILURES_PER_MINUTE is 0, so anyone may try keys without a limit: remove it',
  },
  {
    isSo: ({ corsOrigins }) => corsOrigins.includes('*'),
    text: 'CORS_ORIGINS is *, so the pages of every site may call from a browser: name the origins that need it',
  },
  {
    isSo: ({ logLevel }) => logLevel === 'debug',
    text: 'LOG_LEVEL is debug, which is for a search only: remove it',
  },
];

export interface CheckedSettings {
  readonly findings: readonly Finding[];
  /** The settings; for one that cannot be read, its default. */
  readonly config: Config;
  /** The variables that cannot be read. */
  readonly broken: readonly string[];
}

/** No finding shows the value of a secret, since the messages of `readConfig` do not. */
export function checkSettings(environment: NodeJS.ProcessEnv): CheckedSettings {
  try {
    const config = readConfig(environment);
    const doubts = [
      ...DOUBTS.filter(({ isSo }) => isSo(config)).map(({ text }) => text),
      ...misspelledIn(environment),
    ].map(warning);
    return { config, broken: [], findings: doubts.length > 0 ? doubts : [ok('all settings can be used')] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.problems.map(wrong);
    // Each problem begins with the variable that it is about. Without them the other checks can go on.
    const names = error.problems.map((problem) => problem.split(' ')[0] ?? '');
    const others = Object.entries(environment).filter(([name]) => !names.includes(name));
    const rest = checkSettings(Object.fromEntries(others));
    return {
      config: rest.config,
      broken: [...names, ...rest.broken],
      findings: [...findings, ...rest.findings.filter(({ level }) => level !== 'ok')],
    };
  }
}
