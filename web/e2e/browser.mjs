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

const asked = new WeakMap(); // page -> requests of the inspector's that are not answered yet; the live stream never is
const fully = new WeakMap(); // page -> whether axe looks for everything, or only at colours

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
  const open = new Set();
  asked.set(page, open);
  // Whatever axe asks but for colours is the same in both themes.
  fully.set(page, theme === 'light');
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (allowed.some((status) => message.text().includes(`status of ${status}`))) return;
    problems.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith('http://127.0.0.1') && !request.url().startsWith('http://localhost'))
      problems.push(`asks another host: ${request.url()}`);
    if (request.url().includes('/api/') && !request.url().includes('/api/v1/events')) open.add(request);
  });
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  return { page, context, problems };
}

/** What axe finds on the page as it is: one line each. The page's own policy allows no scripts from elsewhere, so it goes in as text. */
export async function axe(page) {
  if (tracing !== null) await stopTrace();
  if (!(await page.evaluate(() => globalThis.axe !== undefined))) await page.evaluate(axeSource);
  const found = await page.evaluate(
    (all) =>
      globalThis.axe.run(document, {
        resultTypes: ['violations'],
        ...(all ? {} : { runOnly: ['color-contrast'] }),
      }),
    fully.get(page),
  );
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

/** Until what was asked for has arrived and is drawn: twice in a row nothing is on its way. Not networkidle: the live stream never ends. */
export async function settle(page) {
  await page.waitForLoadState('load');
  const deadline = Date.now() + 20_000;
  for (let still = 0; still < 2 && Date.now() < deadline;) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    still = asked.get(page).size === 0 ? still + 1 : 0;
  }
}

/** Until `holds` gives something true; false after ten seconds. For what comes a moment later than what causes it. */
export async function comes(holds, seconds = 10) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > deadline) return value;
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** A script's counters, its browser, and how it ends: `run` opens a page for `body`, `look` asks axe, `quick` measures tasks. */
export async function script(name) {
  const base = (process.argv[2] ?? 'http://127.0.0.1:5173').replace(/\/$/, '');
  const browser = await open();
  const failures = [];
  let checks = 0;
  const began = Date.now();

  const fail = (what) => {
    failures.push(what);
    console.log(what);
  };
  const expect = (what, ok, more = '') => {
    checks += 1;
    if (!ok) fail(more === '' ? what : `${what}: ${more}`);
  };
  return {
    base,
    fail,
    expect,
    /** The same for what comes a moment later. */
    async soon(what, holds, more = '') {
      expect(what, await comes(holds), more);
    },
    async ask(path) {
      const response = await fetch(base + path);
      return response.ok ? response.json() : null;
    },
    async run(what, options, body) {
      const start = Date.now();
      const { page, context, problems } = await newPage(browser, options);
      page.setDefaultTimeout(20_000);
      try {
        await body(page, context);
      } catch (error) {
        fail(`${what}: ${error.message.split('\n').slice(0, 3).join(' ')}`);
      }
      for (const problem of problems) fail(`${what}: ${problem}`);
      await context.close();
      if (process.env.TIMES) console.log(`${what}: ${((Date.now() - start) / 1000).toFixed(1)} s`);
    },
    async look(page, what) {
      const found = await axe(page);
      expect(`${what}: axe finds nothing`, found.length === 0, found.join('; '));
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(`${what} is no wider than the window`, wide <= 0, `${wide} px`);
    },
    async quick(page, what, body) {
      // What a task takes is the same in both themes.
      if (!fully.get(page)) return body();
      const long = await longTasks(page, body);
      expect(`${what} has no task over 100 ms`, long.length === 0, `${long.join(', ')} ms`);
    },
    async end() {
      await browser.close();
      const seconds = Math.round((Date.now() - began) / 1000);
      console.log(`${name}: ${checks} checks, ${failures.length} failures, ${seconds} s`);
      process.exit(failures.length === 0 ? 0 : 1);
    },
  };
}
