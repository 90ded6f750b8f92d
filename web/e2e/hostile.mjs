// Records and names meant to break a page: node e2e/hostile.mjs BASE. A broker has a topic `hostile` with them (tests/e2e/page_e2e.py).
// Each look at them shows text: no element of theirs, no script, no window of theirs, and the words around stay in their order.
import { kPhone, script, settle } from './browser.mjs';

const { base, ask, run, look, expect, soon, quick, end } = await script('hostile');

const api = '/api/v1/topics/hostile/partitions/0';
const shown = await ask(api);
if (shown === null) throw new Error('there is no topic named hostile');
const rows = (await ask(`${api}/records?offset=0&limit=50`)).rows;
expect('there are such records', rows.length >= 10, String(rows.length));
expect(
  'some are no text',
  rows.some((row) => row.value !== null && row.value.text === null),
);
expect(
  'a large one is cut off',
  rows.some((row) => row.value?.truncated),
);

/** Elements that the page itself never makes, windows, and what scripts of records would leave. */
async function clean(page, name) {
  expect(
    `${name}: nothing of theirs is in the page`,
    (await page.locator('main img, main script, main iframe, main object, main style, main form[action]').count()) ===
      0,
  );
  expect(
    `${name}: nothing of theirs ran`,
    await page.evaluate(() => globalThis.broken === undefined && document.title.includes('Cordwood')),
  );
}

for (const size of [undefined, kPhone]) {
  const where = size === undefined ? 'desktop' : 'phone';
  await run(`records, ${where}`, size === undefined ? {} : { size }, async (page) => {
    page.on('dialog', async (dialog) => {
      expect('no window opens', false, dialog.message());
      await dialog.dismiss();
    });
    for (const form of ['', '&as=json', '&as=hex']) {
      const name = `records${form}, ${where}`;
      await page.goto(`${base}/topics/hostile/0?tab=records&offset=0${form}`);
      await page.locator('li.record').first().waitFor();
      await settle(page);
      expect(`${name}: all are listed`, (await page.locator('li.record').count()) === rows.length);
      await clean(page, name);
      await look(page, name);
    }
    for (const row of rows) {
      await page.goto(`${base}/topics/hostile/0?tab=life&offset=${row.offset}`);
      await page.locator('.story > li').first().waitFor();
      await clean(page, `life of ${row.offset}, ${where}`);
    }
  });
}

await run('batch and map', {}, async (page) => {
  await page.goto(`${base}/topics/hostile/0?tab=records&offset=0`);
  await page.locator('li.record').first().waitFor();
  const text = (await page.locator('main').innerText()).replace(/\s+/g, ' ');
  expect('markup is shown as it is', text.includes('<img src=x onerror="broken=1">'));
  expect('a template is text', text.includes('{@html "<b>bold</b>"}'));
  // An override of the direction ends where its record ends.
  const isolated = await page
    .locator('li.record pre')
    .evaluateAll((all) => all.every((one) => /isolate|plaintext/.test(getComputedStyle(one).unicodeBidi)));
  expect('directions are kept apart', isolated);
  for (const row of rows) {
    await page.goto(`${base}/topics/hostile/0?tab=batch&segment=${row.segment}&position=${row.position}`);
    await page.locator('#batch').waitFor();
    await clean(page, `batch of ${row.offset}`);
  }
  await quick(page, 'a map of them', async () => {
    await page.goto(`${base}/topics/hostile/0?tab=map`);
    await page.getByRole('application').waitFor();
    await settle(page);
  });
  await clean(page, 'map');
});

await run('a group', {}, async (page) => {
  const group = (await ask('/api/v1/groups?limit=500')).rows.find((row) => row.name.includes('<img'));
  expect('there is a group named like markup', group !== undefined);
  await page.goto(`${base}/groups`);
  await settle(page);
  await soon('its name is text', async () => (await page.locator('main').innerText()).includes(group.name));
  await page.goto(`${base}/groups/${encodeURIComponent(group.name)}`);
  await page.locator('main h1').waitFor();
  await settle(page);
  expect('and has a view', (await page.locator('h1').textContent()) === group.name);
  await clean(page, 'group');
  await look(page, 'a group named like markup');
  await page.goto(`${base}/topics/hostile`);
  await settle(page);
  await clean(page, 'topic');
});

await end();
