// Clicks through the frame of the page and the views of topics and groups: node e2e/shell.mjs BASE
// Works with the fixtures of `vite dev`, with a broker and with `cordwood inspect`; what a view needs and is not there is left out.
import { kPhone, script, settle } from './browser.mjs';

const { base, ask, run, look, quick, expect, soon, end } = await script('shell');

const about = await ask('/api/v1/about');
if (about === null) throw new Error(`no inspector answers at ${base}`);
const topics = (await ask('/api/v1/topics?limit=500'))?.rows ?? [];
const groups = (await ask('/api/v1/groups?limit=500'))?.rows ?? [];
const topic = topics.find((row) => !row.internal) ?? topics[0];

const grid = (page, label) => page.getByRole('grid', { name: label });

for (const theme of ['light', 'dark']) {
  await run(`topics ${theme}`, { theme }, async (page) => {
    await page.goto(`${base}/`);
    await settle(page);
    await quick(page, `topics ${theme}`, async () => {
      await look(page, `topics ${theme}`);
      const rows = grid(page, 'Topics').locator('tbody tr[data-key]');
      if (topic === undefined) return;
      expect('topics are listed', (await rows.count()) > 0);
      await page.keyboard.press('/');
      await page.keyboard.type(topic.name);
      await page.waitForURL(/search=/);
      await settle(page);
      expect('the filter finds the topic', (await rows.first().textContent()).includes(topic.name));
      await page.keyboard.press('Escape');
      await settle(page);
      await page.getByRole('button', { name: 'Size' }).click();
      await page.waitForURL(/order=size/);
      await settle(page);
      expect(
        'size sorts',
        (await grid(page, 'Topics').locator('th[aria-sort=descending]').textContent()).includes('Size'),
      );
      await grid(page, 'Topics').locator('td[tabindex="0"]').focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await soon('a cell tells where it is from', async () => (await page.locator('#tip').textContent()) !== '');
      await page.keyboard.press('Escape');
      expect('Escape hides it', (await page.locator('#tip').textContent()) === '');
      await page.keyboard.press('Home');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/topics\/[^/?]+$/);
      await settle(page);
      await page.goBack();
      await settle(page);
      expect('the back button goes back', new URL(page.url()).search === '?order=size');
    });
  });

  if (topic !== undefined) {
    await run(`topic ${theme}`, { theme }, async (page) => {
      await page.goto(`${base}/topics/${encodeURIComponent(topic.name)}`);
      await settle(page);
      await quick(page, `topic ${theme}`, async () => {
        await look(page, `topic ${theme}`);
        const fact = page.locator('.facts button').first();
        await fact.hover();
        await soon('a number tells where it is from', async () =>
          (await page.locator('#tip').textContent()).includes('log end'),
        );
        if (about.actions) {
          for (const name of ['Produce a record…', 'Add partitions…', 'Roll, retain, compact…']) {
            await page.getByRole('button', { name }).click();
            await settle(page);
            await look(page, `${name} ${theme}`);
            await page.keyboard.press('Escape');
            await settle(page);
            expect(`${name} closes`, (await page.locator('dialog').count()) === 0);
            expect(
              `${name} gives the focus back`,
              await page.getByRole('button', { name }).evaluate((button) => button === document.activeElement),
            );
          }
        } else {
          expect(
            'nothing to try where nothing may be changed',
            (await page.getByRole('button', { name: 'Produce a record…' }).count()) === 0,
          );
        }
        await page.locator(`[aria-label^="Partitions of"] tbody tr[data-key] a`).first().click();
        await page.waitForURL(/\/topics\/[^/]+\/\d+$/);
        await settle(page);
      });
    });
  }

  await run(`groups ${theme}`, { theme }, async (page) => {
    await page.goto(`${base}/groups`);
    await settle(page);
    await quick(page, `groups ${theme}`, async () => {
      await look(page, `groups ${theme}`);
      if (groups.length === 0) return;
      await grid(page, 'Groups').locator('tbody tr[data-key] a').first().click();
      await page.waitForURL(/\/groups\/[^/?]+$/);
      await settle(page);
      await look(page, `group ${theme}`);
      const position = page.locator('[aria-label^="Positions of"] tbody tr[data-key]');
      if ((await position.count()) > 0) {
        await position.first().locator('td').nth(1).click();
        await page.waitForURL(/at=/);
        await settle(page);
        expect(
          'a position tells of auto.offset.reset',
          (await page.locator('.resets').textContent()).includes('earliest'),
        );
        await look(page, `position ${theme}`);
      }
    });
  });

  await run(`about ${theme}`, { theme }, async (page) => {
    await page.goto(`${base}/about`);
    await settle(page);
    await look(page, `about ${theme}`);
  });
}

await run('stale addresses', { allowed: [404] }, async (page) => {
  for (const path of ['/nowhere', '/topics/no.such.topic', '/groups/no-such-group', '/topics/a/b/c']) {
    await page.goto(base + path).catch(() => undefined);
    await settle(page);
    expect(`${path} says that there is nothing`, (await page.getByRole('alert').count()) > 0);
    expect(`${path} shows the way on`, (await page.locator('main a').count()) > 0);
    await look(page, path);
  }
});

await run('theme', {}, async (page) => {
  await page.goto(`${base}/about`);
  await settle(page);
  await page.getByLabel('Theme').selectOption('dark');
  const dark = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.reload();
  await settle(page);
  expect(
    'the theme is remembered',
    (await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)) === dark,
  );
  await page.getByLabel('Theme').selectOption('light');
  expect(
    'light is another',
    (await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)) !== dark,
  );
});

await run('skip link', {}, async (page) => {
  await page.goto(`${base}/topics`);
  await settle(page);
  await page.keyboard.press('Tab');
  expect(
    'the first stop skips to the content',
    (await page.evaluate(() => document.activeElement?.textContent)) === 'Skip to the content',
  );
  await page.keyboard.press('Enter');
  expect('and goes there', (await page.evaluate(() => document.activeElement?.id)) === 'content');
});

await run('phone', { size: kPhone }, async (page) => {
  const paths = ['/topics', '/groups', '/about'];
  if (topic !== undefined) paths.push(`/topics/${encodeURIComponent(topic.name)}`);
  if (groups[0] !== undefined) paths.push(`/groups/${encodeURIComponent(groups[0].name)}`);
  for (const path of paths) {
    await page.goto(base + path);
    await settle(page);
    await look(page, `phone ${path}`);
  }
});

// What no inspector here does by itself is answered in its place.

const json = (body, status = 200) => ({ status, contentType: 'application/json', body: JSON.stringify(body) });

await run('10,000 topics with names meant to break a page', {}, async (page) => {
  const total = 10_000;
  const name = (at) =>
    at % 3 === 0 ? `<img src=x onerror=alert(${at})>` : at % 3 === 1 ? `{@html ${at}}` : `t${at}`.padEnd(249, 'x');
  const row = (at) => ({
    name: name(at),
    topic_id: null,
    internal: false,
    partitions: 1,
    records: '9223372036854775807',
    size_bytes: at * 1e9,
    cleanup_policy: 'delete',
    records_per_second: 1,
    bytes_per_second: 1,
    problems: at % 2,
  });
  await page.route('**/api/v1/topics?*', (route) => {
    const query = new URL(route.request().url()).searchParams;
    const from = Number(query.get('from') ?? 0);
    const limit = Number(query.get('limit') ?? 100);
    const rows = Array.from({ length: Math.min(limit, total - from) }, (_, at) => row(from + at));
    return route.fulfill(json({ total, matching: total, rows, next: from + limit < total ? from + limit : null }));
  });
  await page.goto(`${base}/topics`);
  await settle(page);
  await quick(page, '10,000 topics', async () => {
    const rows = grid(page, 'Topics').locator('tbody tr[data-key]');
    expect('few rows are in the page', (await page.locator('tbody tr').count()) < 120);
    for (let at = 0; at < 15; at += 1) {
      await page.mouse.wheel(0, 7000);
      await page.waitForTimeout(40);
    }
    await settle(page);
    await grid(page, 'Topics').locator('td[tabindex="0"]').focus();
    await page.keyboard.press('Control+End');
    await settle(page);
    expect('the last row is reached', (await rows.last().getAttribute('data-key')) === name(total - 1));
    expect(
      'and has the focus',
      await page.evaluate(() => document.activeElement?.closest('tr')?.getAttribute('aria-rowindex') === '10001'),
    );
    await page.keyboard.press('Control+Home');
    await settle(page);
    expect('markup is text', (await page.locator('main img').count()) === 0);
    expect('and is shown', (await rows.first().textContent()).includes('<img src=x onerror=alert(0)>'));
    await look(page, '10,000 topics');
  });
});

await run('a token is demanded', { allowed: [401] }, async (page) => {
  await page.route('**/api/**', (route) =>
    route.request().headers()['authorization'] === 'Bearer secret'
      ? route.fallback()
      : route.fulfill(json({ error: 'The token is missing or wrong.', field: null }, 401)),
  );
  await page.goto(`${base}/topics`);
  await settle(page);
  await look(page, 'token');
  await page.getByLabel('Token', { exact: true }).fill('wrong');
  await page.keyboard.press('Enter');
  await settle(page);
  expect('a wrong one is asked for again', await page.getByText('is not the right one').isVisible());
  await page.getByLabel('Token', { exact: true }).fill('secret');
  await page.keyboard.press('Enter');
  await settle(page);
  expect(
    'the right one opens the page',
    (await page.locator('dialog').count()) === 0 && (await grid(page, 'Topics').count()) === 1,
  );
  expect(
    'it is kept for the tab only',
    await page.evaluate(() => sessionStorage.length === 1 && localStorage.length === 0),
  );
});

await run('the inspector is gone', { allowed: [503, 500] }, async (page) => {
  await page.route('**/api/**', (route) =>
    route.fulfill(json({ error: 'Too many questions at once.', field: null }, 503)),
  );
  await page.goto(`${base}/topics`);
  await settle(page);
  expect('it says why', (await page.getByText('Too many questions at once.').count()) > 0);
  await page.unroute('**/api/**');
  await page.getByRole('button', { name: 'Ask again' }).first().click();
  await page
    .getByRole('button', { name: 'Ask again' })
    .last()
    .click()
    .catch(() => undefined);
  await settle(page);
  expect('and goes on once it answers', (await grid(page, 'Topics').count()) === 1);
});

if (about.mode === 'broker') {
  await run('the stream is lost', { allowed: [503] }, async (page) => {
    let gone = false;
    await page.route('**/api/v1/events*', (route) =>
      gone ? route.fulfill(json({ error: 'Too many event streams.', field: null }, 503)) : route.fallback(),
    );
    await page.goto(`${base}/topics`);
    await page.getByRole('button', { name: 'Live' }).waitFor();
    await page.getByRole('button', { name: 'Live' }).click();
    expect('it can be paused', await page.getByRole('button', { name: 'Paused: go on' }).isVisible());
    gone = true;
    await page.getByRole('button', { name: 'Paused: go on' }).click();
    await page.getByText('Too many event streams.').waitFor();
    await look(page, 'lost');
    // It tries by itself as well, so the button is there for certain only while nothing answers.
    const again = page.waitForRequest('**/api/v1/events*', { timeout: 300 });
    await page.getByRole('button', { name: 'Try now' }).click();
    await again;
    gone = false;
    await page.getByRole('button', { name: 'Live' }).waitFor();
    expect('the note goes once it is live again', (await page.getByText('Too many event streams.').count()) === 0);
  });
}

await end();
