import { describe, expect, it } from '@jest/globals';
import { parseDomain } from './reserved-domain.js';

describe('a domain', () => {
  it.each([
    ['app.example.com', 'app.example.com'],
    ['App.EXAMPLE.com.', 'app.example.com'],
    ['B\u00fcro.example.com', 'xn--bro-hoa.example.com'],
    ['*.Example.com', '*.example.com'],
    [`*.${'a.'.repeat(7)}example.com`, `*.${'a.'.repeat(7)}example.com`],
  ])('%s is kept as sent, and compared as %s', (text, domain) => {
    expect(parseDomain(text)).toEqual({ text, domain });
  });

  it.each([
    [undefined, /^domain is missing/],
    ['', /^domain is missing/],
    ['example', /two labels or more/],
    ['*.com', /two labels or more/],
    [`*.${'a.'.repeat(8)}example.com`, /a wildcard has 10 labels after the star; the maximum is 9\.$/],
    ['*', /the host holds '\*'/],
    ['a.*.example.com', /the host holds '\*'/],
    ['*.*.example.com', /the host holds '\*'/],
    ['192.0.2.1', /ends in a number/],
    [' app.example.com', /the host holds ' '/],
    ['app.example.com:443', /the host holds ':'/],
    [`${'\u00fc'.repeat(600)}.com`, /^domain is 1204 bytes long; the maximum is 1024\.$/],
  ])('is refused as %s', (text, sentence) => {
    expect(() => parseDomain(text)).toThrow(sentence);
  });
});
