import { baseUrl, flag, integer, text } from '../../kernel/settings/parsers.js';
import type { SettingsTable } from '../../kernel/settings/setting.js';

/** Where the service listens, and what clients call it. */
export const LISTENING = {
  // Loopback by default: a first start must not be reachable from the network.
  host: {
    name: 'HOST',
    about: 'Address to listen on; `0.0.0.0` for all. The service has no TLS: put a proxy in front.',
    example: '0.0.0.0',
    fallback: '127.0.0.1',
    parse: text,
  },
  port: {
    name: 'PORT',
    about: 'Port to listen on; 0 takes a free one.',
    example: '8080',
    fallback: 8080,
    parse: integer(0, 65_535),
  },
  publicUrl: {
    name: 'PUBLIC_URL',
    about: 'Base of every `uri` in answers. Set it behind a proxy.',
    fallbackText: "the request's scheme and host",
    example: 'https://api.example.com',
    fallback: undefined,
    parse: baseUrl,
  },
  console: {
    name: 'CONSOLE',
    about: 'Serves the page at `/console`.',
    example: 'off',
    fallback: true,
    parse: flag,
  },
} as const satisfies SettingsTable;
