/** Joins the built program to dist/joined, unless that is up to date: node dist/scripts/joined/main.js */
import { projectRoot } from '../../src/base/paths.ts';
import { joinProgram } from './join.ts';

await joinProgram(projectRoot);
