// Figures that step.js computes from a page's data, against `roofcast predict`, at random settings: node coefficients.mjs STEP.js SETTINGS PAGE.html[=HW] ...
// HW: the machine's file, where it is none of the tree's.
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [script, most, ...files] = process.argv.slice(2);
const step = createRequire(import.meta.url)(script);
const TOLERANCE = 1e-3, PER_GROUP = 8;

let seed = 20240229;
const random = n => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor((seed >>> 8) / 2 ** 24 * n);
};

function predict(args) {
    const out = execFileSync(process.env.ROOFCAST, ['predict', ...args.map(String), '-o', 'json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 });
    const doc = JSON.parse(out);
    return doc.rows || doc;
}

let n = 0, worst = 0, bad = 0;
function compare(what, f, row, tokens) {
    const pairs = [['seconds', f.seconds, tokens / row.tok_s], ['tokens/s', f.tok_s, row.tok_s]];
    if (row.spec_kind === null)
        pairs.push(['seconds', f.seconds, row.seconds], ...['weight_bytes', 'kv_bytes', 'act_bytes', 'flop', 'memory_s', 'compute_s'].map(k => [k, f[k], row[k]]));
    n++;
    for (const [key, mine, predicted] of pairs) {
        const off = Math.abs(mine - predicted) / Math.max(Math.abs(predicted), row.seconds && /_s$/.test(key) ? row.seconds : 1e-300);
        worst = Math.max(worst, off || 0);
        if (!(off <= TOLERANCE) && bad++ < 10)
            console.log(`# ${what}: ${key} ${mine}, predict ${predicted}`);
    }
}

/* Settings that share a type, a bandwidth and a prompt: two contexts, two batches, prompt and step; or two numbers of drafts. */
function group(data, hw) {
    const scene = random(data.scenes.length), s = data.scenes[scene], type = random(s.types.length), cache = random(s.types[type].caches.length);
    const state = { scene, type, cache, prompt: random(s.prompt.length), bandwidth: random(s.bandwidth.length), draft: 0, acceptance: random(101) / 100 };
    const pick = list => [random(list.length), random(list.length)];
    const contexts = [random(2) ? random(s.n_ctx - 64) : random(Math.min(3000, s.n_ctx - 64)), random(s.n_ctx - 64)].map(c => c + 20), batches = pick(s.batch);
    const args = [s.model, '--hw', hw || s.machine, '-q', s.types[type].name, '--kv-type', s.types[type].caches[cache].name];
    const speculates = random(3) === 0;
    if (s.bandwidth[state.bandwidth] !== 1 && !speculates) /* a change has no rows with drafts */
        args.push('--what-if', `bandwidth=x${s.bandwidth[state.bandwidth]}`);
    if (speculates)
        return drafted(data, s, { ...state, bandwidth: s.bandwidth.indexOf(1) }, args, contexts, batches);
    const rows = predict([...args, '-p', s.prompt[state.prompt], '-n', 1, '-d', contexts, '-b', batches.map(b => s.batch[b])]);
    const find = (phase, context, batch) => rows.filter(r => r.phase === phase && r.n_depth === context && r.n_batch === s.batch[batch]).pop();
    for (const context of contexts)
        for (const batch of batches) {
            const at = { ...state, context, batch }, what = `${args.join(' ')} -p ${s.prompt[state.prompt]} -d ${context} -b ${s.batch[batch]}`;
            compare(`prefill ${what}`, step.prefill(data, at), find('prefill', context, batch), s.prompt[state.prompt] * s.batch[batch]);
            compare(`decode ${what}`, step.decode(data, at, context), find('decode', context, batch), s.batch[batch]);
        }
}

/* Odd lengths of a generation are the mean of two equal rounds in their middle. */
function drafted(data, s, state, args, contexts, batches) {
    const LENGTH = 41, drafts = [1 + random(s.draft.length - 1)], gammas = drafts.map(d => s.draft[d]);
    const rows = predict([...args, '-p', 0, '-n', LENGTH, '-d', contexts.map(c => c - 20), '-b', batches.map(b => s.batch[b]), '--draft', 'ngram', '--gamma', gammas,
        '--acceptance', state.acceptance]);
    for (const context of contexts)
        for (const batch of batches)
            for (const draft of drafts) {
                const at = { ...state, context, batch, draft }, f = step.decode(data, at, context);
                const row = rows.find(r => r.gamma === s.draft[draft] && r.n_depth === context - 20 && r.n_batch === s.batch[batch]);
                compare(`${s.draft[draft]} drafts ${args.join(' ')} -d ${context} -b ${s.batch[batch]}`, f, row, f.tok_s * f.seconds);
            }
}

/* A setting at its lower bound, which few are: FLOP of the fastest units, at more bandwidth. */
function at_bound({ data }) {
    const scene = data.scenes.findIndex(s => s.model === 'llama-3-8b' && s.machine === 'epyc-9654'), s = data.scenes[scene];
    if (!s)
        return;
    const state = { scene, type: 0, cache: 0, prompt: s.prompt.indexOf(64), batch: s.batch.indexOf(16), bandwidth: s.bandwidth.indexOf(2), context: 0, draft: 0 };
    const rows = predict([s.model, '--hw', s.machine, '-q', s.types[0].name, '-p', 64, '-n', 0, '-b', 16, '--what-if', 'bandwidth=x2']);
    compare('at its bound', step.prefill(data, state), rows.pop(), 64 * 16);
}

/* The 90 % intervals at 512 tokens and batch 1, which are where their factors come from. */
function intervals({ data, hw }) {
    data.scenes.forEach((s, scene) => {
        const state = { scene, type: 0, cache: 0, prompt: s.prompt.indexOf(512), batch: 0, bandwidth: s.bandwidth.indexOf(1), context: 0, draft: 0 }, cache = s.types[0].caches[0];
        const rows = predict([s.model, '--hw', hw || s.machine, '-q', s.types[0].name, '-p', 512, '-n', 1, '-d', [0, 512]]);
        const phases = [['prefill', cache.interval_prefill, step.prefill(data, state)], ['decode', cache.interval_step, step.decode(data, state, 512)]];
        for (const [phase, ends, f] of phases) {
            const row = rows.find(r => r.phase === phase && r.n_depth === (phase === 'decode' ? 512 : 0));
            n++;
            ['seconds_lo', 'seconds_hi'].forEach((key, i) => {
                const mine = ends[i] === null ? null : ends[i] * f.seconds;
                if (!(row[key] === null ? mine === null : Math.abs(mine / row[key] - 1) <= TOLERANCE) && bad++ < 10)
                    console.log(`# ${phase} ${s.model} on ${s.machine}: ${key} ${mine}, predict ${row[key]}`);
            });
        }
    });
}

/* The naive loop: FLOP exact, seconds within 15 %, as they are interpolated. */
function naive_loop({ data, hw }) {
    const LENGTHS = [521, 1500, 5001];
    data.scenes.forEach((s, scene) => {
        const state = { scene, type: 0, cache: 0, prompt: 0, batch: 0, bandwidth: s.bandwidth.indexOf(1), context: 0, draft: 0 };
        const rows = predict([s.model, '--hw', hw || s.machine, '-q', s.types[0].name, '-p', LENGTHS, '-n', 0]);
        LENGTHS.forEach((length, i) => {
            const f = step.naive(data, state, length), off = Math.abs(f.seconds / rows[i].seconds - 1);
            if ((!(off <= 0.15) || !(Math.abs(f.flop / rows[i].flop - 1) <= 1e-9)) && bad++ < 10)
                console.log(`# naive loop of ${length} tokens, ${s.model} on ${s.machine}: ${f.seconds} s, predict ${rows[i].seconds}; FLOP ${f.flop}, ${rows[i].flop}`);
        });
    });
}

const pages = files.map(f => f.split('=')).map(([file, hw]) => {
    const text = readFileSync(file, 'utf8'), data = /<script type="application\/json" id="step-data">([^]*?)<\/script>/.exec(text);
    return { data: JSON.parse(data[1]), hw };
});
at_bound(pages[0]);
pages.slice(0, 2).forEach(intervals);
pages.slice(0, 2).forEach(naive_loop);
for (let i = 0; n < Number(most); i++) {
    const { data, hw } = pages[i % pages.length];
    group(data, hw);
}
console.log(`${bad === 0 ? 'ok' : 'not ok'} - ${n} settings, at most ${worst.toExponential(1)} apart`);
process.exitCode = bad > 0 ? 1 : 0;
