import { describe, expect, it } from '@jest/globals';
import { parsePorts } from './port-ranges.js';
import { Ports } from './ports.js';
import { GATEWAY } from './settings-table.js';

const DEFAULTS = {
  bindPorts: GATEWAY.bindPorts.fallback,
  edgePorts: GATEWAY.edgePorts.fallback,
  sshListen: { host: '0.0.0.0', port: 2222 },
  httpListen: undefined,
  gatewayMetricsAddress: { host: '127.0.0.1', port: 9465 },
  serviceUrl: 'http://127.0.0.1:8080',
};

describe('the ports of binds and edges', () => {
  it('are apart by default, and none is privileged', () => {
    const ports = new Ports(DEFAULTS);
    expect(ports.overlap).toBe(false);
    const all = Array.from({ length: 65_535 }, (_, n) => n + 1);
    const [binds, edges] = (['binds', 'edges'] as const).map(
      (by) => new Set(all.filter((port) => ports.refusal(by, port) === undefined)),
    ) as [Set<number>, Set<number>];
    expect([...binds].filter((port) => edges.has(port))).toEqual([]);
    expect([...binds, ...edges].filter((port) => port < 1024)).toEqual([]);
    expect([binds.size > 0, edges.size > 0]).toEqual([true, true]);
  });

  it('are never those of the gateway, its metrics and the service', () => {
    const range = parsePorts('1-65535');
    const ports = new Ports({ ...DEFAULTS, bindPorts: range, edgePorts: range });
    expect(ports.overlap).toBe(true);
    for (const by of ['binds', 'edges'] as const) {
      expect(ports.refusal(by, 2222)).toBe('is used by the gateway itself');
      expect(ports.refusal(by, 9465)).toBe('is used by the metrics of the gateway');
      expect(ports.refusal(by, 8080)).toBe('is used by the service');
      expect(ports.refusal(by, 8081)).toBeUndefined();
    }
    expect(
      new Ports({ ...DEFAULTS, serviceUrl: 'https://api.example.com', bindPorts: range }).refusal('binds', 443),
    ).toBe('is used by the service');
  });

  it('a bind to port 0 gets one of the ports for binds', () => {
    const ports = new Ports({ ...DEFAULTS, bindPorts: parsePorts('2222,3000-3001,4000') });
    expect(new Set(Array.from({ length: 50 }, () => [...ports.anyForBind()]).flat())).toEqual(
      new Set([3000, 3001, 4000]),
    );
    expect(ports.refusal('binds', 2999)).toBe('is not one of the ports for binds here: 2222, 3000-3001, 4000');
  });

  it.each(['', '0', '65536', '2-1', '1-', 'a', '1,,2', '1;2', '-1'])('%p is refused', (text) => {
    expect(() => parsePorts(text)).toThrow(/^must be ports or ranges of ports/);
  });
});
