import { describe, expect, it } from '@jest/globals';
import type { GatewaySettings } from './gateway-settings.js';
import { type ClientUsage, Limits } from './limits.js';

const NO_LIMITS = {
  ...{ maxConnections: 0, maxBinds: 0, maxChannels: 0, maxBytesPerSecond: 0, maxRequestsPerSecond: 0 },
  ...{ maxAccountConnections: 0, maxAccountBinds: 0, maxAccountChannels: 0 },
};
const limitsOf = (max: Partial<GatewaySettings>) => new Limits({ ...NO_LIMITS, ...max } as GatewaySettings);
const client = (credentialId: string) => ({ credentialId, accountId: 'ac', source: 'anywhere' });

/** Visitors of the channels of some clients. One that is displaced is gone when its client has closed the channel too. */
function visitors() {
  const displaced: string[] = [];
  const close = new Map<string, () => void>();
  const end = (name: string, usage: ClientUsage): (() => void) =>
    usage.visitorEnded(() => {
      displaced.push(name);
      return new Promise((resolve) => {
        close.set(name, () => {
          usage.release('channels');
          resolve();
        });
      });
    });
  return { displaced, close: (name: string) => close.get(name)?.(), end };
}

describe('the places of a credential or account for connections through its tunnels', () => {
  it('go from visitors that have ended to newcomers, oldest end first, once the clients have closed the channels', async () => {
    const usage = limitsOf({ maxChannels: 3 }).usageOf(client('one'));
    const { displaced, close, end } = visitors();
    for (let n = 0; n < 3; n += 1) expect(await usage.takeChannel()).toBeUndefined();
    end('first', usage);
    end('second', usage);
    expect(displaced).toEqual([]);
    let taken = 0;
    const newcomers = [1, 2].map(async () => {
      if ((await usage.takeChannel()) === undefined) taken += 1;
    });
    expect(displaced).toEqual(['first', 'second']);
    close('second');
    await newcomers[1];
    expect(taken).toBe(1);
    close('first');
    await newcomers[0];
    expect(taken).toBe(2);
    expect(await usage.takeChannel()).toContain('3 connections through its tunnels, which is the maximum');
  });

  it('leave a visitor that has ended in peace while a place is free, and forget one that is gone', async () => {
    const usage = limitsOf({ maxChannels: 2 }).usageOf(client('one'));
    const { displaced, end } = visitors();
    await usage.takeChannel();
    const isGone = end('first', usage);
    expect(await usage.takeChannel()).toBeUndefined();
    expect(displaced).toEqual([]);
    isGone();
    expect(await usage.takeChannel()).toBeDefined();
    expect(displaced).toEqual([]);
  });

  it('of a full account go to any of its credentials, and those of a full credential to itself alone', async () => {
    const limits = limitsOf({ maxChannels: 2, maxAccountChannels: 3 });
    const [one, other] = [limits.usageOf(client('one')), limits.usageOf(client('other'))];
    const { displaced, close, end } = visitors();
    for (const usage of [one, other, other]) await usage.takeChannel();
    end('of one', one);
    end('of other', other);
    // `other` is full itself, so its own visitor gives way, although the end of the one of `one` is older.
    const newcomer = other.takeChannel();
    expect(displaced).toEqual(['of other']);
    close('of other');
    expect(await newcomer).toBeUndefined();
    // The account is full.
    const next = one.takeChannel();
    expect(displaced).toEqual(['of other', 'of one']);
    close('of one');
    expect(await next).toBeUndefined();
  });
});
