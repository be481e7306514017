import { describe, expect, it } from '@jest/globals';
import { progressLine, progressOn } from './progress.js';

describe('a progress line', () => {
  it('says count, percent, rate and time left when the total is known', () => {
    const state = { what: 'repair', unit: 'events', total: 1_000_000, count: 420_000, elapsedMs: 4000 };
    expect(progressLine(state)).toBe('repair  420,000 of 1,000,000 events  42 %  105,000/s  6 s left');
  });

  it('leaves out the rest without a total', () => {
    const state = { what: 'import', unit: 'events', total: undefined, count: 5, elapsedMs: 1000 };
    expect(progressLine(state)).toBe('import  5 events  5/s');
    expect(progressLine({ ...state, total: 1005, count: 0, elapsedMs: 0 })).toBe('import  0 of 1,005 events  0 %');
  });

  it.each([
    ['too high', 240, 'prove  120 of 240 events  50 %'],
    ['too low', 60, 'prove  120 events'],
  ])('ends at its total, also when the estimate of it was %s', (_, estimate, running) => {
    const written: string[] = [];
    let now = 0;
    const progress = progressOn({ isTTY: true, write: (text: string) => written.push(text) }, () => now);
    progress.begin('prove', 'events', estimate, 'estimate');
    now = 1000;
    progress.add(120);
    progress.done();
    expect(written.slice(-3).map((text) => text.replace(/ {2}120\/s.*/, ''))).toEqual([
      `\r\u001b[K${running}`,
      '\r\u001b[Kprove  120 of 120 events  100 %',
      '\n',
    ]);
  });

  it('is redrawn on a terminal a few times a second, and silent elsewhere', () => {
    const written: string[] = [];
    const write = (text: string) => written.push(text);
    let now = 0;
    const progress = progressOn({ isTTY: true, write }, () => now);
    progress.begin('verify', 'events', 100);
    for (; now < 1000; now += 10) progress.add(1);
    progress.done();
    expect(written.length).toBeLessThan(10);
    expect(written.at(-2)).toBe('\r\u001b[Kverify  100 of 100 events  100 %  100/s');
    const silent = progressOn({ write });
    const before = written.length;
    silent.begin('verify', 'events', 100);
    silent.add(100);
    silent.done();
    expect(written.length).toBe(before);
  });
});
