/** The most faults of one kind that are reported. A lost table would otherwise report every position. */
const MAX_REPORTED = 10;

/** Reports the first faults of each kind, and at the end how many more there were. */
export class FaultReport {
  private readonly counts = new Map<string, { count: number; last: string }>();

  constructor(private readonly report: (what: string) => void) {}

  add(kind: string, { position }: { readonly position: number | string }, what: string): void {
    this.addSentence(kind, `position ${position}: ${what}`);
  }

  /** Reports the positions after `after`, up to `upTo`, as missing. */
  missing(after: number, upTo: number): void {
    if (upTo > after + 1) this.addSentence('missing', `positions ${after + 1} to ${upTo}: missing`);
    else if (upTo > after) this.addSentence('missing', `position ${upTo}: missing`);
  }

  end(): void {
    for (const { count, last } of this.counts.values()) {
      if (count > MAX_REPORTED) this.report(`and ${count - MAX_REPORTED} more like ${last}`);
    }
  }

  /** Reports a fault in the words of a whole sentence. */
  addSentence(kind: string, sentence: string): void {
    const count = (this.counts.get(kind)?.count ?? 0) + 1;
    this.counts.set(kind, { count, last: sentence });
    if (count <= MAX_REPORTED) this.report(sentence);
  }
}
