/** Limit for one kind of fault; a lost table would report every position. */
const MAX_REPORTED = 10;

/** Reports faults up to the limit of their kind, and the number of the others at the end. */
export class FaultReport {
  private readonly counts = new Map<string, { count: number; last: string }>();

  constructor(private readonly report: (what: string) => void) {}

  add(kind: string, { position }: { readonly position: number | string }, what: string): void {
    this.of(kind, `position ${position}: ${what}`);
  }

  /** The positions after one up to another. */
  missing(after: number, upTo: number): void {
    if (upTo > after + 1) this.of('missing', `positions ${after + 1} to ${upTo}: missing`);
    else if (upTo > after) this.of('missing', `position ${upTo}: missing`);
  }

  end(): void {
    for (const { count, last } of this.counts.values()) {
      if (count > MAX_REPORTED) this.report(`and ${count - MAX_REPORTED} more like ${last}`);
    }
  }

  /** A whole sentence. */
  of(kind: string, sentence: string): void {
    const count = (this.counts.get(kind)?.count ?? 0) + 1;
    this.counts.set(kind, { count, last: sentence });
    if (count <= MAX_REPORTED) this.report(sentence);
  }
}
