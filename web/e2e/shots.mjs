// Pictures of every view: node e2e/shots.mjs BASE OUT, with a broker or `cordwood inspect` behind BASE (or the fixtures of `vite dev`).
// OUT gets NAME-light.png, NAME-dark.png and NAME-phone.png (the whole page). What is not there (no groups in a directory) is left out.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kDesktop, kPhone, newPage, open } from './browser.mjs';

if (process.argv[3] === undefined) {
  console.error('node e2e/shots.mjs BASE OUT [NAME of the only view]');
  process.exit(1);
}
const base = process.argv[2].replace(/\/$/, '');
const out = process.argv[3];
const only = process.argv[4];
const failures = [];
let checks = 0;

const ask = async (path) => {
  const response = await fetch(base + path).catch(() => null);
  return response?.ok ? response.json() : null;
};
const named = encodeURIComponent;

const about = await ask('/api/v1/about');
if (about === null) {
  console.error(`no inspector answers at ${base}`);
  process.exit(1);
}

/** The name and the address of each view that this inspector has something for. */
async function views() {
  const all = [['topics', '/topics']];
  const topics = (await ask('/api/v1/topics?limit=500'))?.rows ?? [];
  const largest = (rows) =>
    rows.reduce((a, b) => (Number(b.size_bytes) > Number(a?.size_bytes ?? -1) ? b : a), undefined);
  const topic = largest(topics.filter((row) => !row.internal)) ?? largest(topics);
  if (topic !== undefined) {
    all.push(['topic', `/topics/${named(topic.name)}`]);
    const rows = (await ask(`/api/v1/topics/${named(topic.name)}`))?.partitions ?? [];
    const partition = largest(rows)?.partition ?? 0;
    const at = `/topics/${named(topic.name)}/${partition}`;
    const log = await ask(`/api/v1/topics/${named(topic.name)}/partitions/${partition}`);
    const middle = log === null ? 0n : (BigInt(log.log_start) + BigInt(log.log_end)) / 2n;
    all.push(['partition-overview', at]);
    for (const tab of ['map', 'batch', 'index', 'records', 'retention', 'compaction'])
      all.push([`partition-${tab === 'map' ? 'segments' : tab}`, `${at}?tab=${tab}`]);
    all.push(
      ['partition-look-up', `${at}?tab=lookup&offset=${middle}`],
      ['partition-life', `${at}?tab=life&offset=${middle}`],
    );
  }
  const compacted = topics.find((row) => !row.internal && row.cleanup_policy.includes('compact'));
  if (compacted !== undefined && compacted !== topic)
    all.push(['compacted-compaction', `/topics/${named(compacted.name)}/0?tab=compaction`]);
  const groups = (await ask('/api/v1/groups?limit=500'))?.rows ?? [];
  if (groups.length > 0) {
    const group = groups.reduce((a, b) => (b.partitions > a.partitions ? b : a));
    all.push(['groups', '/groups'], ['group', `/groups/${named(group.name)}`]);
  }
  const demos = (await ask('/api/v1/demos'))?.rows ?? [];
  if (demos.length > 0) all.push(['demos', '/demos']);
  for (const demo of demos) all.push([`demo-${demo.name}`, `/demos/${named(demo.name)}?step=${demo.steps}`]);
  all.push(['about', '/about']);
  return all.filter(([name]) => only === undefined || name === only);
}

/** The picture once two in a row are the same; where numbers go on changing, the last of some seconds. */
async function still(page, fullPage) {
  await page.waitForLoadState('load');
  await page.locator('main h1').first().waitFor({ timeout: 15_000 });
  if (about.mode === 'broker') await page.getByRole('button', { name: 'Live' }).waitFor({ timeout: 15_000 });
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.fonts.ready);
  let last = null;
  for (let again = 0; again < 12; again += 1) {
    await page.waitForTimeout(350);
    const busy = (await page.locator('main [aria-busy="true"]').count()) > 0;
    // All of it is in sight then: tables make only the rows that are.
    if (fullPage) {
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      await page.setViewportSize({ width: kPhone.width, height: Math.min(Math.max(kPhone.height, height), 8000) });
    }
    const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    if (!busy && last !== null && picture.equals(last)) return picture;
    last = picture;
  }
  return last;
}

const shapes = [
  { shape: 'light', theme: 'light', size: kDesktop },
  { shape: 'dark', theme: 'dark', size: kDesktop },
  { shape: 'phone', theme: 'light', size: kPhone },
];

mkdirSync(out, { recursive: true });
const browser = await open();
const all = await views();
if (all.length === 0) failures.push(`no view is named ${only}`);
for (const { shape, theme, size } of shapes) {
  const { page, context, problems } = await newPage(browser, { theme, size });
  for (const [name, path] of all) {
    checks += 1;
    try {
      await page.setViewportSize(size);
      await page.goto(base + path);
      const picture = await still(page, size === kPhone);
      writeFileSync(join(out, `${name}-${shape}.png`), picture);
      if ((await page.getByRole('alert').count()) > 0)
        failures.push(`${name} ${shape}: ${(await page.getByRole('alert').first().textContent()).trim()}`);
    } catch (error) {
      failures.push(`${name} ${shape}: ${error.message.split('\n')[0]}`);
    }
    for (const problem of problems.splice(0)) failures.push(`${name} ${shape}: ${problem}`);
  }
  await context.close();
}
await browser.close();
for (const failure of failures) console.log(failure);
console.log(`shots: ${checks} checks, ${failures.length} failures`);
process.exit(failures.length === 0 ? 0 : 1);
