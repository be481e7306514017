import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { type Claim, HeldAddresses, type Holder } from './held-addresses.js';

const AT = { address: '127.0.0.1', port: 8_000 };
const HELD = { reason: 'held', message: expect.stringContaining('another connection of this credential') };
const IN_USE = { reason: 'cannot_listen', message: expect.stringContaining('the address is in use') };

/** A connection of a credential, which answers each question with `isAlive`. */
class Client implements Holder {
  isOver = false;
  questions = 0;
  endings = 0;
  claimed: Claim[] = [];
  readonly signs = {
    isAlive: async (): Promise<boolean> => {
      this.questions += 1;
      await sleep(5);
      return this.isAlive;
    },
  };

  constructor(
    private readonly addresses: HeldAddresses,
    private readonly isAlive: boolean,
    private readonly credentialId = 'cr_1',
  ) {}

  giveWay(): void {
    this.endings += 1;
    this.isOver = true;
    for (const claim of this.claimed) claim.release();
  }

  async claim(): Promise<string> {
    const claim = await this.addresses.claim(AT, { credentialId: this.credentialId, holder: this });
    this.claimed.push(claim);
    return 'claimed';
  }
}

const outcomes = async (...clients: Client[]): Promise<string> => {
  const settled = await Promise.allSettled(clients.map((client) => client.claim()));
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.reason)).join(' ');
};

describe('an address that a connection of the same credential holds', () => {
  it('goes to the newer connection if the older gives no sign of life', async () => {
    const addresses = new HeldAddresses('dead');
    const old = new Client(addresses, false);
    await old.claim();
    expect(await new Client(addresses, true).claim()).toBe('claimed');
    expect([old.questions, old.endings]).toEqual([1, 1]);
  });

  it('stays with one that is alive, and the newer is told why', async () => {
    const addresses = new HeldAddresses('dead');
    const old = new Client(addresses, true);
    await old.claim();
    await expect(new Client(addresses, true).claim()).rejects.toMatchObject(HELD);
    expect(old.endings).toBe(0);
  });

  it('goes to the newest at once with `always`, which asks nobody', async () => {
    const addresses = new HeldAddresses('always');
    const clients = [1, 2, 3].map(() => new Client(addresses, true));
    for (const client of clients) await client.claim();
    expect(clients.map(({ questions, isOver }) => [questions, isOver])).toEqual([
      [0, true],
      [0, true],
      [0, false],
    ]);
  });

  it('goes to one of several that want it at once', async () => {
    const addresses = new HeldAddresses('dead');
    const old = new Client(addresses, false);
    await old.claim();
    const others = Array.from({ length: 5 }, () => new Client(addresses, true));
    expect(await outcomes(...others)).toBe('claimed held held held held');
    expect(old.endings).toBe(1);
    for (const { claimed } of others) for (const claim of claimed) claim.release();
    expect(addresses.isHeld(AT)).toBe(false);
  });

  it('is not taken from a connection that freed it while it was asked', async () => {
    const addresses = new HeldAddresses('dead');
    const old = new Client(addresses, true);
    await old.claim();
    const newer = new Client(addresses, true).claim();
    old.claimed[0]?.release();
    expect(await newer).toBe('claimed');
    expect(old.endings).toBe(0);
  });

  it('is not taken by a connection that has ended meanwhile, nor does the older end for it', async () => {
    const addresses = new HeldAddresses('dead');
    const old = new Client(addresses, false);
    await old.claim();
    const newer = new Client(addresses, true);
    const claim = newer.claim();
    newer.isOver = true;
    await expect(claim).rejects.toMatchObject({ message: 'the client is gone' });
    expect([old.endings, addresses.isHeld(AT)]).toEqual([0, true]);
  });

  it('is taken only once the older has closed its listener', async () => {
    const addresses = new HeldAddresses('always');
    const old = new Client(addresses, true);
    await old.claim();
    const [claim] = old.claimed.splice(0);
    let isTaken = false;
    const newer = new Client(addresses, true).claim().then(() => {
      isTaken = true;
    });
    await sleep(20);
    expect([old.endings, isTaken]).toEqual([1, false]);
    claim?.release();
    await newer;
  });
});

describe.each(['dead', 'always'] as const)('with `%s`', (rule) => {
  it('an address of another credential is refused without a question', async () => {
    const addresses = new HeldAddresses(rule);
    const old = new Client(addresses, false);
    await old.claim();
    await expect(new Client(addresses, true, 'cr_2').claim()).rejects.toMatchObject(IN_USE);
    expect([old.questions, old.endings]).toEqual([0, 0]);
  });

  it('an address of the same connection is refused', async () => {
    const client = new Client(new HeldAddresses(rule), true);
    await client.claim();
    await expect(client.claim()).rejects.toMatchObject({ message: 'the client has already bound it' });
    expect([client.questions, client.endings]).toEqual([0, 0]);
  });
});

it('an earlier claim that is released again frees nothing of a later one', async () => {
  const addresses = new HeldAddresses('dead');
  const old = new Client(addresses, false);
  await old.claim();
  await new Client(addresses, true).claim();
  old.claimed[0]?.release();
  expect(addresses.isHeld(AT)).toBe(true);
});
