// A page in the installed Chromium, and what every view must not do: errors in the console, long tasks, findings of axe.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const kDesktop = { width: 1280, height: 860 };
export const kPhone = { width: 390, height: 844 };

export async function open() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--force-color-profile=srgb', '--hide-scrollbars'],
  });
  return browser;
}

/** A page that notes what goes wrong in `problems`. `allowed` are statuses that the test itself provokes. */
export async function newPage(browser, { size = kDesktop, theme = 'light', allowed = [] } = {}) {
  const context = await browser.newContext({
    viewport: size,
    colorScheme: theme,
    deviceScaleFactor: size === kPhone ? 2 : 1,
    bypassCSP: false,
  });
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (allowed.some((status) => message.text().includes(`status of ${status}`))) return;
    problems.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith('http://127.0.0.1') && !request.url().startsWith('http://localhost'))
      problems.push(`asks another host: ${request.url()}`);
  });
  return { page, context, problems };
}

/** What axe finds on the page as it is: one line each. The page's own policy allows no scripts from elsewhere, so it goes in as text. */
export async function axe(page) {
  if (tracing !== null) await stopTrace();
  await page.evaluate(axeSource);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  if (tracing !== null) await startTrace();
  return found.violations.flatMap((each) =>
    each.nodes.map((node) => {
      const why = (node.failureSummary ?? '').split('\n').slice(1, 2).join('').trim();
      return `axe ${each.id} (${each.impact}): ${node.target.join(' ')}: ${why}`;
    }),
  );
}

let tracing = null; // { page, tasks } while longTasks() is at work

async function startTrace() {
  await tracing.page
    .context()
    .browser()
    .startTracing(tracing.page, { categories: ['disabled-by-default-devtools.timeline'] });
}

async function stopTrace() {
  const trace = JSON.parse((await tracing.page.context().browser().stopTracing()).toString('utf8'));
  const main = new Set(
    trace.traceEvents
      .filter((each) => each.name === 'thread_name' && each.args.name === 'CrRendererMain')
      .map((each) => `${each.pid} ${each.tid}`),
  );
  const tasks = trace.traceEvents.filter(
    (each) => each.name === 'RunTask' && each.tdur !== undefined && main.has(`${each.pid} ${each.tid}`),
  );
  if (tasks.length === 0) throw new Error('the trace has no tasks: this Chromium names them otherwise');
  tracing.tasks.push(...tasks.map((each) => Math.round(each.tdur / 1000)));
}

/**
 * Does `body` and gives the tasks of the page's main thread that took more than `limit` ms of processor time meanwhile, longest first.
 * Processor time, not the clock's: other work on the machine must not fail a test. What axe does is left out.
 */
export async function longTasks(page, body, limit = 100) {
  tracing = { page, tasks: [] };
  const { tasks } = tracing;
  await startTrace();
  try {
    await body();
  } finally {
    await stopTrace();
    tracing = null;
  }
  return tasks.filter((ms) => ms > limit).sort((a, b) => b - a);
}

/** Lets what was asked for arrive and be drawn. Not networkidle: the live stream never ends. */
export async function settle(page, ms = 350) {
  await page.waitForLoadState('load');
  await page.waitForTimeout(ms);
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 5000 })));
}
