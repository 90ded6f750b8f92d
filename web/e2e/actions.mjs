// Does what the page lets one try, in its dialogs, and what is refused: node e2e/actions.mjs BASE
// A broker that allows actions, with the topics `playground` (records with keys) and `customers` (compacted), and the groups `resting`
// (of playground, without members) and `reading` (with a member).
import { kPhone, script, settle } from './browser.mjs';

const { base, ask, run, look, expect, soon, end } = await script('actions');

const dialog = (page) => page.locator('dialog');
const outcome = (page) => dialog(page).locator('.result');

async function opened(page, path, button) {
  await page.goto(base + path);
  await page.getByRole('button', { name: button, exact: true }).click();
  await dialog(page).waitFor();
  await settle(page);
}
async function done(page, button, words) {
  await dialog(page).getByRole('button', { name: button, exact: true }).click();
  await soon(`${button}: ${words}`, async () => words.test(await outcome(page).innerText()), '');
  if (!words.test(await outcome(page).innerText())) console.log(`  it says: ${await outcome(page).innerText()}`);
}
const ends = async () => (await ask('/api/v1/topics/playground')).partitions.map((one) => Number(one.log_end));

for (const { shape, options } of [
  { shape: 'light', options: {} },
  { shape: 'dark', options: { theme: 'dark' } },
  { shape: 'phone', options: { size: kPhone } },
]) {
  await run(`produce, ${shape}`, options, async (page) => {
    const before = (await ends()).reduce((a, b) => a + b, 0);
    await opened(page, '/topics/playground', 'Produce a record…');
    await dialog(page).getByLabel('Key', { exact: true }).fill('anna');
    await dialog(page).getByLabel('Value', { exact: true }).fill('{"by":"the page"}');
    await dialog(page).getByRole('button', { name: 'Add a header' }).click();
    await dialog(page).getByLabel('Header key').fill('from');
    await dialog(page).getByLabel('Header value').fill('e2e');
    expect('it says where the key goes', /murmur2 of the key is/.test(await dialog(page).innerText()));
    await look(page, `produce, ${shape}`);
    await done(page, 'Produce', /offset/i);
    await look(page, `produced, ${shape}`);
    expect('there is one record more', (await ends()).reduce((a, b) => a + b, 0) === before + 1);
    await page.getByRole('link', { name: /^See it/ }).click();
    await page.waitForURL(/tab=records/);
    await page.locator('li.record').first().waitFor();
    expect(
      'and it is read from its offset',
      (await page.locator('li.record').first().innerText()).includes('the page'),
    );
    // A tombstone needs a key.
    await opened(page, '/topics/playground', 'Produce a record…');
    await dialog(page).getByLabel('tombstone').check();
    expect(
      'a tombstone without a key is refused',
      await dialog(page).getByRole('button', { name: 'Produce', exact: true }).isDisabled(),
    );
  });

  await run(`maintain, ${shape}`, { ...options, allowed: [400] }, async (page) => {
    await opened(page, '/topics/playground', 'Roll, retain, compact…');
    await look(page, `maintain, ${shape}`);
    await done(page, 'Do it', /segment|roll|empty/i);
    for (const [title, words] of [
      ['Retain', /segment|delet|nothing/i],
      ['Reindex', /index/i],
      ['Compact', /compact/i],
    ]) {
      await dialog(page)
        .getByRole('radio', { name: new RegExp(`^${title}`) })
        .check();
      await done(page, 'Do it', words);
    }
    await look(page, `what is not compacted is not, ${shape}`);
    await opened(page, '/topics/customers', 'Roll, retain, compact…');
    await dialog(page)
      .getByRole('radio', { name: /^Compact/ })
      .check();
    await done(page, 'Do it', /clean|compact|dirty|record|nothing/i);
  });

  await run(`reset, ${shape}`, { ...options, allowed: [400, 409] }, async (page) => {
    await opened(page, '/groups/resting', 'Reset offsets…');
    await look(page, `reset, ${shape}`);
    await done(page, 'Reset', /is set/);
    const offsets = (await ask('/api/v1/groups/resting')).offsets;
    expect(
      'it goes on at the log start',
      offsets.every((one) => one.committed === one.log_start),
    );
    await dialog(page).locator('select').last().selectOption('offset');
    await dialog(page).getByLabel('Offset that it reads next').fill('no number');
    expect(
      'what is no offset is refused',
      await dialog(page).getByRole('button', { name: 'Reset', exact: true }).isDisabled(),
    );
    await look(page, `reset to an offset, ${shape}`);
    await opened(page, '/groups/reading', 'Reset offsets…');
    expect('it warns of members', (await dialog(page).innerText()).includes('has members'));
    await done(page, 'Reset', /member|active|not empty|refuse/i);
    await look(page, `refused, ${shape}`);
  });

  await run(`partitions, ${shape}`, options, async (page) => {
    const before = (await ends()).length;
    await opened(page, '/topics/playground', 'Add partitions…');
    await soon('it shows keys that move', async () => /Of \d+ keys? of/.test(await dialog(page).innerText()));
    await look(page, `partitions, ${shape}`);
    const wanted = dialog(page).getByRole('spinbutton');
    await wanted.fill(String(before));
    expect(
      'no partition more is refused',
      await dialog(page).getByRole('button', { name: 'Add them', exact: true }).isDisabled(),
    );
    await wanted.fill(String(before + 1));
    await done(page, 'Add them', /partition/i);
    expect('there is one partition more', (await ends()).length === before + 1);
    await look(page, `partitions added, ${shape}`);
  });
}

await end();
