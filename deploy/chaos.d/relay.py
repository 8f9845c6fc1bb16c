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
        self.server = asyncio.run_coroutine_threadsafe(self.listen(), self.loop).result(10)

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
        """Ends every connection through the relay. Clients that reconnect reach the port directly."""
        def end():
            self.server.close()
            for writer in list(self.writers):
                writer.transport.abort()
            self.loop.call_later(0.2, self.loop.stop)
        self.loop.call_soon_threadsafe(end)
        self.thread.join(10)


@contextlib.contextmanager
def delayed(port):
    """Leads all connections to the port through a relay. Those that exist are reset when they are used."""
    relay = Relay(port)
    match = ["-p", "tcp", "--dport", str(port), "!", "-s", OWN_ADDRESS]
    rules = [["-t", "nat", "OUTPUT", *match, "-j", "REDIRECT", "--to-ports", str(port + DISTANCE)],
             ["-t", "filter", "INPUT", *match, "-j", "REJECT", "--reject-with", "tcp-reset"]]
    done = []
    try:
        for rule in rules:
            change("-A", rule)
            done.append(rule)
        yield
    finally:
        for rule in done:
            change("-D", rule)
        relay.close()


def change(action, rule):
    subprocess.run(["iptables", "--wait", *rule[:2], action, *rule[2:]], check=True)
