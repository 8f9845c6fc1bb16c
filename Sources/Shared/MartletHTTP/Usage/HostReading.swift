import Foundation
import Glibc

/// Counters and sizes of the machine at one moment. Values that the machine does not report are 0.
struct HostReading: Equatable {
    /// Clock ticks of all cores since the machine was started. `total` includes idle ones.
    var userTicks = 0.0
    var systemTicks = 0.0
    /// Idle while waiting for a disk.
    var waitingTicks = 0.0
    var totalTicks = 0.0
    /// Bytes since the machine was started, of all interfaces to other machines.
    var receivedBytes = 0.0
    var sentBytes = 0.0
    /// Bytes since the machine was started, of all disks.
    var readBytes = 0.0
    var writtenBytes = 0.0
    var memorySizeInBytes = 0.0
    var memoryAvailableInBytes = 0.0
    /// Of the file system with the working directory.
    var diskSizeInBytes = 0.0
    var diskAvailableInBytes = 0.0

    /// Interfaces of containers and virtual machines, whose traffic passes another interface as well.
    private static let virtualInterfaces = ["docker", "veth", "br-", "virbr", "podman", "cni"]

    /// Devices that are not disks, and those whose data are stored on other devices.
    private static let notDisks = ["loop", "ram", "zram", "dm-", "md", "drbd", "bcache", "sr", "fd"]
    /// The unit of `/proc/diskstats`, whatever the sector size of the device.
    private static let sectorSizeInBytes = 512.0

    /// Reads the contents of `/proc/stat`, `/proc/meminfo`, `/proc/net/dev` and `/proc/diskstats`.
    init(stat: String, memory: String, network: String, disks: String) {
        // proc(5): user, nice, system, idle, iowait, irq, softirq, steal. The numbers after these are part of user and
        // nice.
        let ticks = stat.prefix { $0 != "\n" }.split(separator: " ").dropFirst().prefix(8).map { Double($0) ?? 0 }
        if ticks.count == 8 {
            userTicks = ticks[0] + ticks[1]
            systemTicks = ticks[2] + ticks[5] + ticks[6]
            waitingTicks = ticks[4]
            totalTicks = ticks.reduce(0, +)
        }
        let memory = MemoryReading(memory)
        (memorySizeInBytes, memoryAvailableInBytes) = (memory.sizeInBytes, memory.availableInBytes)
        for line in network.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let name = parts[0].split(separator: " ").first, name != "lo",
                !Self.virtualInterfaces.contains(where: { name.hasPrefix($0) })
            else { continue }
            let words = parts[1].split(separator: " ")
            guard words.count > 8, let received = Double(words[0]), let sent = Double(words[8]) else { continue }
            receivedBytes += received
            sentBytes += sent
        }
        var lastDisk: Substring?
        for line in disks.split(separator: "\n") {
            // Major and minor number, name; reads, merged reads, sectors, milliseconds; then the same for writes.
            let words = line.split(separator: " ")
            guard words.count > 9, let read = Double(words[5]), let written = Double(words[9]) else { continue }
            let name = words[2]
            guard !Self.notDisks.contains(where: { name.hasPrefix($0) }) else { continue }
            // The partitions of a disk follow it, and its counters include theirs.
            if let disk = lastDisk, Self.isPartition(name, of: disk) { continue }
            lastDisk = name
            readBytes += read * Self.sectorSizeInBytes
            writtenBytes += written * Self.sectorSizeInBytes
        }
    }

    /// Whether `name` is how the kernel names a partition of the disk: `sda1` of `sda`, `nvme0n1p1` of `nvme0n1`.
    private static func isPartition(_ name: Substring, of disk: Substring) -> Bool {
        guard name.hasPrefix(disk) else { return false }
        var number = name.dropFirst(disk.count)
        if disk.last?.isNumber == true {
            guard number.first == "p" else { return false }
            number = number.dropFirst()
        }
        return !number.isEmpty && number.allSatisfy(\.isNumber)
    }

    static func current() -> HostReading {
        func content(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
        var reading = HostReading(
            stat: content("/proc/stat"), memory: content("/proc/meminfo"), network: content("/proc/net/dev"),
            disks: content("/proc/diskstats"))
        if let disk = diskSpace() {
            (reading.diskSizeInBytes, reading.diskAvailableInBytes) = (disk.sizeInBytes, disk.availableInBytes)
        }
        return reading
    }

    /// Of the file system with the working directory. Nil if it cannot be read.
    static func diskSpace() -> (sizeInBytes: Double, availableInBytes: Double)? {
        var disk = statvfs()
        guard statvfs(".", &disk) == 0 else { return nil }
        let unit = Double(disk.f_frsize)
        return (Double(disk.f_blocks) * unit, Double(disk.f_bavail) * unit)
    }

    /// The values of the series `host.…`: CPU in percent of all cores, sizes in bytes, traffic of disks and
    /// interfaces in bytes per second.
    func values(since earlier: HostReading, seconds: Double) -> [String: Double] {
        var values: [String: Double] = [:]
        let ticks = totalTicks - earlier.totalTicks
        if ticks > 0 {
            // The kernel may count backwards a little.
            func percent(_ part: Double) -> Double { min(100, max(0, part / ticks * 100)) }
            values["host.cpu.user"] = percent(userTicks - earlier.userTicks)
            values["host.cpu.system"] = percent(systemTicks - earlier.systemTicks)
            values["host.cpu.waiting"] = percent(waitingTicks - earlier.waitingTicks)
        }
        if memorySizeInBytes > 0 {
            values["host.memory.size"] = memorySizeInBytes
            values["host.memory.used"] = memorySizeInBytes - memoryAvailableInBytes
        }
        if diskSizeInBytes > 0 {
            values["host.disk.size"] = diskSizeInBytes
            values["host.disk.used"] = diskSizeInBytes - diskAvailableInBytes
        }
        if seconds > 0 {
            // Fewer bytes than before: an interface has been removed.
            values["host.network.received"] = max(0, receivedBytes - earlier.receivedBytes) / seconds
            values["host.network.sent"] = max(0, sentBytes - earlier.sentBytes) / seconds
        }
        if seconds > 0, readBytes + writtenBytes > 0 {
            values["host.disk.read"] = max(0, readBytes - earlier.readBytes) / seconds
            values["host.disk.written"] = max(0, writtenBytes - earlier.writtenBytes) / seconds
        }
        return values
    }
}

/// Sizes from `/proc/meminfo`. A size that it does not contain is 0.
package struct MemoryReading {
    package private(set) var sizeInBytes = 0.0
    /// The memory that programs can still get without swapping.
    package private(set) var availableInBytes = 0.0

    package init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count > 1, let kibibytes = Double(words[1]) else { continue }
            switch words[0] {
            case "MemTotal:": sizeInBytes = kibibytes * 1_024
            case "MemAvailable:": availableInBytes = kibibytes * 1_024
            default: continue
            }
        }
    }
}
