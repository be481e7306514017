export declare function asServer(serverUrl: string, statement: string): Promise<void>;
