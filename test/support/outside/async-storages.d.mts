export declare function disableStoragesOfEarlierFiles(): void;
