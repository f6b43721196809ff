// "Step through one request" in a browser: node step.mjs PAGE.html FIGURES.json BOXES.json. FIGURES.json: `predict -o json` of settings, see run.sh.
import { readFileSync, writeFileSync } from 'node:fs';
import { axe, boxes, brightness, done, launch, near, ok, open, overflow, paper, sameBoxes } from './lib.mjs';

const [file, figuresFile, boxesFile] = process.argv.slice(2);
const stored = JSON.parse(readFileSync(boxesFile, 'utf8'));
const parts = '#step h2, #step fieldset, #step .step-slider, #step .step-walk, #step .step-says, #step .step-why, #step .step-bar, #step .step-track, #step .step-scroll';

const text = (page, name) => page.locator('.step-figures tr', { has: page.locator(`th:text-is("${name}")`) }).locator('td').first().innerText();

/* "42.4 ms": seconds. */
function seconds(shown) {
    const [v, unit] = shown.split(' ');
    return Number(v) * { s: 1, ms: 1e-3, 'µs': 1e-6 }[unit];
}

/* Moves a slider by keys, until it reads `value`. */
async function slide(page, id, value) {
    await page.focus(`#${id}`);
    await page.keyboard.press('Home');
    for (let i = 0; i < 200 && !(await page.getAttribute(`#${id}`, 'aria-valuetext')).startsWith(value); i++)
        await page.keyboard.press('ArrowRight');
    const now = await page.getAttribute(`#${id}`, 'aria-valuetext');
    if (!now.startsWith(value))
        throw new Error(`${id} reads "${now}", never ${value}`);
}

async function check_figures(page) {
    for (const f of JSON.parse(readFileSync(figuresFile, 'utf8'))) {
        for (const [id, value] of Object.entries(f.sliders))
            await slide(page, id, value);
        const name = JSON.stringify(f.sliders), pass = f.phase === 'prefill' ? 'prompt' : 'decode step 1';
        await page.focus('#step-at');
        await page.keyboard.press('Home');
        if (f.phase === 'decode')
            await page.keyboard.press('ArrowRight');
        ok(await page.getAttribute('#step-at', 'aria-valuetext') === pass, `${name}: ${pass} by keyboard`);
        near(seconds(await text(page, 'Time')), f.seconds, 0.006, `${name}: seconds of the ${f.phase} as predict prints them`); /* three digits are shown */
        near(Number(await text(page, 'Tokens/s')), f.tok_s, 0.006, `${name}: tokens/s`);
    }
}

async function check_steps(page) {
    await slide(page, 'step-prompt', '512');
    await slide(page, 'step-batch', '1 ');
    await page.focus('#step-at');
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: 'Next step' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    ok((await page.innerText('.step-says')).startsWith('Decode step 2 takes'), 'Enter on a button steps, and the sentence says so', await page.innerText('.step-says'));
    ok((await page.locator('.step-passes tbody tr').count()) === 3, 'a row a pass');
    ok((await text(page, 'Tokens so far')) === '514' && (await text(page, 'Input of this pass')).startsWith('[1, '), 'tokens so far, and the input of a step',
        `${await text(page, 'Tokens so far')}, ${await text(page, 'Input of this pass')}`);
    await page.focus('#step-naive');
    await page.keyboard.press('Space');
    const repeated = await page.locator('.step-figures tr', { hasText: 'Work repeated' }).innerText();
    ok(/FLOP, (9\d|100)/.test(repeated), 'the naive loop repeats nearly all of its work', repeated);
    ok((await page.locator('.step-bar').count()) === 6, 'its bars stand below');
    await page.getByRole('button', { name: 'Play' }).click();
    await page.waitForFunction(() => document.querySelector('#step-at').value > 3);
    await page.getByRole('button', { name: 'Pause' }).click();
    const at = await page.inputValue('#step-at');
    await page.waitForTimeout(1200); /* two steps of Play */
    ok((await page.inputValue('#step-at')) === at, 'Play steps by itself, Pause ends it', `${at}, then ${await page.inputValue('#step-at')}`);
    await page.focus('#step-naive');
    await page.keyboard.press('Space');
}

async function check_scenes(page) {
    const select = page.locator('#step-scene');
    for (let i = 0; i < await select.locator('option').count(); i++) {
        await select.selectOption(String(i));
        const figures = await page.locator('.step-figures td').allInnerTexts();
        ok(figures.length > 10 && !figures.some(f => /NaN|undefined|unavailable|Infinity/.test(f)), `model and machine ${i + 1}: every figure is there`, figures.join(' | '));
    }
    await select.selectOption('0');
}

/* Another machine or model: the same pass and settings, and the software is named. */
async function check_kept(page) {
    await slide(page, 'step-prompt', '1,024');
    await slide(page, 'step-batch', '8 ');
    await slide(page, 'step-cache', 'Q8_0');
    await slide(page, 'step-type', 'F16');
    await slide(page, 'step-at', 'decode step 2');
    const values = async () => (await Promise.all(['prompt', 'batch', 'cache', 'type', 'at'].map(id => page.getAttribute(`#step-${id}`, 'aria-valuetext')))).join(', ');
    const before = await values(), first = await page.innerText('.step-says');
    await page.locator('#step-scene').selectOption('1');
    const second = await page.innerText('.step-says');
    ok(await values() === before && before.endsWith('decode step 2'), 'another machine keeps the pass and the settings', `${before}; ${await values()}`);
    ok(/with llama\.cpp-cuda\./.test(first) && /with vllm\./.test(second), 'the sentence names the software', `${first}\n${second}`);
    const other = await page.innerText('.step-software');
    ok(/Other software on .*: llama\.cpp-cuda\. Differences include it/.test(other), 'other software of the other machine is said', other);
    const why = await page.innerText('.step-why');
    ok(/^A decode pass reads all (\S+ GB) of weights for 8 tokens: one read of the weights serves 8 sequences; the prompt read the same \1 for 8,192 tokens\.$/.test(why), 'why a step costs what it does', why);
    const each = await text(page, 'Per token of this pass'), all = seconds(await text(page, 'Time'));
    near(8 * seconds(each.split(',')[0]), all, 0.01, 'seconds per token');
    await slide(page, 'step-at', 'prompt');
    ok(/above the ridge point of .* compute-bound/.test(await page.innerText('.step-why')), 'the prompt: its intensity against the ridge point', await page.innerText('.step-why'));
    await page.locator('#step-scene').selectOption('0');
}

/* Whether memory and compute are both idle is said with the seconds of the table. */
async function check_idle(page) {
    await slide(page, 'step-batch', '1 ');
    await slide(page, 'step-at', 'decode step 1');
    const overhead = await text(page, 'Overhead (both idle)'), says = await page.innerText('.step-says');
    ok(says.includes(`both idle for ${overhead.replace(' (', ' of it (')}`), 'the sentence says for how long both are idle', `${says} ${overhead}`);
}

async function check_skip(page) {
    const to = await page.getAttribute('.skip', 'href');
    ok(to.length > 1 && (await page.locator(to).count()) === 1, 'the skip link leads to a section of the page', to);
}

async function check_layout(browser) {
    for (const width of [320, 768, 1280]) {
        const page = await open(browser, file, { viewport: { width, height: 900 } });
        const wide = await overflow(page);
        ok(wide === '', `${width} px: nothing is wider than the window`, wide);
        sameBoxes(stored, `step ${width}`, await boxes(page, parts));
        await page.close();
    }
}

async function check_modes(browser) {
    for (const colorScheme of ['light', 'dark']) {
        const page = await open(browser, file, { colorScheme });
        await page.locator('#step-naive').check();
        const found = await axe(page);
        ok(found === '', `${colorScheme}: axe finds nothing serious`, found);
        ok(colorScheme === 'dark' === (await brightness(page) < 128), `${colorScheme}: the ground is ${colorScheme}`, await brightness(page));
        await page.close();
    }
    const page = await open(browser, file);
    const n = await paper(page);
    ok(n >= 1 && n <= 2, 'printed: two pages at most', n);
    await slide(page, 'step-batch', '4 ');
    await page.emulateMedia({ media: 'print' });
    const shown = await page.locator('#step').innerText();
    ok(/Batch: 4 sequences; .* Pass: prompt\./.test(shown) && /The prompt, .* takes/.test(shown) && /Arithmetic intensity/.test(shown) && (await page.locator('.step-bar:visible').count()) === 3
        && await page.locator('.step-controls').isHidden(), 'printed: settings, sentence, bars and table of the present pass', shown);
    await page.close();
}

const browser = await launch();
try {
    const page = await open(browser, file);
    await check_skip(page);
    await check_figures(page);
    await check_steps(page);
    await check_scenes(page);
    await check_kept(page);
    await check_idle(page);
    ok(page.trouble.length === 0, 'no errors in the console, no requests', page.trouble.join('\n'));
    await check_layout(browser);
    await check_modes(browser);
} catch (e) {
    ok(false, 'the script came to its end', e.stack);
}
await browser.close();
if (process.env.RECORD)
    writeFileSync(boxesFile, `{\n${Object.entries(stored).map(([k, v]) => ` ${JSON.stringify(k)}: [\n${v.map(b => `  ${JSON.stringify(b)}`).join(',\n')}\n ]`).join(',\n')}\n}\n`);
done();
