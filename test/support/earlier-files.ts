import { disableStoragesOfEarlierFiles } from './outside/async-storages.mjs';

disableStoragesOfEarlierFiles();
