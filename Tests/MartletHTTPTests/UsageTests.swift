import CoreMetrics
import Testing

@testable import MartletHTTP

@Suite struct UsageTests {
    private static let network = """
        Inter-|   Receive                                                |  Transmit
         face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier
            lo:  999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0
          eth0: 1000 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0
         wlan0:1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0
        vethab: 7777 1 0 0 0 0 0 0 7777 1 0 0 0 0 0 0
        """

    /// Two disks have counted reads and writes: `sda`, which has two partitions, and `nvme0n1`.
    private static let disks = """
           7       0 loop0 9 9 900 9 9 9 900 9 0 9 9 0 0 0 0 0 0
           8       0 sda 5 0 100 7 5 0 20 7 0 9 9 0 0 0 0 0 0
           8       1 sda1 5 0 90 7 5 0 10 7 0 9 9 0 0 0 0 0 0
           8       2 sda2 5 0 10 7 5 0 10 7 0 9 9 0 0 0 0 0 0
           8      16 sdaa 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
         259       0 nvme0n1 1 0 8 1 1 0 8 1 0 9 9
         259       1 nvme0n1p1 1 0 8 1 1 0 8 1 0 9 9
         259       2 nvme0n12 0 0 0 0 0 0 0 0 0 0 0
         253       0 dm-0 9 9 900 9 9 9 900 9 0 9 9
         253       1 short 1 2
        """

    private static func reading(_ stat: String, network: String = network, disks: String = disks) -> HostReading {
        HostReading(
            stat: stat, memory: "MemTotal: 8 kB\nMemFree: 1 kB\nMemAvailable:    2 kB\n", network: network,
            disks: disks)
    }

    @Test func `the machine's counters become shares and rates, and its sizes bytes`() {
        let earlier = Self.reading("cpu  100 0 100 1000 10 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
        var later = Self.reading(
            "cpu  120 10 110 1040 20 5 5 0 0 0\n", network: Self.network.replacing("1000", with: "3000"),
            disks: Self.disks.replacing("sda 5 0 100", with: "sda 5 0 140"))
        (later.diskSizeInBytes, later.diskAvailableInBytes) = (100, 30)
        #expect(
            later.values(since: earlier, seconds: 10) == [
                "host.cpu.user": 30, "host.cpu.system": 20, "host.cpu.waiting": 10, "host.memory.size": 8_192,
                "host.memory.used": 6_144, "host.disk.size": 100, "host.disk.used": 70, "host.disk.read": 2_048,
                "host.disk.written": 0, "host.network.received": 200, "host.network.sent": 0,
            ])
        #expect(earlier.values(since: later, seconds: 10)["host.network.received"] == 0, "an interface was removed")
        #expect(earlier.values(since: later, seconds: 10)["host.disk.read"] == 0, "a disk was removed")
    }

    @Test func `a disk counts once, without its partitions and the devices that lie on it`() {
        let reading = Self.reading("")
        #expect(reading.readBytes == 108 * 512 && reading.writtenBytes == 28 * 512)
    }

    @Test(arguments: ["", "cpu", "cpu  a b c d e f g h\n", "cpu  1 2 3\n"])
    func `what cannot be read has no value`(_ text: String) {
        let nothing = HostReading(stat: text, memory: text, network: "eth0: 1 2 3\n:\n::\n" + text, disks: text)
        #expect(nothing.values(since: nothing, seconds: 0) == [:])
        #expect(nothing.values(since: nothing, seconds: 1)["host.disk.read"] == nil)
    }

    @Test func `a process measures itself and counts its slow statements`() throws {
        let registry = MetricsRegistry()
        let timer = registry.makeTimer(label: "postgres_query_duration", dimensions: [])
        timer.recordNanoseconds(3_000_000_000)
        var meter = UsageMeter(process: "storage", metrics: registry)
        for nanoseconds in [1_000, 1_000_000_000, 1_100_000_000, 60_000_000_000] as [Int64] {
            timer.recordNanoseconds(nanoseconds)
        }
        let values = meter.take()
        #expect((values["processes.storage.slow"] ?? 0) > 0)
        #expect((values["processes.storage.memory"] ?? 0) > 1_000_000)
        #expect(values["processes.storage.cpu"] != nil && values["processes.storage.files"] != nil)
        let next = meter.take()
        #expect(next["processes.storage.slow"] == 0)
        #expect(registry.count(of: "postgres_query_duration_seconds", above: 1) == 3)
        var gateway = UsageMeter(process: "gateway", metrics: MetricsRegistry())
        let own = gateway.take()
        #expect(own["processes.gateway.slow"] == nil && own["processes.gateway.memory"] != nil)
    }
}
