import { isSafeToTrust } from '../../api/access/authentication/issuer-url.js';
import { type Config, ConfigError, misspelledIn, readConfig } from '../../api/config/config.js';
import { type Finding, ok, warning, wrong } from './finding.js';

const LOOPBACK_HOSTS = ['127.0.0.1', '::1', 'localhost'];

/** Combinations of settings that are valid, but that an operator rarely wants. */
const DOUBTS: readonly { readonly applies: (config: Config) => boolean; readonly text: string }[] = [
  {
    applies: ({ publicUrl }) => publicUrl !== undefined && !isSafeToTrust(new URL(publicUrl)),
    text: 'PUBLIC_URL is not https, so keys cross the network in the clear: put a proxy with TLS in front, and name its URL',
  },
  {
    applies: ({ publicUrl, trustedProxies }) => publicUrl === undefined && trustedProxies.length > 0,
    text: 'TRUST_PROXY is set without PUBLIC_URL, so each uri in an answer has the host that the request named: set PUBLIC_URL to the URL of the proxy',
  },
  {
    applies: ({ publicUrl, trustedProxies }) => publicUrl?.startsWith('https:') === true && trustedProxies.length === 0,
    text: 'PUBLIC_URL names a proxy, but TRUST_PROXY is not set, so all clients count as one address: set TRUST_PROXY to the address of the proxy',
  },
  {
    applies: ({ publicUrl, host }) => publicUrl === undefined && !LOOPBACK_HOSTS.includes(host),
    text: 'HOST opens the service to the network, and it has no TLS: put a proxy in front, and set PUBLIC_URL and TRUST_PROXY',
  },
  {
    applies: ({ authFailuresPerMinute }) => authFailuresPerMinute === 0,
    text: 'AUTH_FAILURES_PER_MINUTE is 0, so anyone may try keys without a limit: remove it',
  },
  {
    applies: ({ corsOrigins }) => corsOrigins.includes('*'),
    text: 'CORS_ORIGINS is *, so the pages of every site may call from a browser: name the origins that need it',
  },
  {
    applies: ({ logLevel }) => logLevel === 'debug',
    text: 'LOG_LEVEL is debug, which is only for debugging: remove it',
  },
];

export interface CheckedSettings {
  readonly findings: readonly Finding[];
  /** The settings, with the default of each one that cannot be read. */
  readonly config: Config;
  /** The variables that cannot be read. */
  readonly broken: readonly string[];
}

/** Checks the settings. No finding shows the value of a secret, since no message of `readConfig` does. */
export function checkSettings(environment: NodeJS.ProcessEnv): CheckedSettings {
  try {
    const config = readConfig(environment);
    const doubts = [
      ...DOUBTS.filter(({ applies }) => applies(config)).map(({ text }) => text),
      ...misspelledIn(environment),
    ].map(warning);
    return { config, broken: [], findings: doubts.length > 0 ? doubts : [ok('all settings can be used')] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.problems.map(wrong);
    // Each problem begins with the name of its variable. Without these variables the other settings can be checked.
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
