import { expect, it } from '@jest/globals';
import { PolicyReader } from './policy-reader.js';
import { UnreadablePolicy } from './unreadable-policy.js';

const READ = { enabled: true, rules: [], ipPolicyIds: [], notes: [], memoryBytes: 10_000 };

/** A reader that notes the texts which it reads. */
function noting(maxBytes?: number) {
  const read: string[] = [];
  const reader = new PolicyReader(maxBytes, (text) => {
    read.push(text);
    if (text === 'deny') throw new UnreadablePolicy('the policy', 'must be an object.');
    if (text === 'deep') throw new RangeError('Maximum call stack size exceeded');
    return { ...READ };
  });
  return { reader, read };
}

it('a text is read once, also one that cannot be read', () => {
  const { reader, read } = noting();
  expect(reader.holds('{}')).toBe(false);
  for (const text of ['{}', 'deny']) expect(reader.read(text)).toBe(reader.read(text));
  expect(reader.read('deny')).toBeInstanceOf(UnreadablePolicy);
  expect(reader.holds('{}')).toBe(true);
  expect(read).toEqual(['{}', 'deny']);
});

it('a policy that makes the library fail cannot be read', () => {
  const reading = noting().reader.read('deep');
  expect(reading).toBeInstanceOf(UnreadablePolicy);
  expect(reading).toMatchObject({ message: 'the policy could not be read: Maximum call stack size exceeded' });
});

it('the oldest texts are dropped, and read again', () => {
  const { reader, read } = noting(36_000);
  const texts = ['{}', '{} ', '{}  ', '{}   '];
  for (const text of texts) reader.read(text);
  expect(texts.map((text) => reader.holds(text))).toEqual([false, true, true, true]);
  reader.read('{}');
  expect(read).toEqual([...texts, '{}']);
});

it('a text that is too large to be held is read each time', () => {
  const { reader, read } = noting(10_000);
  for (let n = 0; n < 2; n += 1) expect(reader.read('{}')).toMatchObject({ rules: [] });
  expect(read).toEqual(['{}', '{}']);
});
