#!/usr/bin/env python3
"""Load on an OpenAI-compatible server, measured as vLLM's `bench serve` does.

Times of a request: TTFT is the first message of the stream whose `choices` is not empty; every later one of them is an ITL sample; the latency ends
with the last of them. Usage is read from a message with empty `choices`. Lines that begin with ":" are comments. A status other than 200 is a
failure. The clock of a request starts when the concurrency allows it. TPOT = (latency - TTFT) / (tokens - 1).

  client.py --url http://127.0.0.1:8080 -n 100 --rate 4 --prompt-tokens 128 --max-tokens 64 [--chat] [--max-concurrency 16] [--save FILE]

Prints one JSON object with the keys of vLLM's result file, and decode_throughput (tokens/s while all streams generate), and what the client measured
less what the server says of itself, median over requests (median_ttft_minus_server_ms, of the prompt's time; median_itl_minus_server_ms).
"""
import argparse
import asyncio
import json
import random
import sys
import time

import aiohttp


class Result:
    def __init__(self):
        self.ok = False
        self.error = ""
        self.ttft = 0.0
        self.itl = []
        self.latency = 0.0
        self.start = 0.0
        self.queued = 0.0
        self.text = ""
        self.n_in = 0
        self.n_out = 0
        self.n_messages = 0
        self.finish = None
        self.role_only = 0
        self.server = None


class Messages:
    """The messages of a stream of server-sent events from pieces of bytes."""

    def __init__(self):
        self.buffer = ""

    def feed(self, piece):
        self.buffer += piece.decode("utf-8", errors="surrogateescape")
        found = []
        while "\n\n" in self.buffer:
            message, self.buffer = self.buffer.split("\n\n", 1)
            if message.strip():
                found.append(message.strip())
        return found


def payload_of(args, prompt):
    body = {"model": args.model, "stream": True, "stream_options": {"include_usage": True}, "ignore_eos": args.ignore_eos,
            "temperature": args.temperature, "repetition_penalty": 1.0}
    if args.chat:
        body["messages"] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
        body["max_completion_tokens"] = args.max_tokens
    else:
        body.update({"prompt": prompt, "max_tokens": args.max_tokens, "logprobs": None})
    body.update(json.loads(args.extra))
    return body


def take_message(result, message, now, last):
    """Books one message; returns the time of the last token message."""
    if message.startswith(":"):
        return last
    chunk = message.removeprefix("data: ")
    if chunk == "[DONE]":
        return last
    data = json.loads(chunk)
    if "error" in data:
        result.error = data["error"]["message"]
        return last
    if choices := data.get("choices"):
        if result.n_messages == 0:
            result.ttft = now - result.start
        else:
            result.itl.append(now - last)
        result.n_messages += 1
        delta = choices[0].get("delta")
        text = delta.get("content") if delta is not None else choices[0].get("text")
        if text is None:
            result.role_only += 1
        result.text += text or ""
        result.finish = choices[0].get("finish_reason") or result.finish
        last = now
    elif usage := data.get("usage"):
        result.n_in = usage["prompt_tokens"]
        result.n_out = usage["completion_tokens"]
    result.server = data.get("timings") or result.server
    return last


async def request(session, args, prompt, gate, index):
    result = Result()
    asked = time.perf_counter()
    path = "/v1/chat/completions" if args.chat else "/v1/completions"
    headers = {"x-request-id": f"client-{index}"}
    if args.api_key:
        headers["Authorization"] = f"Bearer {args.api_key}"
    async with gate:
        result.start = last = time.perf_counter()
        result.queued = result.start - asked
        try:
            async with session.post(args.url + path, json=payload_of(args, prompt), headers=headers) as reply:
                if reply.status != 200:
                    result.error = f"{reply.status} {await reply.text()}"
                    return result
                messages = Messages()
                async for piece in reply.content.iter_any():
                    for message in messages.feed(piece):
                        last = take_message(result, message, time.perf_counter(), last)
            result.latency = last - result.start
            result.ok = result.n_messages > 0 and not result.error
            if not result.ok and not result.error:
                result.error = "no message with choices"
        except (aiohttp.ClientError, asyncio.TimeoutError, json.JSONDecodeError, KeyError) as e:
            result.error = f"{type(e).__name__}: {e}"
    return result


def delays(args, rng):
    """Seconds from the start; the last is n / rate, as vLLM rescales them."""
    if args.rate == float("inf"):
        return [0.0] * args.n
    gaps = [rng.gammavariate(args.burstiness, 1 / (args.rate * args.burstiness)) for _ in range(args.n)]
    at, total = [], 0.0
    for gap in gaps:
        total += gap
        at.append(total)
    return [t * (args.n / args.rate) / total for t in at]


def prompts(args, rng):
    if args.prompt:
        return [args.prompt] * args.n
    if args.chat:
        return [" ".join(rng.choice(["a", "bc", "abc", "ab"]) for _ in range(args.prompt_tokens)) for _ in range(args.n)]
    return [[rng.randrange(args.first_token, args.first_token + args.token_range) for _ in range(args.prompt_tokens)] for _ in range(args.n)]


def quantile(values, q):
    """numpy's linear interpolation."""
    if not values:
        return 0.0
    v = sorted(values)
    at = q * (len(v) - 1)
    low = int(at)
    return v[low] + (v[min(low + 1, len(v) - 1)] - v[low]) * (at - low)


def spread(name, values):
    mean = sum(values) / len(values) if values else 0.0
    sd = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5 if values else 0.0
    return {f"mean_{name}_ms": mean * 1e3, f"median_{name}_ms": quantile(values, 0.5) * 1e3, f"std_{name}_ms": sd * 1e3,
            f"p99_{name}_ms": quantile(values, 0.99) * 1e3}


def busiest(done):
    """Tokens/s while all streams generate: from the last one's first token to the first one's last. Requires all of them at once; else 0."""
    begin = max((r.start + r.ttft for r in done), default=0.0)
    end = min((r.start + r.latency for r in done), default=0.0)
    n = 0.0
    for r in done:
        t, each = r.start + r.ttft, r.n_out / r.n_messages  # a message may hold several tokens
        for gap in r.itl:
            t += gap
            n += each if begin < t <= end else 0
    return n / (end - begin) if end > begin else 0.0


def server_differences(done):
    """What the client measures less what the server says (llama-server's `timings`), a request: seconds of TTFT, and of the mean time between tokens."""
    said = [(r, r.server) for r in done if r.server and r.n_messages > 1]
    ttft = [r.ttft - t["prompt_ms"] / 1e3 for r, t in said]
    itl = [(sum(r.itl) - t["predicted_ms"] / 1e3) / (r.n_messages - 1) for r, t in said if t["predicted_ms"] > 0]
    return ttft, itl


def summary(results, duration, detailed):
    done = [r for r in results if r.ok]
    tpot = [(r.latency - r.ttft) / (r.n_out - 1) for r in done if r.n_out > 1]
    out = {"duration": duration, "completed": len(done), "failed": len(results) - len(done), "total_input_tokens": sum(r.n_in for r in done),
           "total_output_tokens": sum(r.n_out for r in done), "request_throughput": len(done) / duration,
           "output_throughput": sum(r.n_out for r in done) / duration, "role_only_messages": sum(r.role_only for r in results)}
    out.update(spread("ttft", [r.ttft for r in done]))
    out.update(spread("tpot", tpot))
    out.update(spread("itl", [t for r in done for t in r.itl]))
    out.update(spread("e2el", [r.latency for r in done]))
    ttft, itl = server_differences(done)
    out.update({"decode_throughput": busiest(done), "median_ttft_minus_server_ms": quantile(ttft, 0.5) * 1e3 if ttft else None,
                "median_itl_minus_server_ms": quantile(itl, 0.5) * 1e3 if itl else None})
    if detailed:
        out.update({"input_lens": [r.n_in for r in results], "output_lens": [r.n_out for r in results], "ttfts": [r.ttft for r in results],
                    "itls": [r.itl for r in results], "latencies": [r.latency for r in results], "start_times": [r.start for r in results],
                    "queue_times": [r.queued for r in results], "generated_texts": [r.text for r in results],
                    "errors": [r.error for r in results], "finish_reasons": [r.finish for r in results],
                    "timings": [r.server for r in results]})
    return out


async def load(args):
    rng = random.Random(args.seed)
    gate = asyncio.Semaphore(args.max_concurrency or args.n)
    at, texts = delays(args, rng), prompts(args, rng)
    connector = aiohttp.TCPConnector(limit=0, limit_per_host=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=args.timeout)) as session:
        if not args.model:
            headers = {"Authorization": f"Bearer {args.api_key}"} if args.api_key else {}
            async with session.get(args.url + "/v1/models", headers=headers) as reply:
                args.model = (await reply.json())["data"][0]["id"]
        start = time.perf_counter()
        tasks = []
        for i in range(args.n):
            wait = start + at[i] - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            tasks.append(asyncio.create_task(request(session, args, texts[i], gate, i)))
        results = await asyncio.gather(*tasks)
        return summary(results, time.perf_counter() - start, args.save_detailed)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--url", required=True)
    p.add_argument("--model", default="", help="default: the first of /v1/models")
    p.add_argument("--api-key", default="")
    p.add_argument("--chat", action="store_true")
    p.add_argument("-n", type=int, default=10, help="requests")
    p.add_argument("--rate", type=float, default=float("inf"), help="requests a second")
    p.add_argument("--burstiness", type=float, default=1.0)
    p.add_argument("--max-concurrency", type=int, default=0)
    p.add_argument("--prompt", default="", help="one text for all; default: random token ids (chats: words)")
    p.add_argument("--prompt-tokens", type=int, default=32)
    p.add_argument("--first-token", type=int, default=100)
    p.add_argument("--token-range", type=int, default=100)
    p.add_argument("--max-tokens", type=int, default=16)
    p.add_argument("--temperature", type=float, default=0.0)
    p.add_argument("--ignore-eos", action="store_true")
    p.add_argument("--extra", default="{}", help="more fields of the body, JSON")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--timeout", type=float, default=3600)
    p.add_argument("--save-detailed", action="store_true")
    args = p.parse_args()
    out = asyncio.run(load(args))
    json.dump(out, sys.stdout)
    print()
    return 0 if out["failed"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
