/** Entry of the thread that packs the templates of a large label index while its build scatters the records. */
import { workerData } from 'node:worker_threads';
import { runTemplateThread, type TemplateSources } from '../src/labels/index/template-build.ts';

runTemplateThread(workerData as TemplateSources);
