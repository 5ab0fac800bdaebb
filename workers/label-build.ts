/** Entry of the thread that does the steps of a large label index beside its main build. */
import { workerData } from 'node:worker_threads';
import { runBuildThread } from '../src/labels/index/build-thread.ts';
import type { TemplateSources } from '../src/labels/index/template-build.ts';

runBuildThread(workerData as TemplateSources);
