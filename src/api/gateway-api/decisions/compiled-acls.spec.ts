import { describe, expect, it } from '@jest/globals';
import { permits } from '../../../rules/bind-rules/acl.js';
import { CompiledAcls } from './compiled-acls.js';

const rules = (count: number) => Array.from({ length: count }, (_, n) => `bind:host-${n}.example.com`);
const permitsHost = (acls: CompiledAcls, digest: string, name: string) => {
  const acl = acls.get(digest);
  return acl !== undefined && permits(acl, { kind: 'domain', name }).permitted;
};

describe('CompiledAcls', () => {
  it('keeps rules apart by their digest', async () => {
    const acls = new CompiledAcls();
    await acls.add('a', ['bind:one.example.com'], 'ac_1');
    await acls.add('b', ['bind:two.example.com'], 'ac_1');
    expect(permitsHost(acls, 'a', 'one.example.com')).toBe(true);
    expect(permitsHost(acls, 'b', 'one.example.com')).toBe(false);
    expect(permitsHost(acls, 'b', 'two.example.com')).toBe(true);
    expect(acls.get('c')).toBeUndefined();
  });

  it('is bounded by rules, and by entries if they have few rules', async () => {
    const acls = new CompiledAcls(1000);
    for (let n = 0; n < 50; n += 1) {
      await acls.add(`large ${n}`, rules(100), 'ac_1');
      expect(acls.size).toBeLessThanOrEqual(1000);
    }
    for (let n = 0; n < 5000; n += 1) await acls.add(`empty ${n}`, [], 'ac_1');
    expect(acls.size).toBeLessThanOrEqual(1000);
    expect(acls.get('empty 4999')).toBeDefined();
    expect(acls.get('empty 0')).toBeUndefined();
  });

  it('counts an ACL once that is added twice', async () => {
    const acls = new CompiledAcls(1000);
    await acls.add('a', rules(10), 'ac_1');
    const { size } = acls;
    await acls.add('a', rules(10), 'ac_1');
    expect(acls.size).toBe(size);
  });

  it('evicts the least recently used ACL', async () => {
    const acls = new CompiledAcls(350);
    for (const id of ['a', 'b', 'c']) await acls.add(id, rules(100), 'ac_1');
    acls.get('a');
    await acls.add('d', rules(100), 'ac_1');
    expect(['a', 'b', 'c', 'd'].map((id) => acls.get(id) !== undefined)).toEqual([true, false, true, true]);
  });

  it('compiles an ACL that is larger than the cache, and does not cache it', async () => {
    const acls = new CompiledAcls(10);
    const acl = await acls.add('a', rules(100), 'ac_1');
    expect(permits(acl, { kind: 'domain', name: 'host-99.example.com' }).permitted).toBe(true);
    expect(acls.size).toBe(0);
  });

  it('lets others work between ACLs', async () => {
    const acls = new CompiledAcls();
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await Promise.all(Array.from({ length: 10 }, (_, n) => acls.add(`a ${n}`, rules(760), 'ac_1')));
    clearImmediate(next);
    expect(turns).toBeGreaterThanOrEqual(4);
  });
});
