// What browser tests of pages share. run.sh sets HTML_CLIENTS (a folder with node_modules) and CHROMIUM.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const clients = createRequire(`${process.env.HTML_CLIENTS}/`);

let n = 0, bad = 0;

export function ok(good, name, why = '') {
    n++;
    console.log(`${good ? 'ok' : 'not ok'} ${n} - ${name}`);
    if (!good) {
        bad++;
        console.log(String(why).split('\n').slice(0, 20).map(line => `# ${line.slice(0, 300)}`).join('\n'));
    }
}

/* A value that is within `part` of another. */
export function near(value, expected, part, name) {
    ok(Math.abs(value - expected) <= part * Math.abs(expected), name, `${value}, expected ${expected} within ${part}`);
}

export const launch = () => clients('playwright-core').chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'] });

/* A page of a file, whose errors, warnings and requests of other files are collected in page.trouble. */
export async function open(browser, file, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options }), page = await context.newPage(), url = pathToFileURL(file).href;
    page.trouble = [];
    page.on('console', m => ['error', 'warning'].includes(m.type()) && page.trouble.push(`console: ${m.text()}`));
    page.on('pageerror', e => page.trouble.push(`error: ${e}`));
    page.on('request', r => r.url() !== url && !r.url().startsWith('data:') && page.trouble.push(`request: ${r.url()}`));
    await page.goto(url);
    return page;
}

/* Serious and critical findings of axe, as text; '': none. */
export async function axe(page) {
    await page.evaluate(readFileSync(clients.resolve('axe-core/axe.min.js'), 'utf8'));
    const { violations } = await page.evaluate(() => window.axe.run());
    return violations.filter(v => ['serious', 'critical'].includes(v.impact))
        .map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(e => e.html.slice(0, 120)).join(' | ')}`).join('\n');
}

/* Wider than the window: elements that are, '': none. */
export const overflow = page => page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width)
        return '';
    return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > width + 1).slice(0, 8)
        .map(e => `${e.tagName}.${e.className}: ${Math.round(e.getBoundingClientRect().right)} of ${width}`).join('\n');
});

/*
 * Layout of the elements of a selector: [name, column, width], both in twentieths of the window, by position. What a font changes (heights, a line more)
 * does not show.
 */
export const boxes = (page, selector) => page.evaluate(of => {
    const width = document.documentElement.clientWidth, twentieths = v => Math.round(20 * v / width);
    return [...document.querySelectorAll(of)].map(e => [e, e.getBoundingClientRect()]).filter(([, r]) => r.width > 0 && r.height > 0)
        .sort(([, a], [, b]) => Math.round(a.top / 8) - Math.round(b.top / 8) || a.left - b.left)
        .map(([e, r]) => [e.id || e.className || e.tagName.toLowerCase(), twentieths(r.left), twentieths(r.width)]);
}, selector);

/* Stored layouts by name: equal in order, columns and widths within one twentieth. stored is changed where $RECORD is set. */
export function sameBoxes(stored, name, now) {
    if (process.env.RECORD)
        stored[name] = now;
    const then = stored[name] || [], differ = now.map((b, i) => [b, then[i] || []]).filter(([a, b]) => a[0] !== b[0] || Math.abs(a[1] - b[1]) > 1 || Math.abs(a[2] - b[2]) > 1);
    ok(now.length === then.length && differ.length === 0, `${name}: layout as stored`, `${now.length} boxes, stored ${then.length}; now, stored:\n${differ.slice(0, 8).map(d => JSON.stringify(d)).join('\n')}`);
}

/* Pages of the page on A4 paper. */
export async function paper(page) {
    const pdf = await page.pdf({ format: 'A4', printBackground: true, margin: { top: '15mm', bottom: '15mm', left: '12mm', right: '12mm' } });
    return (pdf.toString('latin1').match(/\/Type\s*\/Page\b/g) || []).length;
}

/* Brightness of the colour behind the text, 0 to 255. */
export const brightness = page => page.evaluate(() => {
    const colour = [document.body, document.documentElement].map(e => getComputedStyle(e).backgroundColor).find(c => !/rgba\(.*, 0\)/.test(c));
    if (!colour)
        return matchMedia('(prefers-color-scheme: dark)').matches && /dark/.test(document.querySelector('meta[name=color-scheme]')?.content) ? 0 : 255;
    return colour.match(/\d+/g).slice(0, 3).reduce((sum, v) => sum + Number(v), 0) / 3;
});

/* After the last test. */
export function done() {
    console.log(`1..${n}`);
    process.exitCode = bad > 0 ? 1 : 0;
}
