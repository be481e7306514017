import { describe, expect, it } from '@jest/globals';
import { type ConfigError, readConfig } from './config.js';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    return (error as ConfigError).problems;
  }
  throw new Error('no problem found');
}

describe('readConfig', () => {
  it('of an empty environment is a service on loopback with an embedded database under ./data', () => {
    expect(readConfig({ PORT: '' })).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataDir: `${process.cwd()}/data`,
      databaseUrl: undefined,
      strict: false,
    });
  });

  it('reports every bad variable at once, each with the problem and an example', () => {
    const environment = {
      PORT: '99999',
      STRICT: 'maybe',
      LOG_LEVEL: 'loud',
      PUBLIC_URL: 'ftp://x',
      DATABASE_POOL_SIZE: '1',
    };
    expect(problemsOf(environment)).toEqual([
      "PORT '99999' must be a whole number from 0 to 65535; for example: 8080",
      "PUBLIC_URL 'ftp://x' must be a URL that starts with http:// or https://; for example: https://api.example.com",
      "DATABASE_POOL_SIZE '1' must be a whole number from 2 to 1000; for example: 10",
      "STRICT 'maybe' must be true or false; for example: true",
      "LOG_LEVEL 'loud' must be one of error, warn, info, debug; for example: info",
    ]);
  });

  it.each([
    ['fifteen chars..', 'is 15 characters long; the least is 16'],
    ['x'.repeat(256), 'is 256 characters long; the most is 255'],
    ['with a blank in it', 'may hold printable ASCII characters only'],
    ['ünprintable-enough', 'may hold printable ASCII characters only'],
  ])('refuses BOOTSTRAP_API_KEY %p without echoing it', (key, problem) => {
    const [text = ''] = problemsOf({ BOOTSTRAP_API_KEY: key });
    expect(text).toContain(problem);
    expect(text).not.toContain(key);
  });

  it('does not echo a DATABASE_URL, which may hold a password', () => {
    expect(problemsOf({ DATABASE_URL: 'mysql://u:secret@db/x' })).toEqual([
      'DATABASE_URL must be a URL that starts with postgres:// or postgresql://; for example: postgres://user:password@db.example.com:5432/tunnel_access',
    ]);
  });

  it('keeps PUBLIC_URL without its trailing slash', () => {
    expect(readConfig({ PUBLIC_URL: 'https://api.example.com/base/' }).publicUrl).toBe('https://api.example.com/base');
  });
});
