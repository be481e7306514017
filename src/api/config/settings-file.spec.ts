import { describe, expect, it } from '@jest/globals';
import { parseSettingsFile } from './settings-file.js';

const read = (text: string): string | undefined => parseSettingsFile(`A=${text}\nB=next\n`).get('A');

describe('a file of settings', () => {
  it('has a variable a line, comments and blank lines', () => {
    const text = '# one\n\n; two \\\n  PORT = 8080  \nDATA_DIR=\n\tHOST=::1\r\n#PORT=1\nPORT=9090';
    expect([...parseSettingsFile(text)]).toEqual([
      ['PORT', '9090'],
      ['DATA_DIR', ''],
      ['HOST', '::1'],
    ]);
  });

  it.each([
    [
      'postgres://u:p@h/db?sslmode=verify-full&sslrootcert=system',
      'postgres://u:p@h/db?sslmode=verify-full&sslrootcert=system',
    ],
    ['"postgres://u:p@h/db?a=1&b=2"', 'postgres://u:p@h/db?a=1&b=2'],
    ['\'a $HOME \\ "b"\'', 'a $HOME \\ "b"'],
    ['"a $HOME \\$HOME \\" \\\\ \\n"', 'a $HOME $HOME " \\ \\n'],
    ['a $HOME `date` # no comment', 'a $HOME `date` # no comment'],
    ['a\\ b\\\\c\\"', 'a b\\c"'],
    ['one \\\n  two', 'one   two'],
    ['"one\ntwo"', 'one\ntwo'],
    ['"one \\\ntwo"', 'one two'],
    ['"a"\'b\'c', 'abc'],
    ['"a" "b" c ', 'abc'],
    ['a"b"', 'a"b"'],
    ['a=b=c', 'a=b=c'],
    ['   ', ''],
    ['""', ''],
    ['b\\ ', 'b '],
    ['"  a  "', '  a  '],
  ])('gives %j as systemd does', (text, value) => {
    expect(read(text)).toBe(value);
    expect(parseSettingsFile(`A=${text}\nB=next\n`).get('B')).toBe('next');
  });

  it('may have the line ends of Windows', () => {
    expect([...parseSettingsFile('# one\r\n; two=2\r\nA=1 \\\r\n2\r\nB="3"\r\n')]).toEqual([
      ['A', '1 2'],
      ['B', '3'],
    ]);
  });

  it.each([
    ['PORT 8080', "line 1 has no '='"],
    ['A=1\nexport PORT=8080', "line 2 has no name of a variable before its '='"],
    ['A=1\n=2', "line 2 has no name of a variable before its '='"],
    ['A="one\ntwo\nPORT=1', 'line 1 has a quote without its end'],
  ])('with a line that is none is refused: %j', (text, message) => {
    expect(() => parseSettingsFile(text)).toThrow(message);
  });
});
