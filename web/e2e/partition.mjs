// Clicks through every look at a partition, the one with most bytes: node e2e/partition.mjs BASE
// Works with a broker and with `cordwood inspect` of any directory; what a look needs and is not there is left out.
import { kPhone, script, settle } from './browser.mjs';

const { base, ask, run, look, quick, expect, soon, end } = await script('partition');

const topics = (await ask('/api/v1/topics?order=size&limit=1'))?.rows ?? [];
if (topics.length === 0) {
  console.log('partition: 0 checks: there is no topic');
  process.exit(0);
}
const topic = topics[0].name;
const rows = (await ask(`/api/v1/topics/${encodeURIComponent(topic)}`)).partitions;
const partition = rows.reduce((most, row) => (row.size_bytes > most.size_bytes ? row : most), rows[0]).partition;
const api = `/api/v1/topics/${encodeURIComponent(topic)}/partitions/${partition}`;
const live = (await ask('/api/v1/about')).mode === 'broker';
const shown = await ask(api);
const path = `/topics/${encodeURIComponent(topic)}/${partition}`;
const largest = shown.segments.reduce(
  (most, one) => (most === null || one.size_bytes > most.size_bytes ? one : most),
  null,
);
const records = (await ask(`${api}/records?offset=${shown.log_start}&limit=20`))?.rows ?? [];
const record = records.find((one) => one.kind === 'data') ?? records[0];
const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ',');

const tabs = [
  ['', 'Overview'],
  ['map', 'Segments'],
  ['batch', 'Batch'],
  ['index', 'Index'],
  ['records', 'Records'],
  ['lookup', 'Look-up'],
  ['retention', 'Retention'],
  ['compaction', 'Compaction'],
  ['life', 'Life of a record'],
];
// The address of a look with something in it.
const filled = (id) => {
  const query = new URLSearchParams(id === '' ? {} : { tab: id });
  if (largest !== null && ['map', 'batch', 'index'].includes(id)) query.set('segment', largest.base);
  if (id === 'batch') query.set('position', '0');
  if (record !== undefined && ['records', 'lookup', 'life'].includes(id)) query.set('offset', record.offset);
  return `${path}?${query}`;
};

/** A sentence without what changes from second to second: under load that is each number. */
const timeless = (text) =>
  text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'then')
    .replace(/\d[\d.,]* (ms|s|min|h|d)\b( \d+ (s|min|h)\b)?/g, 'some time')
    .replace(/(?<=\d),(?=\d{3})/g, '')
    .replace(live ? /\d+/g : /(?!)/, 'n')
    .replace(/\s+/g, ' ')
    .trim();

/** Waits until the look has drawn what it asked for. */
async function arrived(page) {
  await page.locator('main .section, main .sentence, main [role=alert]').first().waitFor({ timeout: 15_000 });
  await settle(page);
}

for (const theme of ['light', 'dark']) {
  await run(`tabs ${theme}`, { theme }, async (page) => {
    await page.goto(base + path);
    await arrived(page);
    expect('the heading names the partition', (await page.locator('h1').textContent()) === `${topic}-${partition}`);
    for (const [id, title] of tabs) {
      const open = async () => {
        await page
          .getByRole('navigation', { name: 'Looks at this partition' })
          .getByRole('link', { name: title, exact: true })
          .click();
        await page.waitForURL((url) => (url.searchParams.get('tab') ?? '') === id);
        await arrived(page);
      };
      await quick(page, title, open);
      expect(`${title} shows something`, (await page.locator('main').innerText()).length > 80);
      await look(page, `${title} ${theme}`);
      if (theme === 'dark' || !new URL(base + filled(id)).search.includes('&')) continue;
      await page.goto(base + filled(id));
      await arrived(page);
      await look(page, `${title}, filled`);
    }
  });
}

await run('overview', {}, async (page) => {
  await page.goto(base + path);
  await arrived(page);
  const files = page.getByRole('grid', { name: "Files of the partition's directory" });
  await files.scrollIntoViewIfNeeded();
  // Of a broker under load the directory changes meanwhile: the first segment's files stay.
  const first = shown.files.filter((file) => file.name.startsWith(shown.segments[0]?.base.padStart(20, '0') ?? ''));
  const listed = live ? first.slice(0, 1) : shown.files.slice(0, 5);
  for (const file of listed) {
    const names = async () => (await files.innerText()).replace(/\s+/g, '');
    await soon(`the file ${file.name} is listed`, async () => {
      if ((await names()).includes(file.name)) return true;
      await page.mouse.wheel(0, 500);
      return false;
    });
  }
  const text = await page.locator('main').innerText();
  for (const one of shown.damage.slice(0, 5)) expect(`the damage of ${one.file} is told`, text.includes(one.says));
  if (shown.damage.length === 0)
    expect('no damage is claimed', (await page.getByRole('heading', { name: 'Damage' }).count()) === 0);
});

if (largest !== null && largest.size_bytes > 0) {
  await run('segment map', {}, async (page) => {
    await page.goto(base + filled('map'));
    await arrived(page);
    const canvas = page.getByRole('application', { name: /^Segment / });
    const sight = page.locator('.sight');
    const seen = () => sight.textContent();
    const all = async () => (await seen()).includes('the whole segment');
    await soon('the whole segment is in sight', all);
    await canvas.focus();
    await quick(page, 'zooming by keys', async () => {
      for (let i = 0; i < 6; i += 1) await page.keyboard.press('+');
      await page.waitForURL((url) => url.searchParams.get('from') !== null);
      await settle(page);
    });
    const near = await seen();
    expect('+ zooms in', near.includes('in sight'), near);
    await page.keyboard.press('ArrowRight');
    await soon('an arrow moves it', async () => (await seen()) !== near);
    await settle(page);
    await look(page, 'the map, zoomed');
    await page.keyboard.press('0');
    await soon('0 shows all again', all);
    await page.waitForURL((url) => url.searchParams.get('from') === null);
    await settle(page);
    const box = await canvas.boundingBox();
    await quick(page, 'zooming by the wheel', async () => {
      await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
      for (let i = 0; i < 10; i += 1) await page.mouse.wheel(0, -240);
      await page.waitForURL((url) => url.searchParams.get('from') !== null);
      await settle(page);
    });
    expect('the wheel zooms in', (await seen()).includes('in sight'));
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await soon('All shows all again', all);
    await settle(page);
    await page.getByText('What is in sight, as a table').click();
    const cells = page.locator('details tbody tr');
    await soon('the table lists what is in sight', async () => (await cells.count()) > 0);
    await look(page, 'the map with its table');
    await canvas.focus();
    await soon('a step goes to a cell', async () => {
      await page.keyboard.press('.');
      return / at byte [\d,]+: /.test(await page.locator('.says').first().textContent());
    });
    await cells.first().locator('button').click();
    await soon('a cell opens its batch, or comes nearer', () => {
      const query = new URL(page.url()).searchParams;
      return query.get('tab') === 'batch' || query.get('from') !== null;
    });
    await settle(page);
  });
}

const batch = largest === null ? null : await ask(`${api}/segments/${largest.base}/batches/0`);
if (batch !== null) {
  await run('batch', {}, async (page) => {
    await page.goto(base + filled('batch'));
    await arrived(page);
    const head = await page.locator('#batch').textContent();
    expect('the batch has its offsets', head.includes(grouped(batch.base)), head);
    const fields = page.locator('.fields tbody tr');
    expect('its header is told field by field', (await fields.count()) >= batch.fields.length);
    await fields.first().hover();
    await look(page, 'a batch with a field marked');
    if (batch.next_position !== null) {
      await page.keyboard.press(']');
      await page.waitForURL((url) => url.searchParams.get('position') === String(batch.next_position));
      await arrived(page);
      await page.keyboard.press('[');
      await page.waitForURL((url) => url.searchParams.get('position') === '0');
      await arrived(page);
      expect('back at the first', (await page.locator('#batch').textContent()) === head);
    }
  });
}

if (record !== undefined) {
  await run('records', {}, async (page) => {
    await page.goto(base + filled('records'));
    await arrived(page);
    expect('records are listed', (await page.locator('li.record').count()) > 0);
    for (const form of ['json', 'hex', 'text']) {
      await page.locator('main select').last().selectOption(form);
      await settle(page);
      expect(`as ${form}`, (await page.locator('li.record').count()) > 0);
    }
    await page.getByRole('link', { name: `Record ${record.offset}: its life`, exact: true }).click();
    await page.waitForURL(/tab=life/);
    await arrived(page);
    const life = await ask(`${api}/records/${record.offset}/life`);
    expect('its life is told', (await page.locator('.story > li').count()) === life.steps.length);
    const told = timeless(await page.locator('.story').innerText());
    for (const step of life.steps)
      expect(`its life tells: ${step.stage}`, told.includes(timeless(step.says)), step.says);
    await page.getByRole('link', { name: /^Batch of record/ }).click();
    await page.waitForURL(/tab=batch/);
    await arrived(page);
    expect('its batch opens', (await page.locator('#batch').count()) === 1);
  });

  await run('look-up', {}, async (page) => {
    await page.goto(`${base}${path}?tab=lookup`);
    await arrived(page);
    await page.getByLabel('Offset', { exact: true }).fill('not a number');
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    expect('a wrong offset is told', (await page.getByText('An offset is a whole number').count()) === 1);
    await page.getByLabel('Offset', { exact: true }).fill(record.offset);
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get('offset') === record.offset);
    await page.locator('#answer').waitFor();
    const byOffset = await ask(`${api}/lookup?offset=${record.offset}`);
    await soon(
      'an offset is found',
      async () =>
        (await page.locator('#answer').textContent()) ===
        (byOffset.found ? `Found: offset ${grouped(byOffset.found_offset)}` : 'Not found'),
    );
    const steps = page.getByRole('list', { name: 'Steps, as the engine took them' }).locator('> li');
    await soon('with the steps of the engine', async () => (await steps.count()) === byOffset.steps.length);
    await look(page, 'the look-up of an offset');
    const when = record.timestamp_ms;
    if (when >= 0) {
      await page.getByLabel('first record at or after a time').check();
      await page.getByLabel('Time', { exact: true }).fill(String(when));
      await page.getByRole('button', { name: 'Find', exact: true }).click();
      await page.waitForURL((url) => url.searchParams.get('time') === String(when));
      const byTime = await ask(`${api}/lookup?timestamp_ms=${when}`);
      await soon(
        'a time is found',
        async () =>
          (await page.locator('#answer').textContent()) ===
          (byTime.found ? `Found: offset ${grouped(byTime.found_offset)}` : 'Not found'),
      );
      await soon('with its steps', async () => (await steps.count()) === byTime.steps.length);
      await look(page, 'the look-up of a time');
    }
    await page.goto(`${base}${path}?tab=lookup&offset=9000000000000000000`);
    await arrived(page);
    await soon(
      'what is not there is not found',
      async () => (await page.locator('#answer').textContent()) === 'Not found',
    );
  });
}

await run('retention', {}, async (page) => {
  await page.goto(`${base}${path}?tab=retention`);
  await page.locator('#what-bytes').waitFor();
  await settle(page);
  await quick(page, 'moving a slider', async () => {
    await page.locator('#what-bytes').focus();
    await page.keyboard.press('Home');
    await page.waitForURL(/retention_bytes=\d/);
    await settle(page);
  });
  const verdict = page.locator('#verdict');
  await soon('it says that it only asks', async () => (await verdict.textContent()) === 'What retention would do');
  const bytes = new URL(page.url()).searchParams.get('retention_bytes');
  const what = await ask(`${api}/retention?retention_bytes=${bytes}`);
  await soon('the verdicts are those of the engine', async () => {
    const now = live ? await ask(`${api}/retention?retention_bytes=${bytes}`) : what;
    const told = await verdict.locator('xpath=ancestor::section').innerText();
    return told.includes(`${grouped(now.goes_segments)} segment`);
  });
  await look(page, 'what if');
  await page.getByRole('button', { name: 'As it is set' }).click();
  await page.waitForURL((url) => !url.searchParams.has('retention_bytes'));
  await settle(page);
  await soon('and is taken back', async () => (await verdict.textContent()) === 'What retention does');
  const after = await ask(`${api}/retention`);
  expect('nothing was set', after.what_if === false && after.retention_bytes.value === what_is(after));
});

/** What is set, by another way: the settings of the partition. */
function what_is(retention) {
  return shown.settings.find((one) => one.name === 'retention.bytes')?.value ?? retention.retention_bytes.value;
}

await run('compaction', {}, async (page) => {
  await page.goto(`${base}${path}?tab=compaction`);
  await arrived(page);
  const cleaner = await ask(`${api}/compaction`);
  await soon('the cleaner says why', async () =>
    timeless(await page.locator('main').innerText()).includes(timeless(cleaner.says)),
  );
});

await run('stale addresses', { allowed: [404, 400] }, async (page) => {
  for (const query of [
    'tab=nothing',
    'tab=map&segment=77777777777',
    'tab=batch&position=999999999999',
    'tab=life&offset=8999999999999999999',
    'tab=map&from=-5&to=x',
  ]) {
    await page.goto(`${base}${path}?${query}`);
    await arrived(page);
    expect(`${query}: the rest is shown`, (await page.locator('h1').textContent()) === `${topic}-${partition}`);
    await look(page, query);
  }
});

await run('phone', { size: kPhone }, async (page) => {
  for (const [id, title] of tabs) {
    await page.goto(base + filled(id));
    await arrived(page);
    await look(page, `phone ${title}`);
  }
});

await end();
