// The page of `roofcast report FILE... -o report.html` in a browser: node page.mjs FOLDER BOXES.json. FOLDER: for the pages, which ROOFCAST writes.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { axe, boxes, brightness, done, launch, ok, open, overflow, paper, sameBoxes } from './lib.mjs';

const [folder, boxesFile] = process.argv.slice(2), top = process.env.top_srcdir;
const stored = JSON.parse(readFileSync(boxesFile, 'utf8'));
const parts = 'h1, h2, .lead, main > section, figure.chart, .table, .filter input';

function roofcast(...args) {
    return execFileSync(process.env.ROOFCAST, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/* A run together with a prediction of its model, and a run whose names are markup. */
function writePages() {
    const run = `${top}/tests/report/run.json`, machine = `${top}/tests/report/curves.json`;
    writeFileSync(`${folder}/p.json`, roofcast('predict', 'smollm2-360m', '-q', 'Q8_0', '--hw', machine, '-o', 'json'));
    const names = JSON.parse(readFileSync(run, 'utf8')), markup = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
    names.provenance.cpu = names.provenance.command = names.rows[0].model = names.rows[1].model = markup;
    names.ops[0].role = '<img onerror=x>';
    names.rows[0].dram_reason = `</script><svg onload=alert(3)>${markup}`;
    writeFileSync(`${folder}/"><b>names.json`, JSON.stringify(names));
    roofcast('report', run, `${folder}/p.json`, '--hw', machine, '-o', `${folder}/page.html`);
    roofcast('report', `${folder}/"><b>names.json`, '-o', `${folder}/names.html`);
    return { page: `${folder}/page.html`, names: `${folder}/names.html` };
}

const column = (table, n) => table.locator(`tbody tr:not([hidden]) > :nth-child(${n})`).allInnerTexts();

async function checkTables(page) {
    const roles = page.locator('#roles-1'), heads = await roles.locator('thead th').allInnerTexts(), seconds = heads.findIndex(h => h.startsWith('time')) + 1;
    const head = roles.locator(`thead th:nth-child(${seconds})`), values = async () => (await roles.locator(`tbody tr > :nth-child(${seconds})`).evaluateAll(c => c.map(e => Number(e.dataset.v))));
    await head.getByRole('button').click();
    const down = await values();
    ok((await head.getAttribute('aria-sort')) === 'descending' && down.every((v, i) => i === 0 || v <= down[i - 1]), 'a click on a head sorts, numbers from the largest', down);
    await head.getByRole('button').press('Enter');
    const up = await values();
    ok((await head.getAttribute('aria-sort')) === 'ascending' && up.every((v, i) => i === 0 || v >= up[i - 1]), 'Enter on it sorts the other way', up);
    await page.getByLabel('Filter rows').first().fill('');
    const filter = page.locator('#roles-1-filter');
    await filter.fill('tg128 ffn_');
    const shown = await column(roles, 2);
    ok(shown.length > 0 && shown.every(r => r.includes('ffn_')), 'the filter shows the rows with all its words', shown);
    ok(/^\d+ of \d+ rows$/.test(await page.locator('output[for="roles-1-filter"]').innerText()), 'and says how many');
    await filter.fill('');
    const cell = roles.locator('tbody td.n').first();
    await cell.scrollIntoViewIfNeeded();
    await cell.hover();
    const tip = await page.locator('#tip').innerText();
    ok(tip.includes(await cell.getAttribute('data-v')) && tip.includes('run.json') && /measured|counted/.test(tip), 'a number says on hover what it is and where it comes from', tip);
}

async function checkKeyboard(page) {
    await page.mouse.move(2, 2);
    await page.keyboard.press('Escape');
    await page.locator('.figure').first().focus();
    ok(/run\.json/.test(await page.locator('#tip').innerText()), 'a figure of the verdict says its provenance on focus', await page.locator('#tip').innerText());
    await page.keyboard.press('Escape');
    ok(await page.locator('#tip').isHidden(), 'Escape closes it');
    const region = page.locator('.table', { has: page.locator('#tests-1') });
    await region.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(200);
    ok((await region.locator('.here').count()) === 1 && await page.locator('#tip').isVisible(), 'arrow keys walk the cells of a table');
    await page.keyboard.press('Escape');
    const focusable = await page.evaluate(() => [...document.querySelectorAll('a, button, input, summary')].every(e => e.tabIndex >= 0));
    ok(focusable, 'every control is reached by Tab');
}

async function checkCharts(page) {
    const charts = page.locator('figure.chart');
    for (let i = 0; i < await charts.count(); i++) {
        const chart = charts.nth(i), name = await chart.getAttribute('id'), box = await chart.locator('svg').boundingBox();
        ok(box && box.width > 200 && box.height > 150 && (await chart.locator('svg path, svg use').count()) > 5, `${name}: the chart is visible`, JSON.stringify(box));
        const key = chart.locator('.keys button').first();
        if ((await key.count()) === 0)
            continue;
        const title = await key.innerText(), series = chart.locator(`g[id*="gnuplot_plot_"]:has(> title:text-is(${JSON.stringify(title)}))`).first();
        await key.press('Enter');
        ok((await key.getAttribute('aria-pressed')) === 'false' && !(await series.isVisible()), `${name}: the key of "${title}" switches the series off`);
        await key.press('Enter');
        ok((await key.getAttribute('aria-pressed')) === 'true', `${name}: and on`);
    }
    const roofline = page.locator('#chart-roofline-1'), prefill = roofline.locator('.keys button', { hasText: /^prefill$/ });
    const labels = () => roofline.evaluate(f => [...f.querySelectorAll('svg g[fill="#b85000"] > text')].filter(e => e.getBoundingClientRect().width > 0).length);
    const before = await labels();
    await prefill.click();
    ok(before > 3 && (await labels()) === 0, 'labels go with their series', `${before}, then ${await labels()}`);
    await prefill.click();
    ok((await labels()) === before, 'and come back');
    ok((await page.locator('.keys button').count()) > 4, 'series have keys');
    const ids = await page.evaluate(() => { const all = [...document.querySelectorAll('[id]')].map(e => e.id); return all.filter((id, i) => all.indexOf(id) !== i); });
    ok(ids.length === 0, 'every id stands once', ids.slice(0, 10));
}

/* What a person with the file alone asks. */
async function checkAnswers(page) {
    const text = async id => page.locator(`#${id}`).innerText();
    ok(/Decode reads [\d.]+ GB\/s, \d+ % of .*memory-bound/.test(await text('verdict')), 'is decode memory-bound', await text('verdict'));
    ok((await page.locator('#changes > ul > li').count()) === 3 && /double the speed/.test(await text('changes')), 'what would double the speed', await text('changes'));
    ok(/energy: /.test(await text('missing')), 'what was not measured', await text('missing'));
}

async function checkNames(browser, file) {
    const page = await open(browser, file);
    const dialogs = [];
    page.on('dialog', d => { dialogs.push(d.message()); d.dismiss(); });
    await page.waitForTimeout(200);
    const made = await page.evaluate(() => document.querySelectorAll('img, b, svg[onload], [onerror]').length + document.querySelectorAll('script').length);
    ok(made === 1, 'names of files, models, roles and machines are text, never elements', `${made} elements`); /* the page's own script */
    ok((await page.innerText('body')).includes('<img src=x onerror=alert(1)>'), 'they are shown as they are');
    ok(dialogs.length === 0 && page.trouble.length === 0, 'none of them runs', [...dialogs, ...page.trouble].join('\n'));
    const blocked = await page.evaluate(async () => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = 1';
        document.body.append(script);
        return window.ran === undefined;
    });
    ok(blocked, 'the content security policy blocks other scripts');
    await page.close();
}

async function checkLayout(browser, file) {
    for (const width of [320, 768, 1280]) {
        const page = await open(browser, file, { viewport: { width, height: 900 } });
        const wide = await overflow(page);
        ok(wide === '', `page ${width} px: nothing is wider than the window`, wide);
        sameBoxes(stored, `page ${width}`, await boxes(page, parts));
        await page.close();
    }
}

async function checkModes(browser, file) {
    for (const colorScheme of ['light', 'dark']) {
        const page = await open(browser, file, { colorScheme });
        const found = await axe(page);
        ok(found === '', `page ${colorScheme}: axe finds nothing serious`, found);
        ok(colorScheme === 'dark' === (await brightness(page) < 128), `page ${colorScheme}: the ground is ${colorScheme}`, await brightness(page));
        await page.close();
    }
    const page = await open(browser, file);
    const n = await paper(page);
    ok(n === 3, 'printed: three pages', n);
    await page.close();
    const still = await open(browser, file, { javaScriptEnabled: false });
    ok((await still.locator('#verdict .figure').first().getAttribute('title')).length > 10, 'without scripts figures have their provenance as titles');
    await still.close();
}

const browser = await launch();
try {
    const files = writePages(), page = await open(browser, files.page);
    ok((await page.getAttribute('.skip', 'href')) === '#verdict', 'the skip link leads to the first section');
    await checkAnswers(page);
    await checkTables(page);
    await checkKeyboard(page);
    await checkCharts(page);
    ok(page.trouble.length === 0, 'page: no errors in the console, no requests', page.trouble.join('\n'));
    await page.close();
    await checkNames(browser, files.names);
    await checkLayout(browser, files.page);
    await checkModes(browser, files.page);
} catch (e) {
    ok(false, 'the script came to its end', e.stack);
}
await browser.close();
if (process.env.RECORD)
    writeFileSync(boxesFile, `{\n${Object.entries(stored).map(([k, v]) => ` ${JSON.stringify(k)}: [\n${v.map(b => `  ${JSON.stringify(b)}`).join(',\n')}\n ]`).join(',\n')}\n}\n`);
done();
