/** The files of the bench by the names of its sections. */
export declare const SECTIONS: Readonly<Record<string, string>>;
