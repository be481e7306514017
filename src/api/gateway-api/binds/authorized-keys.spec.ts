import { BlockList, isIPv6 } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Problem } from '../../../kernel/problem.js';
import { compile, permits } from '../../../rules/bind-rules/acl.js';
import { parseBindTarget } from '../../../rules/bind-rules/bind-target.js';
import { compileNetworks, contains } from '../../../rules/bind-rules/source-networks.js';
import { parseSource } from '../../../rules/ip-rules/address.js';
import { ALL_FREE, covers, type ListenPattern, type Narrowing } from '../../reservations/reservation.js';
import {
  type AuthorizedCredential,
  hostsOf,
  authorizedKeys as linesFor,
  MAX_PERMIT_LISTENS,
} from './authorized-keys.js';

const BLOB = 'AAAAC3NzaC1lZDI1NTE5AAAAIIG9v9jGhBGWcOAsbCKnvFXEWkuT+fnkFbvsG6t8qkp4';

const credential = (acl: readonly string[], n = 1): AuthorizedCredential => ({
  id: `sshcr_${n}`,
  version: n + 2,
  keyType: 'ssh-ed25519',
  keyBlob: BLOB,
  acl,
  sources: null,
  expiresAt: null,
});

const authorizedKeys = (credentials: Parameters<typeof linesFor>[0], narrowing = ALL_FREE): string =>
  linesFor(credentials, narrowing);

/** The line of one key with a credential for each ACL, without its line end. */
function lineOf(first: readonly string[], ...others: readonly (readonly string[])[]): string {
  return authorizedKeys([credential(first), ...others.map((acl, n) => credential(acl, n + 2))]).trimEnd();
}
const optionsOf = (line: string): string => line.slice(0, line.indexOf(' '));

describe('a line of authorized_keys', () => {
  it('is the options, the canonical key, and the credential’s id with its version', () => {
    expect(lineOf(['bind:app.example.com'])).toBe(
      `restrict,port-forwarding,permitlisten="app.example.com:*" ssh-ed25519 ${BLOB} sshcr_1@3`,
    );
  });

  it.each([
    ['no rules', [], 'restrict,port-forwarding'],
    ['*', ['*'], 'restrict,port-forwarding'],
    ['bind:* beside others', ['bind:a.example', 'bind:*', 'bind:k=v'], 'restrict,port-forwarding'],
    ['a name', ['bind:a.example'], 'restrict,port-forwarding,permitlisten="a.example:*"'],
    ['a name with a port', ['bind:a.example:7001'], 'restrict,port-forwarding,permitlisten="a.example:7001"'],
    ['a suffix', ['bind:*.example'], 'restrict,port-forwarding,permitlisten="*.example:*"'],
    ['a suffix with a port', ['bind:*.example:7001'], 'restrict,port-forwarding,permitlisten="*.example:7001"'],
    ['an IPv4 address', ['bind:127.0.0.1:7001'], 'restrict,port-forwarding,permitlisten="127.0.0.1:7001"'],
    ['an IPv6 address', ['bind:[2001:DB8:0::1]'], 'restrict,port-forwarding,permitlisten="[2001:db8::1]:*"'],
    ['a port at any host', ['bind:*:7001'], 'restrict,port-forwarding,permitlisten="*:7001"'],
    ['capitals', ['bind:App.Example.'], 'restrict,port-forwarding,permitlisten="app.example:*"'],
    ['Unicode', ['bind:Bücher.example'], 'restrict,port-forwarding,permitlisten="xn--bcher-kva.example:*"'],
    ['a label beside a name', ['bind:k=v', 'bind:a.example'], 'restrict,port-forwarding,permitlisten="a.example:*"'],
    ['only labels', ['bind:team=blue', 'bind:*=*'], 'restrict'],
    ['a label that reads like options', ['bind:a",command="x', 'bind:k=\u2028v'], 'restrict'],
    ['any port but not a random one', ['bind:a.example:*', 'bind:*.example:*'], 'restrict'],
  ])('for %s', (_, acl, options) => {
    expect(optionsOf(lineOf(acl))).toBe(options);
  });

  it('holds the union of the key’s credentials, each entry once, and all their ids and versions', () => {
    expect(lineOf(['bind:a.example', 'bind:k=v'], ['bind:b.example:1', 'bind:A.example'])).toBe(
      `restrict,port-forwarding,permitlisten="a.example:*",permitlisten="b.example:1" ssh-ed25519 ${BLOB} sshcr_1@3,sshcr_2@4`,
    );
  });

  it('is unrestricted if one of the credentials is', () => {
    expect(optionsOf(lineOf(['bind:a.example'], []))).toBe('restrict,port-forwarding');
    expect(optionsOf(lineOf(['bind:k=v'], ['bind:*']))).toBe('restrict,port-forwarding');
  });

  it('allows no forwarding if no credential has a rule that sshd supports', () => {
    expect(optionsOf(lineOf(['bind:k=v'], ['bind:a.example:*']))).toBe('restrict');
  });

  it('stops at the maximum that sshd accepts, counting the rules of the oldest credentials', () => {
    const rules = (n: number) => Array.from({ length: 1000 }, (_, i) => `bind:h${n}-${i}.example`);
    const options = optionsOf(lineOf(rules(0), rules(1), rules(2), rules(3), rules(4)));
    expect(options.match(/permitlisten/g)).toHaveLength(MAX_PERMIT_LISTENS);
    expect(options).toContain('"h3-999.example:*"');
    expect(options).toContain('"h4-95.example:*"');
    expect(options).not.toContain('"h4-96.example:*"');
    expect(optionsOf(lineOf(rules(0), rules(1), rules(2), rules(3), rules(4), ['*']))).toBe('restrict,port-forwarding');
  });

  it.each(['sk-ssh-ed25519@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com', 'ecdsa-sha2-nistp521', 'ssh-rsa'])(
    'carries a key of type %s',
    (keyType) => {
      const line = authorizedKeys([{ ...credential([]), keyType }]);
      expect(line).toBe(`restrict,port-forwarding ${keyType} ${BLOB} sshcr_1@3\n`);
    },
  );
});

describe('the lines of a key whose credentials expire or are for some networks', () => {
  const [OFFICE, HOME] = ['192.0.2.0/24,2001:db8::/32', '198.51.100.7/32'];
  const linesOf = (...parts: readonly Partial<AuthorizedCredential>[]): string[] => {
    const [first, ...others] = parts.map((part, n) => ({ ...credential(['bind:a.example'], n + 1), ...part }));
    if (first === undefined) throw new Error('a key has a credential');
    return authorizedKeys([first, ...others])
      .trimEnd()
      .split('\n');
  };
  const LISTEN_A = 'permitlisten="a.example:*"';

  it('end at the earliest expiry of the credentials that a line stands for', () => {
    const [later, sooner] = [{ expiresAt: '20270101000001' }, { expiresAt: '20261231235959' }];
    const forever = `restrict,port-forwarding,${LISTEN_A}`;
    expect(linesOf(later, sooner, {}).map(optionsOf)).toEqual([
      forever.replace(',', ',expiry-time="20261231235959Z",'),
    ]);
    expect(linesOf(later).map(optionsOf)).toEqual([forever.replace(',', ',expiry-time="20270101000001Z",')]);
    const [line, last] = linesOf({ ...sooner, sources: OFFICE }, {}).map(optionsOf);
    expect([line, last]).toEqual([expect.stringContaining('expiry-time="20261231235959Z"'), forever]);
  });

  it('are one for each restriction, from the oldest on, and one for every other client', () => {
    const parts = [
      { acl: ['bind:a.example'], sources: HOME },
      { acl: ['bind:b.example'] },
      { acl: ['bind:c.example'], sources: OFFICE },
      { acl: ['bind:d.example'], sources: HOME },
    ];
    const permitting = (...names: string[]) => names.map((name) => `permitlisten="${name}.example:*"`).join(',');
    expect(linesOf(...parts).map(optionsOf)).toEqual([
      `restrict,from="${HOME}",port-forwarding,${permitting('a', 'b', 'd')}`,
      `restrict,from="${OFFICE}",port-forwarding,${permitting('b', 'c')}`,
      `restrict,port-forwarding,${permitting('b')}`,
    ]);
    for (const line of linesOf(...parts)) expect(line).toMatch(/ sshcr_1@3,sshcr_2@4,sshcr_3@5,sshcr_4@6$/);
  });

  it('are only for the networks of a key that has no other credential', () => {
    expect(linesOf({ acl: [], sources: OFFICE }).map(optionsOf)).toEqual([`restrict,from="${OFFICE}",port-forwarding`]);
  });

  it('share the maximum of permitlistens, of which the line for every client takes the first', () => {
    const rules = (n: number) => Array.from({ length: 1000 }, (_, i) => `bind:h${n}-${i}.example`);
    const unrestricted = [0, 1, 2].map((n) => ({ acl: rules(n) }));
    const lines = linesOf({ acl: rules(3), sources: OFFICE }, ...unrestricted, { acl: rules(4), sources: HOME });
    expect(lines.map((line) => line.match(/permitlisten/g)?.length)).toEqual([1096, 3000]);
    expect(lines[0]).toContain('"h3-0.example:*"');
    expect(lines[1]).not.toContain('from=');
  });
});

describe('the lines of a key where something is reserved for others', () => {
  const own = [
    { host: 'a.example', port: 7000 },
    { host: '*.b.example', port: null },
  ];
  const none: Narrowing = { own, isAllFree: false, isFree: () => false };
  const optionsFor = (...acl: readonly string[]) => optionsOf(authorizedKeys([credential(acl)], none));

  it('permit what the account has reserved, as far as its rules go', () => {
    const both = 'restrict,port-forwarding,permitlisten="a.example:7000",permitlisten="*.b.example:*"';
    expect([optionsFor(), optionsFor('*'), optionsFor('bind:*.example')]).toEqual([both, both, both]);
    expect(optionsFor('bind:a.example')).toBe('restrict,port-forwarding,permitlisten="a.example:7000"');
    expect(optionsFor('bind:*.example:7001')).toBe('restrict,port-forwarding,permitlisten="*.b.example:7001"');
    expect([optionsFor('bind:a.example:7001'), optionsFor('bind:c.example')]).toEqual(['restrict', 'restrict']);
  });

  it('permit a port at any host only where the account has reserved it', () => {
    const listens = 'permitlisten="a.example:7000",permitlisten="*.b.example:7000"';
    expect(optionsFor('bind:*:7000')).toBe(`restrict,port-forwarding,${listens}`);
    expect(optionsFor('bind:*:7001')).toBe('restrict,port-forwarding,permitlisten="*.b.example:7001"');
  });

  it('permit no random port by a rule for any named port', () => {
    expect(optionsFor('bind:*.example:*')).toBe('restrict,port-forwarding,permitlisten="a.example:7000"');
    expect(optionsFor('bind:*.b.example:*')).toBe('restrict');
  });

  it('have at most what sshd accepts, however much the account has reserved', () => {
    const many = Array.from({ length: 8_192 }, (_, n) => ({
      host: `d${n}.evil.example`,
      port: n % 2 === 0 ? null : 9_999,
    }));
    const hostile: Narrowing = { ...none, own: many };
    const countOf = (text: string): number => text.match(/permitlisten/g)?.length ?? 0;
    const rules = (suffix: string) => Array.from({ length: 1_000 }, (_, n) => `bind:*.${suffix}:${n + 1}`);
    const ten = (acl: readonly string[]) => [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => credential(acl, n + 1));
    for (const acl of [[], ['*', '*'], rules('evil.example'), ['bind:*.example', ...rules('other.example')]]) {
      expect(countOf(authorizedKeys([credential(acl), ...ten(acl)], hostile))).toBeLessThanOrEqual(MAX_PERMIT_LISTENS);
    }
  });

  it('keep a rule under which nothing is reserved for others', () => {
    const some: Narrowing = { ...none, isFree: ({ host }) => host === 'c.example' };
    const line = authorizedKeys([credential(['bind:c.example', 'bind:d.example'])], some);
    expect(optionsOf(line)).toBe('restrict,port-forwarding,permitlisten="c.example:*"');
    expect(hostsOf([credential(['bind:*.c.example:1', 'bind:k=v', '*', 'bind:C.example'])])).toEqual([
      '*.c.example',
      'c.example',
    ]);
  });
});

describe('a value that could change the meaning of the line is refused', () => {
  it.each([
    ['a type with a blank', { keyType: 'ssh-ed25519 x' }],
    ['a type with a line end', { keyType: 'ssh-ed25519\n' }],
    ['a blob with a quote', { keyBlob: 'AAAA"' }],
    ['a blob with a line end', { keyBlob: 'AAAA\nssh-ed25519 AAAA' }],
    ['an empty blob', { keyBlob: '' }],
    ['an id with a line end', { id: 'sshcr_1\nx' }],
    ['an empty id', { id: '' }],
    ['a version that is not a number', { version: Number.NaN }],
    ['a network with a quote', { sources: '10.0.0.0/8",command="x' }],
    ['a host name for a network', { sources: 'a.example' }],
    ['no network', { sources: '' }],
    ['a time with a quote', { expiresAt: '20270101000000"' }],
  ])('%s', (_, part) => {
    expect(() => authorizedKeys([{ ...credential([]), ...part }])).toThrow('cannot be part of a line');
  });

  it.each(['bind:a",restrict', 'bind:a.example\n', 'a.example', 'bind:a.example:0', 'bind:a?.example'])(
    'a rule that was never accepted: %j',
    (rule) => {
      expect(() => lineOf(['bind:b.example', rule])).toThrow(Problem);
    },
  );

  it('two keys on one line', () => {
    expect(() => authorizedKeys([credential([]), { ...credential([]), keyBlob: 'AAAA' }])).toThrow('for one key');
  });
});

/** OpenSSH's match_pattern, written from its manual: `*` is any characters, `?` is one. */
function matchesPattern(text: string, pattern: string): boolean {
  if (pattern === '') return text === '';
  if (pattern.startsWith('*')) {
    return matchesPattern(text, pattern.slice(1)) || (text !== '' && matchesPattern(text.slice(1), pattern));
  }
  const fits = text !== '' && (pattern.startsWith('?') || pattern[0] === text[0]);
  return fits && matchesPattern(text.slice(1), pattern.slice(1));
}

/**
 * How sshd 9.2 behaves on a login from this address at this time: it uses the first line that admits it. `matches` is
 * OpenSSH's comparison of an address with a network.
 */
function sshdLine(lines: string, client: string, now: string, matches: (client: string, cidr: string) => boolean) {
  return lines.split('\n').find((line) => {
    const [, from] = /from="([^"]*)"/.exec(line) ?? [];
    const [, expiry] = /expiry-time="(\d{14})Z"/.exec(line) ?? [];
    const isFrom = from === undefined || from.split(',').some((cidr) => matches(client, cidr));
    return line !== '' && isFrom && (expiry === undefined || now < expiry);
  });
}

/** How sshd 9.2 behaves on a request to listen. The host is as the client sends it: IPv6 without brackets. */
function sshdPermits(line: string, host: string, port: number): boolean {
  const options = optionsOf(line).split(',');
  if (!options.includes('port-forwarding')) return false;
  const listens = options.filter((option) => option.startsWith('permitlisten='));
  return listens.length === 0 || listens.some((listen) => listenCovers(listen, host, port));
}

function listenCovers(listen: string, host: string, port: number): boolean {
  const [, pattern = '', ports] = /^permitlisten="\[?([^\]"]*?)\]?:(\d+|\*)"$/.exec(listen) ?? [];
  return (ports === '*' || ports === String(port)) && matchesPattern(host.toLowerCase(), pattern);
}

/** The service's decision; undefined if it cannot read the request as an address, and so refuses it. */
function servicePermits(acls: readonly (readonly string[])[], host: string, port: number): boolean | undefined {
  try {
    const target = parseBindTarget({ address: `${host.includes(':') ? `[${host}]` : host}:${port}` });
    return acls.some((acl) => permits(compile(acl), target).permitted);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((texts) => texts.join(''));
const name = fc.array(fc.constantFrom('a', 'b', 'xn--tda'), { minLength: 1, maxLength: 3 }).map((it) => it.join('.'));
const ruleHost = fc.oneof(
  { weight: 6, arbitrary: joined(fc.constantFrom('', '*.'), name) },
  { weight: 1, arbitrary: fc.constantFrom('B.A', 'ü', 'a.b.', 'localhost', '127.0.0.1', '0.0.0.0', '[::1]', '[0::1]') },
);
const rule = fc.oneof(
  { weight: 8, arbitrary: joined(fc.constant('bind:'), ruleHost, fc.constantFrom('', '', ':1', ':2', ':*')) },
  { weight: 2, arbitrary: fc.constantFrom('bind:a=b', 'bind:*=*', 'bind:a.b=*') },
  { weight: 1, arbitrary: fc.constantFrom('*', 'bind:*') },
);
const acls = fc.tuple(fc.array(rule, { maxLength: 4 }), fc.array(rule, { minLength: 1, maxLength: 4 }));
const plainHost = fc.oneof(name, fc.constantFrom('localhost', '127.0.0.1', '0.0.0.0', '::1'));
const oddHost = fc.oneof(
  joined(fc.constantFrom('.', '*.', '*', '?', '-', 'a b.', 'a..', '"', '0x7f.', 'A.', ''), name),
  joined(name, fc.constantFrom('.', '..', '\n', '.0')),
  fc.constantFrom('', '*', '0', '127.1', '0:0:0::1', '::', '::ffff:127.0.0.1', '[::1]', 'LOCALHOST'),
);
const port = fc.constantFrom(0, 1, 2, 3);

/** What an account and others have reserved, never both the same. */
const reserved = fc
  .uniqueArray(
    fc.record({
      host: fc.constantFrom('a', 'b', 'a.b', 'x.a.b', '*.a.b', '*.b'),
      port: fc.constantFrom(null, 1, 2),
      isOwn: fc.boolean(),
    }),
    { maxLength: 5, selector: ({ host, port }) => `${host}:${port}` },
  )
  .map((all) => all.filter(({ host, port }) => port === null || !host.startsWith('*.')));

type Reserved = ListenPattern & { readonly isOwn: boolean };

const overlap = (one: ListenPattern, other: ListenPattern): boolean => {
  const isHost = [
    [one.host, other.host],
    [other.host, one.host],
  ].some(([wide = '', narrow = '']) => covers(wide, narrow) || covers(wide, narrow.replace(/^\*/, 'x')));
  return isHost && (one.port === null || other.port === null || one.port === other.port);
};

const narrowingOf = (all: readonly Reserved[]): Narrowing => ({
  own: all.filter(({ isOwn }) => isOwn),
  isAllFree: all.every(({ isOwn }) => isOwn),
  isFree: (pattern) => !all.some((one) => !one.isOwn && overlap(one, pattern)),
});

const SOURCES = ['192.0.2.0/24', '192.0.2.7/32,2001:db8::/32', '0.0.0.0/0', '::/0', '192.0.2.0/25,198.51.100.0/24'];
const CLIENTS = ['192.0.2.7', '192.0.2.200', '198.51.100.1', '203.0.113.1', '2001:db8::5', '2001:db9::', '::1'];
const TIMES = ['20261122000000', '20261122000001', '20270101000000'];

/** Node's own comparison, as an oracle. sshd never compares an address with a network of the other family. */
function isInNetwork(client: string, cidr: string): boolean {
  const [network = '', length] = cidr.split('/');
  const family = isIPv6(client) ? 'ipv6' : 'ipv4';
  if (isIPv6(network) !== isIPv6(client)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(length), family);
  return list.check(client, family);
}

describe('laws', () => {
  it('sshd never permits what the service refuses', () => {
    fc.assert(
      fc.property(acls, fc.oneof(plainHost, oddHost), port, ([first, second], host, wantedPort) => {
        const line = lineOf(first, second);
        if (!sshdPermits(line, host, wantedPort)) return;
        const answer = servicePermits([first, second], host, wantedPort);
        // A text that is not a host (a..b) can only match a granted suffix or an unrestricted key.
        const isUnreadable = answer === undefined && (/"\*\.[^"]*"/.test(line) || !line.includes('permitlisten'));
        expect(answer === true || isUnreadable).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('sshd never permits what others have reserved, and all that the account has reserved and its rules permit', () => {
    const hosts = fc.constantFrom('a', 'b', 'a.b', 'x.a.b', 'y.a.b', 'x.b');
    fc.assert(
      fc.property(acls, reserved, hosts, port, ([first, second], all, host, wantedPort) => {
        // What overlaps belongs to one account: see the triggers of migrations/0012-reservations.ts.
        fc.pre(all.every((one) => all.every((other) => one.isOwn === other.isOwn || !overlap(one, other))));
        const line = authorizedKeys([credential(first), credential(second, 2)], narrowingOf(all)).trimEnd();
        const of = all.filter((one) => covers(one.host, host) && (one.port ?? wantedPort) === wantedPort);
        const isPermitted = servicePermits([first, second], host, wantedPort) === true;
        const isSshd = sshdPermits(line, host, wantedPort);
        if (isSshd) expect([isPermitted, of.filter(({ isOwn }) => !isOwn)]).toEqual([true, []]);
        const isHeld = [first, second].flat().some((one) => one.endsWith(':*'));
        if (isPermitted && !isHeld && wantedPort > 0 && of.some(({ isOwn }) => isOwn)) expect(isSshd).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('sshd permits what the service permits in canonical spelling, except labels and `host:*`', () => {
    const holdable = (acl: readonly string[]) => acl.filter((one) => !one.endsWith(':*'));
    fc.assert(
      fc.property(acls, plainHost, port, ([first, second], host, wantedPort) => {
        const [one, other] = [holdable(first), holdable(second)];
        expect(sshdPermits(lineOf(one, other), host, wantedPort)).toBe(servicePermits([one, other], host, wantedPort));
      }),
      { numRuns: 1000 },
    );
  });

  it('sshd never admits a client that the service refuses, by its address or after the expiry, to bind anything', () => {
    const credentials = fc.array(
      fc.record({
        acl: fc.array(rule, { maxLength: 3 }),
        sources: fc.constantFrom(null, ...SOURCES),
        expiresAt: fc.constantFrom(null, ...TIMES),
      }),
      { minLength: 1, maxLength: 5 },
    );
    const request = fc.record({ host: plainHost, wantedPort: port, client: fc.constantFrom(...CLIENTS) });
    fc.assert(
      fc.property(credentials, request, fc.constantFrom(...TIMES), (parts, { host, wantedPort, client }, now) => {
        const [first, ...others] = parts.map((part, n) => ({ ...credential(part.acl, n + 1), ...part }));
        if (first === undefined) return;
        const line = sshdLine(authorizedKeys([first, ...others]), client, now, isInNetwork);
        if (line === undefined || !sshdPermits(line, host, wantedPort)) return;
        const admitted = parts.filter(({ sources, expiresAt }) => {
          const address = parseSource(client);
          const isFrom = sources === null || (address !== undefined && contains(compileNetworks(sources), address));
          return isFrom && (expiresAt === null || now < expiresAt);
        });
        expect(
          servicePermits(
            admitted.map(({ acl }) => acl),
            host,
            wantedPort,
          ),
        ).toBe(true);
      }),
      { numRuns: 1500 },
    );
  });

  it('only known words, the key and the ids are outside the quotes of permitlisten', () => {
    const form =
      /^restrict(,port-forwarding(,permitlisten="[^"\s,]+:(\d+|\*)")*)? ssh-ed25519 [\w+/=]+ sshcr_1@3,sshcr_2@4$/;
    fc.assert(fc.property(acls, ([first, second]) => expect(lineOf(first, second)).toMatch(form)));
  });

  it('with any text in place of a rule, the line keeps its form or is refused', () => {
    const form = /^restrict(,port-forwarding(,permitlisten="[^"\s,]+:(\d+|\*)")*)? ssh-ed25519 [\w+/=]+ sshcr_1@3$/;
    const wild = fc.string({ unit: 'binary', maxLength: 12 });
    const text = fc.oneof(wild, joined(fc.constantFrom('bind:', 'bind:*.', 'bind:[', 'bind:a.b'), wild), rule);
    fc.assert(
      fc.property(fc.array(text, { maxLength: 3 }), (acl) => {
        try {
          expect(lineOf(acl)).toMatch(form);
        } catch (error) {
          if (!(error instanceof Problem)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
