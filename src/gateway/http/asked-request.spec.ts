import { describe, expect, it } from '@jest/globals';
import { BadRequest, readRequest } from './asked-request.js';

const PROXY = '192.0.2.10';
function read(headers: readonly string[], { url = '/', method = 'GET', from = '203.0.113.9', isUpgrade = false } = {}) {
  const socket = { remoteAddress: from, remotePort: 50_312 };
  return readRequest({ rawHeaders: [...headers], url, method, socket }, (one) => one === PROXY, isUpgrade);
}

const HOST = ['Host', 'App.example.test:8080'];
/** All values of a header that goes to the tunnel. */
function valuesOf(headers: readonly string[], name: string): readonly string[] {
  return headers.filter((_, n) => n % 2 === 1 && headers[n - 1]?.toLowerCase() === name);
}

describe('a request goes to the tunnel with', () => {
  it('its Host as sent, and is routed by the canonical name', () => {
    const { host, headers } = read(HOST);
    expect(host).toBe('app.example.test');
    expect(valuesOf(headers, 'host')).toEqual(['App.example.test:8080']);
  });

  it('the path of an absolute form that names the same host', () => {
    expect(read(HOST, { url: 'http://app.example.test:8080?a=b' }).path).toBe('/?a=b');
  });

  it('no header that Connection names, but with all that the gateway writes', () => {
    const named = 'close, X-Secret, X-Forwarded-For, Host, Content-Length';
    const { headers } = read([...HOST, 'Connection', named, 'X-Secret', 'a', 'X-Kept', 'b', 'Content-Length', '3']);
    expect(valuesOf(headers, 'x-secret')).toEqual([]);
    expect(valuesOf(headers, 'x-kept')).toEqual(['b']);
    expect(valuesOf(headers, 'content-length')).toEqual(['3']);
    expect(valuesOf(headers, 'x-forwarded-for')).toEqual(['203.0.113.9']);
  });

  const SAID = [
    ...['X-Forwarded-For', '198.51.100.7', 'X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'other.test'],
    ...['X-Forwarded-Port', '1', 'Forwarded', 'for=1', 'X-Real-IP', '1', 'X_Forwarded_For', '1'],
  ];

  it('nothing that a visitor says of itself', () => {
    const { headers, source } = read([...HOST, ...SAID]);
    expect(headers).toEqual([
      ...['Host', 'App.example.test:8080', 'X-Forwarded-For', '203.0.113.9'],
      ...['X-Forwarded-Proto', 'http', 'X-Forwarded-Host', 'App.example.test:8080'],
    ]);
    expect(source).toEqual({ address: '203.0.113.9', port: 50_312 });
  });

  it('what a proxy of GATEWAY_HTTP_PROXIES says of its visitor', () => {
    const { headers, source } = read([...HOST, ...SAID], { from: PROXY });
    expect(valuesOf(headers, 'x-forwarded-for')).toEqual(['198.51.100.7, 192.0.2.10']);
    expect(valuesOf(headers, 'x-forwarded-proto')).toEqual(['https']);
    expect(valuesOf(headers, 'x-forwarded-host')).toEqual(['other.test']);
    expect(valuesOf(headers, 'x-forwarded-port')).toEqual([]);
    expect(source.address).toBe('198.51.100.7');
  });
});

describe('of the hops that a proxy names', () => {
  it.each([
    ['198.51.100.7', '198.51.100.7'],
    ['not an address, 198.51.100.7', '198.51.100.7'],
    ['198.51.100.7, unknown', PROXY],
    ['203.0.113.1, 198.51.100.7, 192.0.2.10', '198.51.100.7'],
    ['2001:DB8::7', '2001:db8::7'],
    ['evil\t<script>', PROXY],
    ['', PROXY],
  ])("in '%s' the last one that is an address and no proxy counts: %s", (said, expected) => {
    const { headers, source } = read([...HOST, 'X-Forwarded-For', said], { from: PROXY });
    expect(source.address).toBe(expected);
    expect(valuesOf(headers, 'x-forwarded-for').join()).toMatch(/^([0-9a-f.:]+, )*192\.0\.2\.10$/);
  });
});

describe('a request is refused', () => {
  it.each<[string, readonly string[], object]>([
    ['without a Host', [], {}],
    ['with two Hosts', [...HOST, 'host', 'App.example.test:8080'], {}],
    ['with an empty Host', ['Host', ''], {}],
    ['with userinfo in the Host', ['Host', 'me@app.example.test'], {}],
    ['with an address and a path as Host', ['Host', 'app.example.test/a'], {}],
    ['with another host in its absolute form', HOST, { url: 'http://b.test/' }],
    ['with another port in its absolute form', HOST, { url: 'http://app.example.test/' }],
    ['with userinfo in its absolute form', HOST, { url: 'http://me@app.example.test:8080/' }],
    ['with a form that is no path', HOST, { url: 'app.example.test:8080' }],
    ['with a length and a coding', [...HOST, 'Content-Length', '1', 'Transfer-Encoding', 'chunked'], {}],
    ['with two lengths', [...HOST, 'Content-Length', '1', 'Content-Length', '1'], {}],
    ['with a coding other than chunked', [...HOST, 'Transfer-Encoding', 'gzip, chunked'], {}],
    ['with two codings', [...HOST, 'Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'], {}],
    ['with an upgrade to h2c and a body', [...HOST, 'Upgrade', 'h2c', 'Content-Length', '5'], { isUpgrade: true }],
    ['with two upgrades', [...HOST, 'Upgrade', 'websocket', 'Upgrade', 'h2c'], { isUpgrade: true }],
    ['with an upgrade and a body', [...HOST, 'Upgrade', 'websocket', 'Content-Length', '5'], { isUpgrade: true }],
  ])('%s', (_, headers, about) => {
    expect(() => read(headers, about)).toThrow(BadRequest);
  });
});

it('an offer of h2c leaves a request of another method as it would be without', () => {
  const { headers } = read([...HOST, 'Upgrade', 'h2c'], { isUpgrade: true, method: 'POST' });
  expect(headers.slice(-2)).toEqual(['Content-Length', '0']);
});

it.each(['h2c', 'websocket, H2C', 'TLS/1.2'])('an offer of %s is not passed on', (offer) => {
  const asked = read([...HOST, 'Connection', 'Upgrade', 'Upgrade', offer], { isUpgrade: true });
  expect([asked.switches, asked.headers.some((text) => text.toLowerCase() === 'upgrade')]).toEqual([false, false]);
});
