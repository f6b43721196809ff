/*
 * "Step through one request": figures of a pass from the data of the section (doc/formats.md, "step-data"), then the controls.
 *
 * The first part has no page and runs in node too: bytes and FLOP of an op list (src/cost/cost.c), seconds from features and constants
 * (src/timing/timing.c). Formulas: doc/methods.md. All constants are in the data.
 */
'use strict';

const roofcastStep = (() => {
    /* ---- bytes and FLOP: an op as a form, in a pass {tokens, past, sequences, outputs} ------------------------ */

    const value = (form, name) => form[name] || 0;

    /* Keys that t tokens after `past` see in all: token i sees min(past + i + 1, window). */
    function keysInWindow(t, past, window) {
        const open = window > 0 ? Math.min(t, Math.max(0, window - past)) : t;
        return open * past + open * (open + 1) / 2 + (t - open) * window;
    }

    function keysOfChunks(n, chunk) {
        const whole = Math.floor(n / chunk), rest = n - whole * chunk;
        return whole * chunk * (chunk + 1) / 2 + rest * (rest + 1) / 2;
    }

    function keysSeen(form, t, past) {
        const window = value(form, 'window');
        if (form.chunked && window > 0)
            return keysOfChunks(past + t, window) - keysOfChunks(past, window);
        return keysInWindow(t, past, window > 0 ? window : value(form, 'n_top'));
    }

    /* Positions of the cache that they read. */
    function keysPresent(form, t, past) {
        const window = value(form, 'window');
        if (form.chunked && window > 0)
            return past + t - Math.floor(past / window) * window;
        if (value(form, 'n_top') > 0)
            return Math.min(past + t, keysSeen(form, t, past));
        return window > 0 ? Math.min(past + t, window + t - 1) : past + t;
    }

    /* Tokens that the op works on; 0: no logits wanted, or the other form of latent attention runs. */
    function tokensOf(form, pass) {
        if (form.form) {
            const t = pass.tokens / pass.sequences;
            const expands = t > 1 && t * (pass.past + t / 2) > pass.past * value(form, 'form_tok');
            if ((form.form === 'expanded') !== expands)
                return 0;
        }
        return form.out_rows ? pass.outputs : pass.tokens;
    }

    /* Different experts of n that are used by so many tokens, k each. (16) */
    function expertsTouched(n, k, tokens) {
        if (tokens <= 1 || k >= n)
            return tokens > 0 ? k : 0;
        return -n * Math.expm1(tokens * Math.log1p(-k / n));
    }

    const noCost = () => ({ weight_bytes: 0, act_bytes: 0, kv_bytes: 0, flop: 0 });

    /* Of one op. */
    function costOf(form, pass) {
        const tokens = tokensOf(form, pass), seqs = pass.sequences, of = name => value(form, name);
        if (!(tokens > 0))
            return noCost();
        const t = pass.tokens / seqs, seen = keysSeen(form, t, pass.past), present = keysPresent(form, t, pass.past);
        const experts = of('weight_expert') > 0 ? of('weight_expert') * expertsTouched(of('n_expert'), of('n_expert_used'), tokens) : 0;
        return {
            weight_bytes: of('weight') + of('weight_tok') * tokens + experts,
            act_bytes: (of('act_in_tok') + of('act_out_tok')) * tokens + of('act_present') * seqs * present + of('act_score') * tokens * present,
            kv_bytes: of('kv_tok') * tokens + of('kv_seq') * seqs + of('kv_present') * seqs * present,
            flop: of('flop_tok') * tokens + seqs * (of('flop_seen') * seen + of('flop_present') * present),
        };
    }

    function addCost(sum, cost, times) {
        for (const key of Object.keys(sum))
            sum[key] += times * cost[key];
        return sum;
    }

    /* Of all ops. */
    function passCost(data, cache, pass) {
        const sum = noCost();
        for (const i of cache.forms)
            addCost(sum, costOf(data.forms[i], pass), data.forms[i].count);
        return sum;
    }

    /* The passes of a prompt: at most n_ubatch tokens each, over all sequences; only the last wants logits. */
    function promptPasses(prompt, depth, sequences, ubatch) {
        const most = Math.max(1, Math.floor(ubatch / sequences)), passes = [];
        for (let at = 0; at < prompt; at += most) {
            const t = Math.min(most, prompt - at);
            passes.push({ tokens: t * sequences, past: depth + at, sequences, outputs: t === prompt - at ? sequences : 0 });
        }
        return passes;
    }

    /* The same as at most two, with how often: those of equal tokens at their mean depth, then the last. */
    function promptGroups(passes) {
        const equal = passes.slice(0, -1), groups = [];
        if (equal.length > 0) {
            const past = Math.round(equal.reduce((sum, p) => sum + p.past, 0) / equal.length);
            groups.push({ pass: { ...equal[equal.length - 1], past }, times: equal.length });
        }
        groups.push({ pass: passes[passes.length - 1], times: 1 });
        return groups;
    }

    /* Lower bound: every op at the bandwidth or at the fastest units that can multiply its operands. (27) */
    function leastSeconds(data, cache, pass, bandwidth) {
        const read = cache.held_bytes + cache.held_position * (pass.past * pass.sequences + pass.tokens);
        const cached = read > 0 && read <= cache.llc_pass_bytes;
        let sum = 0;
        for (const i of cache.forms) {
            const form = data.forms[i], cost = costOf(form, pass);
            const memory = cached ? 0 : (cost.weight_bytes + cost.kv_bytes) / (cache.bytes_s * bandwidth);
            sum += form.count * Math.max(memory, cost.flop / form.fastest);
        }
        return sum;
    }

    /* ---- features at a context ------------------------------------------------------------------------------ */

    /* A number, or knots [x0, y0, x1, y1, ...]. */
    function columnAt(column, x) {
        if (!Array.isArray(column))
            return column;
        let low = 0, high = column.length / 2 - 1;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (column[2 * middle] <= x)
                low = middle;
            else
                high = middle;
        }
        const [x0, y0, x1, y1] = column.slice(2 * low, 2 * low + 4);
        if (x1 === undefined || x <= x0)
            return y0;
        return x >= x1 ? y1 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    }

    function named(names, columns, data, x) {
        const out = {};
        names.forEach((name, i) => {
            out[name] = columnAt(data.columns[columns[i]], x);
        });
        return out;
    }

    /* {case, n_pass, n_seq, host_s, terms: [{kind, compute_s, memory_s, ...}]} */
    function featuresAt(data, number, context) {
        const [segments, calls] = data.settings[number];
        let segment = segments[0];
        for (const s of segments)
            if (s[0] <= context)
                segment = s;
        const n = data.names.phase.length, features = named(data.names.phase, segment.slice(2, 2 + n), data, context);
        features.case = segment[1];
        features.terms = segment[2 + n].map(i => {
            const [kind, ...columns] = data.terms[i];
            return { kind, ...named(data.names.term, columns, data, context) };
        });
        features.calls = calls;
        return features;
    }

    /* Attention with its own constants: all calls of a class, as a term. (46) */
    function attentionTerm(data, cache, call, pass, bandwidth) {
        let at = 1;
        while (at + 2 < call.length && call[at + 2] <= pass.past)
            at += 2;
        const a = {}, form = data.forms[cache.forms[call[0]]], cost = costOf(form, pass);
        data.names.attend.forEach((name, i) => {
            a[name] = data.attends[call[at + 1]][i];
        });
        const keys = cost.flop / a.flop_key, splits = Math.max(1, Math.min(a.most_splits, Math.ceil(keys / a.split_keys - 1e-9)));
        const waves = Math.max(1, Math.ceil(a.units * splits / a.processors));
        const start = a.start_s + (splits > 1 ? a.combine_s + a.split_s * splits : 0);
        const memory = (cost.kv_bytes + cost.act_bytes) * a.byte_s / bandwidth, compute = keys * a.compute_key_s;
        const scan = waves * (a.block_s + a.key_s * a.tile_keys * Math.ceil(keys / splits / a.tile_keys - 1e-9));
        const norm = Math.pow(Math.pow(memory, a.sharp) + Math.pow(scan, a.sharp) + Math.pow(compute, a.sharp), 1 / a.sharp);
        return {
            kind: 'alone', alone_s: form.count * (start + norm), start_s: form.count * start,
            memory_s: form.count * Math.max(memory, scan), compute_s: form.count * compute,
        };
    }

    /* ---- seconds: features under constants, which are logarithms. (35), (62) ---------------------------------- */

    /* Smooth cap at 1. */
    const fraction = ln => Math.exp(ln) / Math.pow(1 + Math.exp(16 * ln), 1 / 16);

    function smoothMax(a, b, c, p) {
        const top = Math.max(a, b, c);
        return top > 0 ? top * Math.pow(Math.pow(a / top, p) + Math.pow(b / top, p) + Math.pow(c / top, p), 1 / p) : 0;
    }

    /* Seconds of a term beyond its launches, its memory and compute sides, and its launches. */
    function termSeconds(x, k, memory, p) {
        const launched = x.launched * Math.exp(k.launch);
        switch (x.kind) {
        case 'product':
        case 'expert_product': {
            const experts = x.kind === 'expert_product', factor = experts ? Math.exp(k.expert) : 1;
            const compute = factor * x.compute_s / Math.exp(k.compute), vector = factor * x.vector_s * Math.exp(k.vector);
            return {
                seconds: smoothMax(compute, factor * memory, vector, p), memory: factor * memory, compute: Math.max(compute, vector),
                launch: launched * (experts ? Math.exp(k.launch_expert) : 1),
            };
        }
        case 'attention': {
            const compute = x.compute_s / Math.exp(k.attention), heads = x.heads_s * Math.exp(k.heads), cache = memory * Math.exp(k.kv);
            const scan = x.scanned * Math.exp(k.walk);
            return { seconds: smoothMax(compute, cache, heads, p) + scan, memory: cache + scan, compute: Math.max(compute, heads), launch: launched };
        }
        case 'other': {
            const small = memory * Math.exp(k.small);
            return { seconds: small, memory: small, compute: 0, launch: launched * Math.exp(k.launch_small) };
        }
        case 'alone':
            return { seconds: x.alone_s - x.start_s, memory: x.memory_s, compute: x.compute_s, launch: x.start_s };
        default: /* staged */
            return { seconds: memory, memory, compute: 0, launch: launched };
        }
    }

    /* memory: memory seconds over those now; staged: the same of bytes between kernels. */
    function evaluate(features, k, memory, staged) {
        const p = 1 + Math.exp(k.sharpness), bandwidth = fraction(k.bandwidth);
        const sum = { seconds: features.n_pass * Math.exp(k.step) + features.n_seq * Math.exp(k.sequence) + features.host_s, memory_s: 0, compute_s: 0 };
        for (const x of features.terms) {
            const t = termSeconds(x, k, x.memory_s * (x.kind === 'staged' ? staged : memory) / bandwidth, p);
            sum.seconds += t.seconds + t.launch;
            sum.memory_s += t.memory;
            sum.compute_s += t.compute;
        }
        sum.seconds *= Math.exp(k.request);
        return sum;
    }

    function keepAbove(sum, least) {
        const times = Math.max(1, least / sum.seconds);
        return { seconds: sum.seconds * times, memory_s: sum.memory_s * times, compute_s: sum.compute_s * times };
    }

    /*
     * A phase at setting [index of prompt or drafts][index of batch] and a context. groups: its passes, with how often; the last one is a step's.
     * Returns {seconds, memory_s, compute_s}.
     */
    function phaseSeconds(data, scene, cache, phase, i, batch, context, width, groups) {
        const entry = cache[phase][i][batch], bandwidth = scene.bandwidth[width], scales = cache['memory_' + phase];
        const now = scales && !Array.isArray(entry), memory = now ? scales[width] : 1, staged = now ? 1 / bandwidth : 1;
        const features = featuresAt(data, Array.isArray(entry) ? entry[width] : entry, context);
        for (const call of features.calls)
            features.terms.push(attentionTerm(data, cache, call, groups[groups.length - 1].pass, bandwidth));
        const cases = cache.constants[cache.constants.length > 1 ? width : 0], k = data.constants[cases[features.case]];
        const sum = evaluate(features, k, memory, staged);
        if (cache.guessed) {
            sum.memory_s *= Math.exp(k.request);
            sum.compute_s *= Math.exp(k.request);
        }
        if (cache.measured || cache.guessed)
            return sum;
        return keepAbove(sum, groups.reduce((least, g) => least + g.times * leastSeconds(data, cache, g.pass, bandwidth), 0));
    }

    /* ---- a request, step by step ----------------------------------------------------------------------------- */

    /*
     * state: {scene, type, cache, prompt, batch, draft, bandwidth: indices; context: tokens in the cache before the prompt;
     * acceptance: chance that a drafted token is right}
     */
    function settingOf(data, state) {
        const scene = data.scenes[state.scene], type = scene.types[state.type], cache = type.caches[state.cache];
        return { scene, type, cache, sequences: scene.batch[state.batch], prompt: scene.prompt[state.prompt], drafts: scene.draft[state.draft] };
    }

    /* Mean tokens of a round with so many drafted ones. (53) */
    function tokensOfRound(drafts, acceptance) {
        let more = 1, mean = 1;
        for (let j = 0; j < drafts; j++) {
            more *= acceptance;
            mean += more;
        }
        return mean;
    }

    function figures(s, state, cost, sum, tokens, rows, past) {
        const bytes = cost.weight_bytes + cost.kv_bytes, bandwidth = s.cache.bytes_s * s.scene.bandwidth[state.bandwidth];
        return {
            ...cost, ...sum, tokens, rows, past, tok_s: tokens / sum.seconds,
            memory_waits_s: Math.max(0, sum.seconds - sum.memory_s), compute_waits_s: Math.max(0, sum.seconds - sum.compute_s),
            mbu: bytes / sum.seconds / bandwidth, mfu: cost.flop / sum.seconds / s.cache.peak_flop_s,
        };
    }

    /* The prompt's passes together: what `predict -p PROMPT -d CONTEXT -b BATCH` prints. */
    function prefill(data, state) {
        const s = settingOf(data, state), passes = promptPasses(s.prompt, state.context, s.sequences, s.cache.n_ubatch);
        const cost = passes.reduce((sum, p) => addCost(sum, passCost(data, s.cache, p), 1), noCost());
        const sum = phaseSeconds(data, s.scene, s.cache, 'prefill', state.prompt, state.batch, state.context, state.bandwidth, promptGroups(passes));
        return { ...figures(s, state, cost, sum, s.prompt * s.sequences, s.prompt, state.context), passes: passes.length, drafts: 0 };
    }

    /* A decode step, or a verification of drafts, after `past` tokens: `predict -n 1 -d PAST -b BATCH`. */
    function decode(data, state, past) {
        const s = settingOf(data, state), rows = s.drafts + 1, tokens = rows * s.sequences;
        const pass = { tokens, past, sequences: s.sequences, outputs: tokens }, cost = passCost(data, s.cache, pass);
        const sum = phaseSeconds(data, s.scene, s.cache, 'step', state.draft, state.batch, past, state.bandwidth, [{ pass, times: 1 }]);
        return { ...figures(s, state, cost, sum, tokensOfRound(s.drafts, state.acceptance) * s.sequences, rows, past), passes: 1, drafts: s.drafts };
    }

    /* Between the seconds of two prompts, on a line of logarithms. */
    function between(low, high, n) {
        const part = high.n > low.n ? Math.log(n / low.n) / Math.log(high.n / low.n) : 0, out = {};
        for (const key of ['seconds', 'memory_s', 'compute_s'])
            out[key] = low[key] > 0 && high[key] > 0 ? low[key] * Math.pow(high[key] / low[key], part) : low[key] + (high[key] - low[key]) * part;
        return out;
    }

    function promptSeconds(data, s, state, i, depth) {
        const n = s.scene.prompt[i], passes = promptPasses(n, depth, s.sequences, s.cache.n_ubatch);
        const context = Math.min(depth, s.scene.n_ctx);
        return { n, ...phaseSeconds(data, s.scene, s.cache, 'prefill', i, state.batch, context, state.bandwidth, promptGroups(passes)) };
    }

    /* Of n tokens in one pass, any number: interpolated between prompts of the slider. */
    function anyPrompt(data, s, state, n, depth) {
        const high = s.scene.prompt.findIndex(p => p >= n), last = s.scene.prompt.length - 1;
        const top = promptSeconds(data, s, state, high < 0 ? last : high, depth);
        return top.n === n || high === 0 ? top : between(promptSeconds(data, s, state, high < 0 ? last - 1 : high - 1, depth), top, n);
    }

    /* Without a KV cache: a pass over all n tokens, for one new token. Bytes and FLOP are exact, seconds interpolated. */
    function naive(data, state, n) {
        const s = settingOf(data, state), passes = promptPasses(n, 0, s.sequences, s.cache.n_ubatch);
        const cost = passes.reduce((sum, p) => addCost(sum, passCost(data, s.cache, p), 1), noCost());
        const sum = { seconds: 0, memory_s: 0, compute_s: 0 };
        for (const g of promptGroups(passes)) {
            const part = anyPrompt(data, s, state, g.pass.tokens / s.sequences, g.pass.past);
            for (const key of Object.keys(sum))
                sum[key] += g.times * part[key];
        }
        return { ...figures(s, state, cost, sum, s.sequences, n, 0), passes: passes.length, drafts: 0 };
    }

    /* Tokens of each sequence in the cache before step 1, 2, ... after the prompt. */
    function pastOfStep(data, state, step) {
        const s = settingOf(data, state);
        return Math.round(state.context + s.prompt + (step - 1) * tokensOfRound(s.drafts, state.acceptance));
    }

    /* Step 0: the prompt; 1, 2, ...: decode steps. {cached, naive: null where it is not wanted or does the same} */
    function stepAt(data, state, step, compares) {
        if (step === 0) {
            const cached = prefill(data, state);
            return { cached, naive: compares && state.context > 0 ? naive(data, state, state.context + cached.rows) : null };
        }
        const past = pastOfStep(data, state, step);
        return { cached: decode(data, state, past), naive: compares ? naive(data, state, past + 1) : null };
    }

    return { stepAt, prefill, decode, naive, pastOfStep, settingOf, tokensOfRound };
})();

/* ---- the section of a page ------------------------------------------------------------------------------------- */

const roofcastStepPage = (step => {
    const MOST_STEPS = 256, MOST_ROWS = 8;

    /* ---- numbers in words ------------------------------------------------------------------------------------ */

    const prefixes = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

    function digits(v) {
        return v >= 99.95 || v === 0 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2);
    }

    function amount(v, unit) {
        if (!Number.isFinite(v))
            return 'unavailable';
        let i = 0;
        while (v >= 999.5 && i < prefixes.length - 1) {
            v /= 1000;
            i++;
        }
        return `${digits(v)} ${prefixes[i]}${unit}`;
    }

    function duration(s) {
        if (!Number.isFinite(s))
            return 'unavailable';
        return s >= 1 ? `${digits(s)} s` : s >= 1e-3 ? `${digits(s * 1e3)} ms` : `${digits(s * 1e6)} µs`;
    }

    function percent(v) {
        if (!Number.isFinite(v))
            return 'unavailable';
        const places = v >= 0.995 && v < 0.9995 ? 1 : 0;
        return `${v >= 0.1 || v === 0 ? (100 * v).toFixed(places) : (100 * v).toPrecision(2)} %`;
    }

    const whole = v => Math.round(v).toLocaleString('en-US');

    /* ---- elements: texts are text, never markup ---------------------------------------------------------------- */

    function element(tag, attributes, ...children) {
        const e = document.createElement(tag);
        for (const [name, v] of Object.entries(attributes || {}))
            if (v !== false && v !== undefined)
                e.setAttribute(name, v === true ? '' : v);
        e.append(...children);
        return e;
    }

    function row(cells, attributes) {
        return element('tr', attributes, ...cells.map((c, i) => element(i === 0 ? 'th' : 'td', i === 0 ? { scope: 'row' } : {}, c)));
    }

    function head(cells) {
        return element('thead', {}, element('tr', {}, ...cells.map(c => element('th', { scope: 'col' }, c))));
    }

    /* ---- sliders --------------------------------------------------------------------------------------------- */

    /* key: of the state; stops: how many; text: of the present value, as shown and as read aloud. */
    const sliders = [
        { key: 'prompt', label: 'Prompt', stops: x => x.scene.prompt.length, text: x => `${whole(x.prompt)} tokens` },
        { key: 'context', label: 'Context before it', stops: x => mostContext(x) + 1, stride: x => Math.max(1, Math.ceil(x.scene.n_ctx / 512)), text: (x, s) => `${whole(s.context)} tokens` },
        { key: 'batch', label: 'Batch', stops: x => x.scene.batch.length, text: x => x.sequences === 1 ? '1 sequence' : `${x.sequences} sequences` },
        { key: 'type', label: 'Weights', stops: x => x.scene.types.length, text: x => x.type.name },
        { key: 'cache', label: 'KV cache', stops: x => x.type.caches.length, text: x => x.cache.name },
        { key: 'draft', label: 'Speculation', stops: x => x.scene.draft.length, text: x => x.drafts === 0 ? 'off' : `${x.drafts} drafted tokens` },
        { key: 'acceptance', label: 'Accepted drafts', stops: () => 101, text: (x, s) => `${Math.round(100 * s.acceptance)} %`, scale: 100 },
        { key: 'bandwidth', label: 'Memory bandwidth', stops: x => x.scene.bandwidth.length,
          text: (x, s) => { const by = x.scene.bandwidth[s.bandwidth]; return `× ${by}: ${amount(by * x.cache.bytes_s, 'B/s')}`; } },
    ];

    function mostContext(x) {
        return Math.max(0, x.scene.n_ctx - x.prompt - MOST_STEPS);
    }

    function firstState(data, scene) {
        const s = data.scenes[scene], at = (list, v) => Math.max(0, list.indexOf(v));
        const prompt = s.prompt.filter(n => n <= 512).length - 1;
        return { scene, type: 0, cache: 0, prompt: Math.max(0, prompt), context: 0, batch: 0, draft: 0, acceptance: 0.7, bandwidth: at(s.bandwidth, 1) };
    }

    /* Other models and types have other stops. */
    function keepWithin(data, state) {
        const type = data.scenes[state.scene].types[state.type] || data.scenes[state.scene].types[0];
        state.type = Math.min(state.type, data.scenes[state.scene].types.length - 1);
        state.cache = Math.min(state.cache, type.caches.length - 1);
        state.context = Math.min(state.context, mostContext(step.settingOf(data, state)));
    }

    function makeSlider(view, s) {
        const id = `step-${s.key}`, output = element('output', { for: id, id: `${id}-text` });
        const input = element('input', { type: 'range', id, min: 0 });
        input.addEventListener('input', () => {
            view.state[s.key] = Number(input.value) / (s.scale || 1);
            show(view);
        });
        view.inputs[s.key] = { input, output };
        return element('div', { class: 'step-slider' }, element('label', { for: id }, s.label), output, input);
    }

    function showSliders(view, x) {
        for (const s of sliders) {
            const { input, output } = view.inputs[s.key], text = s.text(x, view.state);
            input.max = s.stops(x) - 1;
            input.step = s.stride ? s.stride(x) : 1;
            input.value = view.state[s.key] * (s.scale || 1);
            input.disabled = s.stops(x) < 2 || (s.key === 'acceptance' && x.drafts === 0);
            input.setAttribute('aria-valuetext', text);
            output.textContent = text;
        }
    }

    /* ---- one pass --------------------------------------------------------------------------------------------- */

    function inputOf(f, x) {
        const n = f.rows * x.sequences;
        return `[${whole(n)}, ${whole(x.scene.n_embd)}]`;
    }

    /* Only the logits of each sequence's newest token, or of its drafts, are computed. */
    function outputOf(f, x) {
        const tokens = f.drafts > 0 ? `${digits(f.tokens / x.sequences)} tokens on average` : '1 token';
        return x.sequences > 1 ? `${tokens}, each of ${x.sequences} sequences` : tokens;
    }

    /* Seconds in which neither side works: launches of kernels, the host. */
    const neither = f => Math.max(0, f.seconds - Math.max(f.memory_s, f.compute_s));

    function why(f) {
        const of = s => `${duration(s)} of it (${percent(s / f.seconds)})`;
        if (neither(f) > Math.max(f.memory_s, f.compute_s))
            return `Launches of kernels and the host take the most: memory and the compute units both wait for ${of(neither(f))}.`;
        return f.memory_s >= f.compute_s ? `Memory is the longer side: the compute units wait ${of(f.compute_waits_s)}.`
            : `Compute is the longer side: memory waits ${of(f.memory_waits_s)}.`;
    }

    function says(x, f, now) {
        const what = now === 0 ? `The prompt, ${whole(f.rows * x.sequences)} tokens in ${f.passes === 1 ? 'one pass' : `${f.passes} passes`},`
            : x.drafts > 0 ? `Round ${now}, ${x.drafts} drafted tokens verified in one pass,` : `Decode step ${now}`;
        return `${what} takes ${duration(f.seconds)}${now === 0 ? ', the time to first token' : ''}. ${why(f)}`;
    }

    /* Name and text of each figure. */
    const figures = [
        ['Tokens so far', (f, x) => whole((f.past + f.rows) * x.sequences)],
        ['Input of this pass', inputOf],
        ['Output of this pass', (f, x) => outputOf(f, x)],
        ['Weight bytes read', f => amount(f.weight_bytes, 'B')],
        ['KV cache bytes', f => amount(f.kv_bytes, 'B')],
        ['Activation bytes', f => amount(f.act_bytes, 'B')],
        ['FLOP', f => amount(f.flop, 'FLOP')],
        ['Arithmetic intensity', f => amount(f.flop / (f.weight_bytes + f.kv_bytes + f.act_bytes), 'FLOP/byte')],
        ['Time', f => duration(f.seconds)],
        ['Memory time', f => duration(f.memory_s)],
        ['Compute time', f => duration(f.compute_s)],
        ['Compute units wait', f => `${duration(f.compute_waits_s)} (${percent(f.compute_waits_s / f.seconds)})`],
        ['Memory waits', f => `${duration(f.memory_waits_s)} (${percent(f.memory_waits_s / f.seconds)})`],
        ['Neither works', f => `${duration(neither(f))} (${percent(neither(f) / f.seconds)})`],
        ['Memory bandwidth used (MBU)', f => percent(f.mbu)],
        ['Peak FLOP/s used (MFU)', (f, x) => x.cache.math ? `${percent(f.mfu)} of ${amount(x.cache.peak_flop_s, 'FLOP/s')} ${x.cache.math.toUpperCase()}` : 'unavailable'],
        ['Tokens/s', f => digits(f.tok_s)],
    ];

    function showFigures(view, x, now) {
        const { cached, naive } = now, two = view.naive.checked;
        const body = figures.map(([name, text]) => row(two ? [name, text(cached, x), naive ? text(naive, x) : 'the same'] : [name, text(cached, x)]));
        if (two) {
            const again = naive ? Math.max(0, naive.flop - cached.flop) : 0;
            body.push(row(['Work repeated', 'none', naive ? `${amount(again, 'FLOP')}, ${percent(again / naive.flop)} of the pass` : 'none yet']));
        }
        view.figures.replaceChildren(element('caption', {}, 'This pass'), head(two ? ['', 'with KV cache', 'naive, without'] : ['', 'value']), element('tbody', {}, ...body));
    }

    function bar(name, seconds, longest, className) {
        const fill = element('span', { class: `step-fill ${className}` });
        fill.style.width = `${Math.min(100, 100 * seconds / longest)}%`;
        return element('div', { class: 'step-bar' }, element('span', { class: 'step-bar-name' }, name), element('span', { class: 'step-track', 'aria-hidden': 'true' }, fill),
            element('span', { class: 'step-bar-text' }, duration(seconds)));
    }

    function showBars(view, now) {
        const parts = [['', now.cached]]; /* the naive loop's below */
        if (view.naive.checked && now.naive)
            parts.push([', naive', now.naive]);
        const longest = Math.max(...parts.map(p => p[1].seconds));
        view.bars.replaceChildren(...parts.flatMap(([of, f]) => [bar(`Pass${of}`, f.seconds, longest, 'step-pass'), bar(`Memory${of}`, f.memory_s, longest, 'step-memory'),
            bar(`Compute${of}`, f.compute_s, longest, 'step-compute')]));
    }

    /* A pass of the present settings, computed once. */
    function passAt(view, i) {
        const of = JSON.stringify([view.state, view.naive.checked]);
        if (view.known.of !== of)
            view.known = { of, passes: new Map() };
        if (!view.known.passes.has(i))
            view.known.passes.set(i, step.stepAt(view.data, view.state, i, view.naive.checked));
        return view.known.passes.get(i);
    }

    /* ---- the passes so far -------------------------------------------------------------------------------------- */

    function showPasses(view, x) {
        const first = Math.max(0, view.step - MOST_ROWS + 1), two = view.naive.checked, rows = [];
        let seconds = 0, naive = 0;
        for (let i = 0; i <= view.step; i++) {
            const at = passAt(view, i);
            seconds += at.cached.seconds;
            naive += (at.naive || at.cached).seconds;
            if (i < first)
                continue;
            const cells = [i === 0 ? 'prompt' : `step ${i}`, inputOf(at.cached, x), whole(at.cached.past), duration(at.cached.seconds), duration(seconds)];
            rows.push(row(two ? [...cells, duration((at.naive || at.cached).seconds), duration(naive)] : cells));
        }
        const heads = ['pass', 'input', 'cached', 'time', 'total'];
        view.passes.replaceChildren(element('caption', {}, `Passes so far${first > 0 ? `, the last ${MOST_ROWS}` : ''}`),
            head(two ? [...heads, 'naive', 'total'] : heads), element('tbody', {}, ...rows));
    }

    /* ---- all ----------------------------------------------------------------------------------------------------- */

    function show(view) {
        keepWithin(view.data, view.state);
        const x = step.settingOf(view.data, view.state), most = Math.min(MOST_STEPS, Math.max(1, x.scene.n_ctx - view.state.context - x.prompt));
        view.step = Math.min(view.step, most);
        while (view.step > 0 && step.pastOfStep(view.data, view.state, view.step) >= x.scene.n_ctx)
            view.step--;
        const now = passAt(view, view.step), name = view.step === 0 ? 'prompt' : `decode step ${view.step}`;
        showSliders(view, x);
        view.at.max = most;
        view.at.value = view.step;
        view.at.setAttribute('aria-valuetext', name);
        view.atText.textContent = name;
        view.back.disabled = view.step === 0;
        view.next.disabled = view.step >= most;
        view.says.textContent = says(x, now.cached, view.step);
        view.software.textContent = `${x.scene.model} ${x.type.name} on ${x.scene.machine_name || x.scene.machine}; software: ${x.type.stack || 'efficiency factors of the profile'}.`;
        showBars(view, now);
        showFigures(view, x, now);
        showPasses(view, x);
    }

    function go(view, to) {
        view.step = Math.max(0, to);
        show(view);
    }

    function play(view) {
        const stop = () => {
            clearInterval(view.timer);
            view.timer = 0;
            view.playing.textContent = 'Play';
        };
        if (view.timer)
            return stop();
        view.playing.textContent = 'Pause';
        view.timer = setInterval(() => {
            if (view.next.disabled)
                return stop();
            go(view, view.step + 1);
        }, 500);
    }

    function button(text, action) {
        const b = element('button', { type: 'button' }, text);
        b.addEventListener('click', action);
        return b;
    }

    function makeScenes(view) {
        const select = element('select', { id: 'step-scene' }, ...view.data.scenes.map((s, i) => element('option', { value: i }, `${s.model} on ${s.machine_name || s.machine}`)));
        select.addEventListener('change', () => {
            view.state = { ...firstState(view.data, Number(select.value)) };
            go(view, 0);
        });
        return element('div', { class: 'step-slider' }, element('label', { for: 'step-scene' }, 'Model and machine'), select);
    }

    function makeWalk(view) {
        view.at = element('input', { type: 'range', id: 'step-at', min: 0, value: 0 });
        view.at.addEventListener('input', () => go(view, Number(view.at.value)));
        view.atText = element('output', { for: 'step-at' });
        view.back = button('Back', () => go(view, view.step - 1));
        view.next = button('Next step', () => go(view, view.step + 1));
        view.playing = button('Play', () => play(view));
        view.naive = element('input', { type: 'checkbox', id: 'step-naive' });
        view.naive.addEventListener('change', () => show(view));
        return element('div', { class: 'step-walk' }, element('div', { class: 'step-slider' }, element('label', { for: 'step-at' }, 'Pass'), view.atText, view.at),
            element('div', { class: 'step-buttons' }, view.back, view.next, view.playing,
                element('span', {}, view.naive, element('label', { for: 'step-naive' }, 'compare with the naive loop, which has no KV cache'))));
    }

    function start(body, data) {
        const view = { data, state: firstState(data, 0), inputs: {}, step: 0, timer: 0, known: {} };
        view.software = element('p', { class: 'step-software' });
        view.says = element('p', { class: 'step-says', 'aria-live': 'polite' });
        view.bars = element('div', { class: 'step-bars' });
        view.figures = element('table', { class: 'step-figures' });
        view.passes = element('table', { class: 'step-passes' });
        const controls = element('fieldset', { class: 'step-controls' }, element('legend', {}, 'Request and machine'),
            ...(data.scenes.length > 1 ? [makeScenes(view)] : []), ...sliders.map(s => makeSlider(view, s)));
        body.replaceChildren(controls, makeWalk(view), view.software, view.says, view.bars,
            element('div', { class: 'step-tables' }, element('div', { class: 'step-scroll', tabindex: 0, role: 'group', 'aria-label': 'Figures of this pass' }, view.figures),
                element('div', { class: 'step-scroll', tabindex: 0, role: 'group', 'aria-label': 'Passes so far' }, view.passes)),
            element('p', { class: 'step-note' }, 'Seconds of the naive loop are interpolated between prompts of the slider, within 10 % of predict; its bytes and FLOP are exact. The drafter of speculation runs no passes of its own (n-grams).'));
        show(view);
        return view;
    }

    return { start };
})(roofcastStep);

if (typeof module === 'object')
    module.exports = roofcastStep;
else if (document.getElementById('step-data'))
    roofcastStepPage.start(document.getElementById('step-body'), JSON.parse(document.getElementById('step-data').textContent));
