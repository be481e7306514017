import { expect, it } from '@jest/globals';
import { HeldAddresses } from './held-addresses.js';
import { HeldNames } from './held-names.js';

it('looks a host up in no time, however many dots it has', async () => {
  const names = new HeldNames(new HeldAddresses('dead'));
  const by = { credentialId: 'sshcr_1' } as Parameters<HeldNames['open']>[1];
  await names.open({ name: '*.example.test', accountId: 'ac_1' }, by, () => undefined);
  expect(names.pathOf('a.b.example.test')).toEqual(['ac_1', 'names', 'a.b.example.test']);
  const begun = performance.now();
  for (let n = 0; n < 100; n += 1) expect(names.pathOf(`${n}${'.a'.repeat(8_000)}`)).toBeUndefined();
  expect(performance.now() - begun).toBeLessThan(500);
});
