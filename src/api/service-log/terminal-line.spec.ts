import { describe, expect, it } from '@jest/globals';
import { toTerminalLine } from './terminal-line.js';

const LINE = { level: 'info', time: '2026-11-21T11:45:07.478Z', msg: 'GET /events 200', ms: 7, operation_id: 'op_1' };
const WORDS = Array.from({ length: 60 }, (_, n) => `word${n}`);

/** Without colours. */
const plain = (line: object, isWhole = false): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
  toTerminalLine(JSON.stringify(line), isWhole).replace(/\x1b\[\d+m/g, '');

describe('a line of the log on a terminal', () => {
  it('has the time, the level, the message and the fields, and no ids', () => {
    expect(plain(LINE)).toMatch(/^\d\d:\d\d:\d\d INFO {2}GET \/events 200 ms=7\n$/);
  });

  it('has all of it if it must be whole', () => {
    expect(plain({ ...LINE, account: 'ac_1', msg: WORDS.join(' ') }, true)).toMatch(
      /^\S+ INFO {2}word0 .* word59 ms=7 operation_id=op_1 account=ac_1\n$/,
    );
  });

  it('goes on in a further line after 120 columns, and loses no word', () => {
    const text = plain({ ...LINE, msg: WORDS.join(' ') });
    const lines = text.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
    expect(text.split(/\s+/)).toEqual(expect.arrayContaining([...WORDS, 'ms=7']));
  });
});
