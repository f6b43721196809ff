// node clients.mjs URL KEY: clients of the OpenAI API against a server that has four sequences and a queue of two. TAP on standard output.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { APICallError, generateText, streamText } from 'ai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { constructLlmApi } from '@continuedev/openai-adapters';

const [url, key] = process.argv.slice(2);
const baseURL = url + '/v1';
let n = 0;
async function test(name, run) {
  n++;
  try {
    await run();
    console.log(`ok ${n} - ${name}`);
  } catch (e) {
    console.log(`not ok ${n} - ${name}`);
    console.log(String(e.stack ?? e).replace(/^/gm, '# '));
  }
}
const metrics = async () => (await fetch(url + '/metrics', { headers: { authorization: `Bearer ${key}` } })).text();
async function running() {
  const text = await metrics();
  return ['running', 'waiting'].reduce((sum, w) => sum + Number(text.match(new RegExp(`^vllm:num_requests_${w}{.*} (.*)$`, 'm'))[1]), 0);
}
async function nothingRuns() {
  for (let i = 0; i < 300 && (await running()) > 0; i++) await new Promise((r) => setTimeout(r, 100));
  assert.equal(await running(), 0);
}
// The error of what must fail.
async function failure(promise) {
  try {
    await promise;
  } catch (e) {
    return e;
  }
  assert.fail('it did not fail');
}
const user = (text) => [{ role: 'user', content: text }];
// A stop text from within an answer, and what comes before it. Of ASCII: bytes that are no UTF-8 arrive as U+FFFD, and are not that.
function middle(text) {
  const stop = text.slice(1).match(/[!-~]{2}/)[0];
  return { stop, before: text.slice(0, text.indexOf(stop)) };
}
const long = { max_tokens: 1900, temperature: 0, ignore_eos: true };

// ---- openai ----
const openai = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
const model = (await openai.models.list()).data[0].id;
const short = { model, messages: user('Hi there'), max_tokens: 24, temperature: 0, ignore_eos: true };
const whole = await openai.chat.completions.create(short);
const text = whole.choices[0].message.content;

await test('openai: a chat: role, length, usage', async () => {
  assert.equal(whole.choices[0].message.role, 'assistant');
  assert.equal(whole.choices[0].finish_reason, 'length');
  assert.equal(whole.usage.completion_tokens, 24);
  assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + 24);
  assert.ok(text.length > 0);
});
await test('openai: a chat that streams: the same text, a usage at the end, no chunk of the role alone', async () => {
  let all = '', usage, finish;
  const stream = await openai.chat.completions.create({ ...short, stream: true, stream_options: { include_usage: true },
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi there' }] }] });
  for await (const c of stream) {
    assert.equal(usage, undefined);
    usage = c.usage ?? undefined;
    assert.equal(c.choices.length, usage ? 0 : 1);
    if (usage) continue;
    assert.equal(typeof c.choices[0].delta.content, 'string');
    all += c.choices[0].delta.content;
    finish = c.choices[0].finish_reason;
  }
  assert.equal(all, text);
  assert.equal(finish, 'length');
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens], [whole.usage.prompt_tokens, 24]);
});
await test('openai: the helper of streams puts the same message together', async () => {
  const m = (await openai.chat.completions.stream(short).finalChatCompletion()).choices[0].message;
  assert.deepEqual([m.role, m.content], ['assistant', text]);
});
await test('openai: stop texts, whole and streaming', async () => {
  const { stop, before } = middle(text);
  const a = await openai.chat.completions.create({ ...short, stop });
  assert.deepEqual([a.choices[0].message.content, a.choices[0].finish_reason], [before, 'stop']);
  let all = '', finish;
  for await (const c of await openai.chat.completions.create({ ...short, stop: ['no such text', stop], stream: true })) {
    all += c.choices[0].delta.content;
    finish = c.choices[0].finish_reason;
  }
  assert.deepEqual([all, finish], [before, 'stop']);
});
await test('openai: completions of token ids, whole and streaming; log probabilities', async () => {
  const q = { model, prompt: [75, 104, 111], max_tokens: 8, temperature: 0, ignore_eos: true, logprobs: 2 };
  const a = await openai.completions.create(q);
  let all = '';
  for await (const c of await openai.completions.create({ ...q, stream: true })) all += c.choices[0].text;
  assert.equal(all, a.choices[0].text);
  assert.equal(a.usage.prompt_tokens, 3);
  assert.equal(a.choices[0].logprobs.token_logprobs.length, 8);
});
await test('openai: refusals are its classes of errors', async () => {
  const bad = await failure(openai.chat.completions.create({ ...short, n: 2 }));
  assert.ok(bad instanceof OpenAI.BadRequestError);
  assert.deepEqual([bad.status, bad.param, bad.type], [400, 'n', 'invalid_request_error']);
  const other = await failure(openai.chat.completions.create({ ...short, model: 'other' }));
  assert.ok(other instanceof OpenAI.NotFoundError);
  const large = await failure(openai.chat.completions.create({ ...short, max_tokens: 99999, stream: true }));
  assert.ok(large instanceof OpenAI.BadRequestError);
  assert.equal(large.code, 'context_length_exceeded');
  const stranger = new OpenAI({ baseURL, apiKey: 'other', maxRetries: 0 });
  const wrong = await failure(stranger.models.list());
  assert.ok(wrong instanceof OpenAI.AuthenticationError);
  assert.deepEqual([wrong.status, wrong.code], [401, 'invalid_api_key']);
});
await test('openai: an abort in the middle of a stream frees the sequence', async () => {
  const abort = new AbortController();
  const stream = await openai.chat.completions.create({ ...short, ...long, stream: true }, { signal: abort.signal });
  let k = 0;
  for await (const c of stream) if (++k === 3) abort.abort();
  assert.ok(k < 1900);
  await nothingRuns();
  const again = await openai.chat.completions.create({ ...short, ...long, stream: true });
  for await (const c of again) break; // leaving the loop aborts
  await nothingRuns();
});
await test('openai: a full queue is an error with status 503; with retries the request is served', async () => {
  const abort = new AbortController();
  const streams = [];
  for (let i = 0; i < 4; i++) { // each runs before the next is sent
    const s = (await openai.chat.completions.create({ ...short, ...long, stream: true, messages: user(`${i}`) }, { signal: abort.signal }))[Symbol.asyncIterator]();
    await s.next();
    streams.push(s);
  }
  const waiting = [0, 1].map((i) => openai.chat.completions.create({ ...short, messages: user(`w${i}`) }, { signal: abort.signal }));
  const ends = Promise.allSettled(waiting);
  for (let i = 0; i < 100 && (await running()) < 6; i++) await new Promise((r) => setTimeout(r, 10));
  const full = await failure(openai.chat.completions.create(short));
  assert.ok(full instanceof OpenAI.InternalServerError);
  assert.equal(full.status, 503);
  const patient = new OpenAI({ baseURL, apiKey: key, maxRetries: 5 });
  const later = patient.chat.completions.create(short);
  setTimeout(() => abort.abort(), 100);
  assert.equal((await later).choices[0].message.content, text);
  await ends;
  await nothingRuns();
});

// ---- ai ----
const provider = createOpenAICompatible({ name: 'roofcast', baseURL, apiKey: key, includeUsage: true });
const options = { maxRetries: 0, temperature: 0, maxOutputTokens: 24, providerOptions: { roofcast: { ignore_eos: true } }, prompt: 'Hi there' };

await test('ai: generateText and streamText: the same text and usage', async () => {
  const a = await generateText({ ...options, model: provider(model) });
  assert.deepEqual([a.text, a.finishReason, a.usage.outputTokens], [text, 'length', 24]);
  assert.equal(a.usage.inputTokens, whole.usage.prompt_tokens);
  const s = streamText({ ...options, model: provider(model) });
  let all = '';
  for await (const d of s.textStream) all += d;
  assert.deepEqual([all, await s.finishReason, (await s.usage).outputTokens], [text, 'length', 24]);
});
await test('ai: stop texts; the model of completions', async () => {
  const { stop, before } = middle(text);
  const a = await generateText({ ...options, model: provider(model), stopSequences: [stop] });
  assert.deepEqual([a.text, a.finishReason], [before, 'stop']);
  const c = await generateText({ ...options, model: provider.completionModel(model) });
  assert.ok(c.text.length > 0);
});
await test('ai: refusals are its error with the status', async () => {
  const e = await failure(generateText({ ...options, model: provider(model), maxOutputTokens: 99999 }));
  assert.ok(APICallError.isInstance(e));
  assert.equal(e.statusCode, 400);
  const stranger = createOpenAICompatible({ name: 'roofcast', baseURL, apiKey: 'other' });
  const wrong = await failure(generateText({ ...options, model: stranger(model) }));
  assert.deepEqual([APICallError.isInstance(wrong), wrong.statusCode], [true, 401]);
});
await test('ai: an abort in the middle of a stream frees the sequence', async () => {
  const abort = new AbortController();
  const s = streamText({ ...options, model: provider(model), maxOutputTokens: 1900, abortSignal: abort.signal, onError: () => {} });
  let k = 0;
  try {
    for await (const d of s.textStream) if (++k === 3) abort.abort();
  } catch (e) {
    assert.equal(e.name, 'AbortError');
  }
  assert.ok(k >= 3 && k < 1900);
  await nothingRuns();
});

// ---- @continuedev/openai-adapters ----
const adapter = constructLlmApi({ provider: 'openai', apiKey: key, apiBase: baseURL + '/' });
const never = new AbortController().signal;

await test('continue: a chat, whole and streaming, with usage', async () => {
  const a = await adapter.chatCompletionNonStream({ ...short }, never);
  assert.equal(a.choices[0].message.content, text);
  let all = '', usage;
  for await (const c of adapter.chatCompletionStream({ ...short, stream: true }, never)) {
    all += c.choices[0]?.delta.content ?? '';
    usage = c.usage ?? usage;
  }
  assert.deepEqual([all, usage.completion_tokens], [text, 24]);
});
await test('continue: completions, whole and streaming; stop texts; its list of models', async () => {
  const q = { model, prompt: 'one two', max_tokens: 24, temperature: 0, ignore_eos: true };
  const a = await adapter.completionNonStream({ ...q }, never);
  let all = '';
  for await (const c of adapter.completionStream({ ...q, stream: true }, never)) all += c.choices[0]?.text ?? '';
  assert.equal(all, a.choices[0].text);
  const { stop, before } = middle(all);
  const stopped = await adapter.completionNonStream({ ...q, stop: [stop] }, never);
  assert.deepEqual([stopped.choices[0].text, stopped.choices[0].finish_reason], [before, 'stop']);
  assert.deepEqual((await adapter.list()).map((m) => m.id), [model]);
});
await test('continue: refusals have the status; an abort in the middle frees the sequence', async () => {
  assert.equal((await failure(adapter.chatCompletionNonStream({ ...short, n: 2 }, never))).status, 400);
  const stranger = constructLlmApi({ provider: 'openai', apiKey: 'other', apiBase: baseURL + '/' });
  assert.equal((await failure(stranger.chatCompletionNonStream({ ...short }, never))).status, 401);
  const abort = new AbortController();
  let k = 0;
  try {
    for await (const c of adapter.chatCompletionStream({ ...short, ...long, stream: true }, abort.signal)) if (++k === 3) abort.abort();
  } catch (e) {
    assert.match(`${e.name} ${e.message}`, /abort/i);
  }
  assert.ok(k >= 3 && k < 1900);
  await nothingRuns();
});
console.log('# done');
process.exit(0); // clients keep connections
