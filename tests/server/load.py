#!/usr/bin/env python3
"""Many clients of one server at once, some of them bad: what each gets, and what the server keeps.

  load.py --url http://127.0.0.1:8080 --key KEY --pid PID --seconds 20 [--streams 200] [--tokens 120] [--seed 1] [--no-memory]

First every prompt, with a tag of its own, is asked alone, under a salt of its own. Then STREAMS clients ask them again and again, at random lengths, all at once: read to the
end, slowly, whole; hang up in the middle, reset, close their own side. Others send what is no request, ask without the key, or connect and say
nothing. At the end streams are under way while the server gets SIGTERM. Needs a server whose answers do not depend on the load, to the bit: --batch-invariant.
TAP on standard output.
"""
import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import struct
import sys
import time
from urllib.parse import urlsplit

N_PROMPT = 48
TROUBLE = 24    # clients besides the streams
READ_S = 120    # without a byte: the stream does not end


class Ended(Exception):
    """The connection ended before the reply did."""


class Connection:
    """HTTP/1.1 by hand: what is sent, when, and how it ends is the test's."""

    @classmethod
    async def open(cls, args, buffer=0):
        c = cls()
        s = socket.socket()
        s.setblocking(False)
        if buffer:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        try:
            await asyncio.get_running_loop().sock_connect(s, (args.host, args.port))
            c.reader, c.writer = await asyncio.open_connection(sock=s, limit=4096 if buffer else 1 << 16)
        except OSError:
            s.close()
            raise
        c.args = args
        return c

    def send(self, path, body, key=None, method="POST"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        key = self.args.key if key is None else key
        self.writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)

    async def line(self):
        text = await asyncio.wait_for(self.reader.readline(), READ_S)
        if not text.endswith(b"\n"):
            raise Ended
        return text.strip()

    async def head(self):
        """Status; what follows is chunks or a body of self.length bytes."""
        status = int((await self.line()).split()[1])
        self.length, self.chunked = 0, False
        while text := (await self.line()).lower():
            if text.startswith(b"content-length:"):
                self.length = int(text.split(b":")[1])
            self.chunked |= text.startswith(b"transfer-encoding:")
        return status

    async def body(self):
        try:
            if not self.chunked:
                return await asyncio.wait_for(self.reader.readexactly(self.length), READ_S)
            return b"".join([piece async for piece in self.chunks()])
        except asyncio.IncompleteReadError:
            raise Ended from None

    async def chunks(self):
        while size := int(await self.line(), 16):
            try:
                yield (await asyncio.wait_for(self.reader.readexactly(size + 2), READ_S))[:-2]
            except asyncio.IncompleteReadError:
                raise Ended from None
        await self.line()

    async def events(self):
        left = b""
        async for piece in self.chunks():
            left += piece
            while b"\n\n" in left:
                event, left = left.split(b"\n\n", 1)
                if not event.startswith(b":"):
                    yield event.removeprefix(b"data: ")

    def close(self, reset=False):
        s = self.writer.get_extra_info("socket")
        if reset and s is not None:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.close()


class Load:
    def __init__(self, args):
        self.args, self.rng = args, random.Random(args.seed)
        self.want = []       # of every prompt alone: token ids, text
        self.wrong = []      # what went wrong, in words
        self.count = {}      # of every way to end
        self.end_s = 0

    def note(self, what):
        self.count[what] = self.count.get(what, 0) + 1

    def fault(self, what):
        self.note("fault")
        if len(self.wrong) < 20:
            self.wrong.append(what)

    def request(self, i, n, **more):
        # The same tokens for all but one, the tag, each at a place of its own: blocks before it are shared, from it on not. Every second is sampled.
        prompt = [100 + 37 * k % 300 for k in range(1 + N_PROMPT + i % 7)]
        prompt[1 + i] = 450 + i
        return {"prompt": prompt, "max_tokens": n, "ignore_eos": True, "return_token_ids": True, "seed": i, "temperature": 0.8 if i % 2 else 0, **more}

    def check(self, i, n, ids, text, how):
        """The answer to prompt i of n tokens, or its beginning."""
        want_ids, want_text = self.want[i]
        if ids != want_ids[:len(ids)] or (n and len(ids) != n):
            owner = [k for k, (other, _) in enumerate(self.want) if len(ids) > 8 and other[:8] == ids[:8]]
            self.fault(f"{how}: prompt {i}: {len(ids)} of {n} tokens, not those it gets alone{f', those of prompt {owner}' if owner else ''}")
        if not want_text.startswith(text.rstrip("\ufffd")):  # the end may lack bytes of a character
            self.fault(f"{how}: prompt {i}: not the text it gets alone")

    async def read_stream(self, c, i, n, how, hang_up=0, pause_s=0.0):
        """Reads the answer to the end, or hang_up events of it. Returns the number of events."""
        ids, text, name, finish, k = [], "", None, None, 0
        async for event in c.events():
            if event == b"[DONE]":
                name = None
                continue
            data = json.loads(event)
            if "error" in data:
                raise Ended(data["error"]["message"])
            if name not in (None, data["id"]):
                self.fault(f"{how}: prompt {i}: events of two answers")
            name, choice = data["id"], data["choices"][0]
            ids += choice["token_ids"]
            text += choice["text"]
            finish = choice["finish_reason"]
            k += 1
            if k == hang_up:
                break
            if pause_s:
                await asyncio.sleep(pause_s)
        if not hang_up and (finish != "length" or name is not None):
            self.fault(f"{how}: prompt {i}: the stream has no end")
        self.check(i, 0 if hang_up else n, ids, text, how)
        return k

    # ---- streams ----

    async def stream(self, c, rng, how):
        """One request on c; returns the connection if it can go on."""
        i, n = rng.randrange(N_PROMPT), rng.randint(8, self.args.tokens)
        c.send("/v1/completions", self.request(i, n, stream=how != "whole"))
        if how == "half-close":
            await c.writer.drain()
            c.writer.write_eof()
        status = await c.head()
        if status == 503:
            await c.body()
            await asyncio.sleep(rng.uniform(0.05, 0.2))
            how = "half-close, full" if how == "half-close" else "full"
        elif status != 200:
            self.fault(f"{how}: status {status}: {await c.body()}")
        elif how == "whole":
            choice = json.loads(await c.body())["choices"][0]
            self.check(i, n, choice["token_ids"], choice["text"], how)
        elif how in ("hang up", "reset"):
            await self.read_stream(c, i, n, how, hang_up=rng.randint(1, n))
            c.close(how == "reset")
            c = None
        else:
            await self.read_stream(c, i, n, how, pause_s=rng.uniform(0.005, 0.02) if how == "slow" else 0)
        self.note(how)
        if c and (how.startswith("half-close") or rng.random() < 0.3):
            c.close()
            c = None
        return c

    async def client(self, seed):
        rng, c = random.Random(seed), None
        while time.monotonic() < self.end_s:
            how = rng.choices(["read", "whole", "slow", "hang up", "reset", "half-close"], [60, 8, 6, 12, 7, 7])[0]
            if c and how == "slow":
                c.close()
                c = None
            try:
                c = c or await Connection.open(self.args, 2048 if how == "slow" else 0)
                c = await self.stream(c, rng, how)
                continue
            except asyncio.TimeoutError:  # before OSError, which it is
                self.fault(f"{how}: nothing for {READ_S} s")
            except (Ended, OSError) as e:
                # Who closes his side has hung up, as far as the server can tell.
                self.note("half-close, cut") if how == "half-close" else self.fault(f"{how}: {type(e).__name__} {e}")
            if c:
                c.close()
            c = None
        if c:
            c.close()

    # ---- trouble ----

    async def expect(self, c, want, what):
        status = await c.head()
        body = await c.body()
        if status != want or "error" not in json.loads(body):
            self.fault(f"{what}: status {status}, not {want}: {body[:100]}")
        self.note(what)

    async def trouble(self, rng):
        c = await Connection.open(self.args)
        try:
            await self.trouble_on(c, rng)
        finally:
            c.close(rng.random() < 0.5)

    async def trouble_on(self, c, rng):
        path, ask = "/v1/completions", self.request(rng.randrange(N_PROMPT), 4)
        match rng.randrange(12):
            case 0:
                c.send(path, ask, key=self.args.key[:-1] + rng.choice("!?")); await self.expect(c, 401, "wrong key")
            case 1:
                c.send(path, b"", key="", method="GET"); await self.expect(c, 401, "no key")
            case 2:
                c.send(path, json.dumps(ask).encode()[:-rng.randint(1, 20)]); await self.expect(c, 400, "half of a body")
            case 3:
                c.send(path, rng.randbytes(200)); await self.expect(c, 400, "no JSON")
            case 4:
                c.send(path, {**ask, "n": 2}); await self.expect(c, 400, "n = 2")
            case 5:
                c.send(path, {**ask, "max_tokens": 10**6}); await self.expect(c, 400, "too long")
            case 6:
                c.send("/v1/other", ask); await self.expect(c, 404, "no such path")
            case 7:
                c.send(path, b"", method="PUT"); await self.expect(c, 405, "no such method")
            case 8:  # headers, or a body, that never come whole
                c.writer.write(f"POST {path} HTTP/1.1\r\nAuthorization: Bearer {self.args.key}\r\nContent-Length: 99\r\n{rng.choice(['', chr(13) + chr(10) + '{'])}".encode())
                await asyncio.sleep(rng.uniform(0.2, 3))
                self.note("half a request")
            case 9:  # or nothing at all, for longer than the server waits, where there is the time
                await asyncio.wait([asyncio.ensure_future(c.reader.read())], timeout=min(rng.choice([1, 3, 45]), max(0.1, self.end_s - time.monotonic())))
                self.note("silence")
            case 10:  # a line that is no request
                c.writer.write(rng.randbytes(rng.randint(1, 300)) + b"\r\n\r\n")
                await asyncio.wait([asyncio.ensure_future(c.reader.read())], timeout=2)
                self.note("noise")
            case 11:  # many at once, whose answers no one waits for
                for _ in range(5):
                    c.send(path, {**ask, "stream": True})
                await c.writer.drain()
                self.note("pipelined and gone")

    async def troubled(self, seed):
        rng = random.Random(seed)
        while time.monotonic() < self.end_s:
            try:
                await self.trouble(rng)
            except (Ended, asyncio.TimeoutError):  # before OSError, which it is
                self.fault("a bad request got no reply")
            except OSError:  # noise and silence: the server may close first
                self.note("closed")
            await asyncio.sleep(rng.uniform(0, 0.2))

    # ---- what the server says and keeps ----

    async def get(self, path):
        c = await Connection.open(self.args)
        c.send(path, b"", method="GET")
        await c.head()
        body = (await c.body()).decode()
        c.close()
        return body

    async def metric(self, *names):
        page = await self.get("/metrics")
        return [float(re.search(rf"^vllm:{n}{{.*}} (.*)$", page, re.M).group(1)) for n in names]

    def rss_bytes(self):
        with open(f"/proc/{self.args.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read()).group(1)) * 1024

    def n_fd(self):
        return len(os.listdir(f"/proc/{self.args.pid}/fd"))

    async def watch(self, samples):
        """RSS once in a while: (seconds, bytes)."""
        start = time.monotonic()
        while time.monotonic() < self.end_s:
            await asyncio.sleep(0.25)
            samples.append((time.monotonic() - start, self.rss_bytes()))


async def reference(load):
    for i in range(N_PROMPT):
        c = await Connection.open(load.args)
        c.send("/v1/completions", load.request(i, load.args.tokens, cache_salt=f"alone {i}"))
        if (status := await c.head()) != 200:
            sys.exit(f"Bail out! prompt {i}: status {status}: {await c.body()}")
        choice = json.loads(await c.body())["choices"][0]
        load.want.append((choice["token_ids"], choice["text"]))
        c.close()


async def settled(load, n_fd):
    """Waits until nothing runs and every connection is closed."""
    for _ in range(300):
        running, waiting, used = await load.metric("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
        if running == waiting == used == 0 and load.n_fd() <= n_fd:
            break
        await asyncio.sleep(0.1)
    return running, waiting, used, load.n_fd()


async def drain(load, n):
    """n streams are under way when the server gets SIGTERM; one comes later."""
    begun = []

    async def one(i):
        c = await Connection.open(load.args)
        c.send("/v1/completions", load.request(i % N_PROMPT, load.args.tokens, stream=True))
        try:
            status = await c.head()
            begun.append(i)
            if status != 200:
                return load.fault(f"before the drain: status {status}")
            await load.read_stream(c, i % N_PROMPT, load.args.tokens, "drain")
        except (Ended, asyncio.TimeoutError):
            load.fault(f"drain: the stream of prompt {i % N_PROMPT} was cut")
        c.close()

    tasks = [asyncio.create_task(one(i)) for i in range(n)]
    while len(begun) < n and not all(t.done() for t in tasks):
        await asyncio.sleep(0.001)
    under_way = sum(not t.done() for t in tasks)
    os.kill(load.args.pid, signal.SIGTERM)
    late = 200
    while late == 200 and not all(t.done() for t in tasks):  # the server takes notice between two steps
        await asyncio.sleep(0.02)
        try:
            c = await Connection.open(load.args)
            c.send("/v1/completions", load.request(0, 1))
            late = await c.head()
        except asyncio.TimeoutError:
            late = "no reply"
        except (OSError, Ended):
            late = "closed"
    await asyncio.gather(*tasks)
    return late, under_way


n_test = n_bad = 0


def ok(passed, name, *remarks):
    global n_test, n_bad
    n_test += 1
    n_bad += not passed
    print(f"{'ok' if passed else 'not ok'} {n_test} - {name}")
    for r in remarks if not passed else ():
        print(f"# {r}")
    sys.stdout.flush()


async def run(args):
    load, samples = Load(args), []
    await reference(load)
    ok(len({tuple(ids[:8]) for ids, _ in load.want}) == N_PROMPT, "every prompt has an answer of its own")
    n_fd = load.n_fd()
    load.end_s = time.monotonic() + args.seconds
    tasks = [asyncio.create_task(load.client(args.seed * 1000 + i)) for i in range(args.streams)]
    tasks += [asyncio.create_task(load.troubled(args.seed * 2000 + i)) for i in range(TROUBLE)]
    tasks.append(asyncio.create_task(load.watch(samples)))
    for t in asyncio.as_completed(tasks):
        await t
    left = await settled(load, n_fd)
    preempted, hits = await load.metric("num_preemptions_total", "prefix_cache_hits_total")
    print(f"# {time.monotonic() - load.end_s:.1f} s after the last request nothing ran")
    print("# " + ", ".join(f"{k} {v}" for k, v in sorted(load.count.items())))
    ok(not load.wrong, f"{args.streams} streams at once: each gets the tokens and the text that its prompt gets alone; bad requests their status", *load.wrong)
    ok(load.count.get("read", 0) >= 20 and load.count.get("full", 0) > 0, "streams were served, and others found a full queue", load.count)
    ok(preempted > 0 and hits > 0, "sequences were preempted, and prompts found in the prefix cache", f"{preempted:.0f} preemptions, {hits:.0f} tokens found")
    ok(left[:3] == (0, 0, 0), "at the end nothing runs, nothing waits, no block is in use", left)
    ok(left[3] <= n_fd, "at the end there are as many descriptors as before", f"{n_fd} before, {left[3]} after")
    if not args.no_memory:
        warm_s = max(args.seconds / 3, min(8, args.seconds / 2))
        warm = max(b for t, b in samples if t <= warm_s)
        most = max(b for t, b in samples if t > warm_s)
        print(f"# RSS: {warm / 1e6:.1f} MB within {warm_s:.0f} s, then {most / 1e6:.1f} MB at most")
        ok(most <= 1.05 * warm + 4e6, "memory does not grow after the first third", f"{warm} bytes, then {most}")
    load.wrong = []
    late, under_way = await drain(load, 40)
    ok(not load.wrong and under_way > 0 and late in (503, "closed"), "SIGTERM: streams under way come to their end, a later request is refused",
       f"{under_way} were under way; a later request: {late}", *load.wrong)
    print(f"1..{n_test}")
    return 1 if n_bad else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--url", required=True)
    p.add_argument("--key", required=True)
    p.add_argument("--pid", type=int, required=True, help="of the server: its memory and descriptors; SIGTERM at the end")
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--streams", type=int, default=200)
    p.add_argument("--tokens", type=int, default=120, help="of the longest answers, at least 8")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--no-memory", action="store_true", help="do not judge the growth of memory: sanitizers keep what is freed")
    args = p.parse_args()
    at = urlsplit(args.url)
    args.host, args.port = at.hostname, at.port
    return asyncio.run(run(args))


if __name__ == "__main__":
    sys.exit(main())
