import { expect, it } from '@jest/globals';
import { PolicyReader } from './policy-reader.js';
import { UnreadablePolicy } from './unreadable-policy.js';

const READ = { enabled: true, rules: [], ipPolicyIds: [], memoryBytes: 10_000 };

/** A reader that notes the texts which it reads. */
function noting(maxBytes?: number) {
  const read: string[] = [];
  const reader = new PolicyReader(maxBytes, async (text) => {
    read.push(text);
    if (text === 'deny') throw new UnreadablePolicy('the policy', 'must be an object.');
    return { ...READ };
  });
  return { reader, read };
}

it('a text is read once, also if it is wanted again before it is read', async () => {
  const { reader, read } = noting();
  expect(reader.known('{}')).toBeUndefined();
  const [one, two] = await Promise.all([reader.read('{}', 'ac_1'), reader.read('{}', 'ac_1')]);
  expect(two).toBe(one);
  expect(reader.known('{}')).toBe(one);
  expect(await reader.read('{}', 'ac_1')).toBe(one);
  expect(read).toEqual(['{}']);
});

it('an account does not wait in the turns of another one for the same text', async () => {
  const begun: string[] = [];
  const reader = new PolicyReader(undefined, (_, account) => {
    begun.push(account);
    return account === 'ac_1' ? new Promise(() => undefined) : Promise.resolve(READ);
  });
  void reader.read('{}', 'ac_1');
  expect(await reader.read('{}', 'ac_2')).toBe(READ);
  expect(begun).toEqual(['ac_1', 'ac_2']);
});

it('what cannot be read is known as well', async () => {
  const { reader, read } = noting();
  const reading = await reader.read('deny', 'ac_1');
  expect(reading).toBeInstanceOf(UnreadablePolicy);
  expect(await reader.read('deny', 'ac_1')).toBe(reading);
  expect(read).toEqual(['deny']);
});

it('a policy that makes the library fail cannot be read', async () => {
  const reader = new PolicyReader(undefined, () => Promise.reject(new RangeError('Maximum call stack size exceeded')));
  const reading = await reader.read('{}', 'ac_1');
  expect(reading).toBeInstanceOf(UnreadablePolicy);
  expect(reading).toMatchObject({ message: 'the policy could not be read: Maximum call stack size exceeded' });
});

it('the oldest texts are dropped, and read again', async () => {
  const { reader, read } = noting(36_000);
  const texts = ['{}', '{} ', '{}  ', '{}   '];
  for (const text of texts) await reader.read(text, 'ac_1');
  expect(texts.map((text) => reader.known(text) !== undefined)).toEqual([false, true, true, true]);
  await reader.read('{}', 'ac_1');
  expect(read).toEqual([...texts, '{}']);
});

it('a text that is too long to be held is read each time', async () => {
  const { reader, read } = noting(10_000);
  expect(await reader.read('{}', 'ac_1')).toMatchObject({ rules: [] });
  expect(await reader.read('{}', 'ac_1')).toMatchObject({ rules: [] });
  expect(read).toEqual(['{}', '{}']);
});

it('a policy that is not held is read once for its summary', async () => {
  const ipPolicyIds = ['ipp_a', '\ud800'];
  const read: string[] = [];
  const reader = new PolicyReader(1, async (text) => {
    read.push(text);
    if (text === 'deny') throw new UnreadablePolicy('the policy', 'must be an object.');
    return { ...READ, ipPolicyIds };
  });
  for (let n = 0; n < 2; n += 1) {
    expect(await reader.summary('{}', 'ac_1')).toEqual({ error: null, ipPolicyIds });
    expect(await reader.summary('deny', 'ac_2')).toEqual({ error: 'the policy must be an object.', ipPolicyIds: [] });
  }
  await reader.read('{} ', 'ac_1');
  await reader.summary('{} ', 'ac_1');
  expect(read).toEqual(['{}', 'deny', '{} ']);
});

it('an account has one text read at a time, and all that ask for it get it', async () => {
  const [begun, ends]: [string[], (() => void)[]] = [[], []];
  const reader = new PolicyReader(1, (text, account) => {
    begun.push(`${account} ${text}`);
    return new Promise((resolve) => ends.push(() => resolve(READ)));
  });
  const ofOne = ['a', 'b', 'a', 'b'].map((text) => reader.summary(text, 'ac_1'));
  const ofTwo = reader.summary('a', 'ac_2');
  expect(begun).toEqual(['ac_1 a', 'ac_2 a']);
  for (const end of ends.splice(0)) end();
  await Promise.all([ofOne[0], ofOne[2], ofTwo]);
  expect(begun).toEqual(['ac_1 a', 'ac_2 a', 'ac_1 b']);
  for (const end of ends.splice(0)) end();
  await Promise.all(ofOne);
  expect(begun.length).toBe(3);
});
