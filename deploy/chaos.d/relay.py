"""Delays what is sent to and from a port of this machine, where the kernel cannot (it may have no `netem`)."""
import asyncio, contextlib, random, subprocess, threading

OWN_ADDRESS = "127.0.0.2"  # source address of the relay's own connections, which the rules below exempt
DISTANCE = 10_000  # from the port to the relay's port


class Relay:
    """Forwards data from `port + DISTANCE` to `port` and back, in order, each chunk 0.1 to 0.3 s later."""

    def __init__(self, port):
        self.port, self.writers = port, set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = self.run(self.listen())

    def run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    async def listen(self):
        return await asyncio.start_server(self.connected, "127.0.0.1", self.port + DISTANCE)

    async def connected(self, reader, writer):
        writers = [writer]
        self.writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(OWN_ADDRESS, 0))
            writers.append(far_writer)
            self.writers.add(far_writer)
            await asyncio.gather(self.pass_on(reader, far_writer), self.pass_on(far_reader, writer))
        except OSError:
            # The client sees what the port itself would have done: a refused or reset connection.
            for one in writers:
                one.transport.abort()
        finally:
            self.writers.difference_update(writers)

    async def pass_on(self, reader, writer):
        on_the_way = asyncio.Queue()

        async def deliver():
            while True:
                due, data = await on_the_way.get()
                await asyncio.sleep(due - self.loop.time())
                if not data:
                    writer.close()
                    return
                writer.write(data)
                await writer.drain()

        delivery = asyncio.ensure_future(deliver())
        try:
            data = b"?"
            while data:
                data = await reader.read(1 << 16)
                on_the_way.put_nowait((self.loop.time() + random.uniform(0.1, 0.3), data))
            await delivery
        finally:
            delivery.cancel()

    def close(self):
        """Ends every connection through it, on both sides. New ones must not arrive any more."""
        self.run(self.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    async def end(self):
        self.server.close()
        await asyncio.sleep(0.1)  # The connections that were accepted last are among the writers by then.
        for writer in list(self.writers):
            writer.transport.abort()
        # The tasks of the connections notice that within the time for which they delay the end of what they read.
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)


@contextlib.contextmanager
def delayed(port):
    """Leads new connections to the port through a relay, and closes them at the end. Those that exist are reset when used."""
    relay = Relay(port)
    match = ["-p", "tcp", "--dport", str(port), "!", "-s", OWN_ADDRESS]
    redirect = ["-t", "nat", "OUTPUT", *match, "-j", "REDIRECT", "--to-ports", str(port + DISTANCE)]
    direct = ["-t", "nat", "OUTPUT", *match, "-j", "ACCEPT"]
    reset = ["-t", "filter", "INPUT", *match, "-j", "REJECT", "--reject-with", "tcp-reset"]
    change("-A", redirect)
    change("-A", reset)
    try:
        yield
    finally:
        change("-D", reset)
        change("-I", direct)
        # `redirect` must outlive the connections. With the last such rule, the kernel stops translating the relay's port: clients
        # would not see that their connection was closed, and would wait for an answer until their time limit.
        relay.close()
        change("-D", redirect)
        change("-D", direct)


def change(action, rule):
    subprocess.run(["iptables", "--wait", *rule[:2], action, *rule[2:]], check=True)
