// Plays every guided demo to its end and checks what its last step shows: node e2e/demos.mjs BASE
// The demos are the same on a broker and on `cordwood inspect` of any directory: the engine runs them in memory.
import { kPhone, script, settle } from './browser.mjs';

const { base, ask, run, look, quick, expect, end } = await script('demos');

// What the last step of each must show, whatever else it says: numbers that its story is about, each written once, here.
const ends = {
  append_and_roll: ['segment.ms (30 s)', 'segment 20', 'log end 20 → 21'],
  find_an_offset: ['offset 1000 is not between', 'OFFSET_OUT_OF_RANGE'],
  find_by_time: ['there is no answer', 'offset -1'],
  retention_by_time: ['log start and log end are both 20', 'log start 17 → 20'],
  retention_by_size: ['Segment 22 with its 400 bytes stays', 'log start 11 → 22'],
  lost_position: [
    'committed 3; goes on at 6: offsets 3 to 5 are lost to it',
    'committed 3; goes on at 16: offsets 3 to 15 are lost to it',
    'committed 3; gets an exception, and its position stays',
  ],
  keys_and_partitions: ['The newest record of anna is in partition 3', 'orders-4'],
  compaction: ['4 of 9 kept', '902 became 400', 'cleo'],
  crash_and_recovery: ['The log ends at 12', '0 bytes were cut'],
  a_transaction: ['0, 1, 2, 4, 5, 6', '0, 1, 2, 6', 'producer 8 from offset 4'],
};

const demos = (await ask('/api/v1/demos'))?.rows ?? [];
expect('there are ten demos', demos.length === 10, String(demos.length));
for (const name of Object.keys(ends))
  expect(
    `${name} is there`,
    demos.some((one) => one.name === name),
  );

await run('list', {}, async (page) => {
  await page.goto(`${base}/demos`);
  await page.locator('main li').first().waitFor();
  await settle(page);
  for (const one of demos) {
    expect(`${one.title} is listed`, (await page.getByRole('link', { name: one.title, exact: true }).count()) === 1);
    expect(`with its question`, (await page.locator('main').innerText()).includes(one.question));
  }
  await look(page, 'the list');
  await page.getByRole('link', { name: demos[0].title, exact: true }).click();
  await page.waitForURL(/\/demos\/[^/?]+$/);
});

const spaces = (text) =>
  text
    .replace(/(?<=\d),(?=\d{3})/g, '')
    .replace(/\s+/g, ' ')
    .trim();
const text = async (page) => spaces(await page.locator('main').innerText());

for (const [number, row] of demos.entries()) {
  const theme = number % 2 === 0 ? 'light' : 'dark';
  await run(row.name, { theme }, async (page) => {
    const demo = await ask(`/api/v1/demos/${row.name}`);
    expect(`${row.name} has the steps of the list`, demo.steps.length === row.steps);
    const problem = (at) => `${row.name}, step ${at + 1} of ${demo.steps.length}`;
    await page.clock.install(); // reading takes minutes
    await page.goto(`${base}/demos/${row.name}`);
    await page.locator('#step').waitFor();
    await settle(page);
    // Step by step: each shows its words, its logs, its groups, its facts.
    await quick(page, `${row.name}, stepped through,`, async () => {
      for (const [at, step] of demo.steps.entries()) {
        if (at > 0) await page.keyboard.press('ArrowRight');
        await page.getByText(`step ${at + 1} of ${demo.steps.length}`).waitFor();
        const told = await text(page);
        expect(`${problem(at)}: its title`, spaces(await page.locator('#step').innerText()) === spaces(step.title));
        expect(`${problem(at)}: what it does`, told.includes(spaces(step.does)), step.does);
        expect(`${problem(at)}: what it says`, told.includes(spaces(step.says)), step.says);
        for (const fact of step.facts)
          expect(`${problem(at)}: ${fact.name}`, told.includes(spaces(fact.value)), fact.value);
        for (const group of step.groups)
          expect(`${problem(at)}: ${group.name}`, told.includes(spaces(group.says)), group.says);
        const drawings = page.getByRole('region', { name: /^Log of / });
        expect(`${problem(at)}: its logs`, (await drawings.count()) === step.logs.length);
        if (step.lookup !== null)
          expect(
            `${problem(at)}: the steps of its look-up`,
            (await page.getByRole('list', { name: 'Steps, as the engine took them' }).locator('> li').count()) ===
              step.lookup.steps.length,
          );
        expect(`${problem(at)}: no cost where none was measured`, !told.includes('µs'));
      }
    });
    // Outside of what is timed: axe itself takes long.
    const strange = demo.steps.findIndex((step) => step.lookup !== null || step.logs.some((log) => !log.open));
    if (strange > 0) {
      await page.goto(`${base}/demos/${row.name}?step=${strange + 1}`);
      await page.locator('#step').waitFor();
      await settle(page);
      await look(page, problem(strange));
    }
    // Played from the start to the end by itself.
    await page.keyboard.press('Home');
    await page.getByText(`step 1 of ${demo.steps.length}`).waitFor();
    await page.getByLabel('speed').selectOption('4');
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    expect(`${row.name} plays`, (await page.getByRole('button', { name: 'Pause', exact: true }).count()) === 1);
    for (let i = 1; i < demo.steps.length; i += 1) {
      await page.clock.fastForward(6000); // more than the longest step at this speed
      await page.getByText(`step ${i + 1} of ${demo.steps.length}`).waitFor();
    }
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
    const last = await text(page);
    for (const words of ends[row.name] ?? []) expect(`${row.name} ends with: ${words}`, last.includes(words));
    expect(
      `${row.name}: the step is in the address`,
      new URL(page.url()).searchParams.get('step') === String(row.steps),
    );
    await look(page, problem(row.steps - 1));
    await page.keyboard.press('ArrowLeft');
    await page.getByText(`step ${demo.steps.length - 1} of ${demo.steps.length}`).waitFor();
    // An address opens its step.
    await page.goto(`${base}/demos/${row.name}?step=2`);
    await page.getByText(`step 2 of ${demo.steps.length}`).waitFor();
    expect(
      `${row.name}: an address opens its step`,
      spaces(await page.locator('#step').innerText()) === demo.steps[1].title,
    );
  });
}

await run('a demo that is not there', { allowed: [404] }, async (page) => {
  await page.goto(`${base}/demos/nothing`);
  await page.getByRole('alert').first().waitFor();
  await look(page, 'a demo that is not there');
});

await run('phone', { size: kPhone }, async (page) => {
  await page.goto(`${base}/demos`);
  await page.locator('main li').first().waitFor();
  await look(page, 'phone, the list');
  for (const row of demos) {
    await page.goto(`${base}/demos/${row.name}?step=${row.steps}`);
    await page.locator('#step').waitFor();
    await settle(page);
    await look(page, `phone, ${row.name}`);
  }
});

await end();
