// Zooms into a segment of 100,000 batches, from all of it to one record and back, by wheel and keys: node e2e/zoom.mjs BASE
// The topic is `big`, of one segment (tests/e2e/page_e2e.py makes its directory). No task of the page takes more than 100 ms.
import { script, settle } from './browser.mjs';

const { base, ask, run, look, quick, expect, soon, end } = await script('zoom');

const api = '/api/v1/topics/big/partitions/0';
const shown = await ask(api);
expect('there are 100,000 batches of 3 records', shown?.log_end === '300000', String(shown?.log_end));

await run('zoom', {}, async (page) => {
  await quick(page, 'opening the map', async () => {
    await page.goto(`${base}/topics/big/0?tab=map`);
    await page.getByRole('application').waitFor();
    await settle(page);
  });
  const canvas = page.getByRole('application', { name: /^Segment / });
  const sight = page.locator('.sight');
  await soon('all is in sight', async () => (await sight.textContent()).includes('the whole segment'));
  await look(page, 'all batches');
  const box = await canvas.boundingBox();
  const size = shown.segments[0].size_bytes;
  const span = () => {
    const query = new URL(page.url()).searchParams;
    return query.get('from') === null ? size : Number(query.get('to')) - Number(query.get('from'));
  };
  await quick(page, 'the wheel, inwards', async () => {
    await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
    for (let i = 0; i < 40; i += 1) {
      await page.mouse.wheel(0, -400);
      if (i % 10 === 9) await settle(page);
    }
    await soon('one batch is in sight', () => span() < 1000, `${span()} bytes`);
    await settle(page);
  });
  await look(page, 'one batch');
  await quick(page, 'the wheel, outwards', async () => {
    for (let i = 0; i < 40; i += 1) {
      await page.mouse.wheel(0, 450);
      if (i % 10 === 9) await settle(page);
    }
    await soon('all is in sight again', () => span() === size, `${span()} bytes`);
    await settle(page);
  });
  await quick(page, 'keys', async () => {
    await canvas.focus();
    for (let i = 0; i < 40; i += 1) await page.keyboard.press('+');
    await soon('keys go to one batch too', () => span() < 2000, `${span()} bytes`);
    for (let i = 0; i < 12; i += 1) await page.keyboard.press(i % 3 === 2 ? '-' : 'ArrowRight');
    await page.keyboard.press('.');
    await settle(page);
    await page.keyboard.press('0');
    await soon('0 shows all', () => span() === size, `${span()} bytes`);
    await settle(page);
  });
  for (const tab of ['', 'index', 'retention'])
    await quick(page, `the look ${tab}`, async () => {
      await page.goto(`${base}/topics/big/0?tab=${tab}`);
      await page.locator('main .section').first().waitFor();
      await settle(page);
    });
});

await end();
