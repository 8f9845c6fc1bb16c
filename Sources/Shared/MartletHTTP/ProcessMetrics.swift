import CoreMetrics
import Foundation
import Synchronization

/// Memory, CPU time and open files of this process, read from `/proc/self`. Nil where that cannot be read.
struct ProcessReading {
    var residentBytes: Int64?
    var cpuSeconds: Double?
    var openFiles: Int?

    static func current() -> ProcessReading {
        var reading = ProcessReading()
        if let pages = fields(of: "/proc/self/statm").dropFirst().first.flatMap({ Int64($0) }) {
            reading.residentBytes = pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
        }
        // proc(5): user and system time are fields 14 and 15; counting starts after the name in parentheses.
        let afterName = fields(of: "/proc/self/stat", after: ")")
        if afterName.count > 13, let user = Double(afterName[11]), let system = Double(afterName[12]) {
            reading.cpuSeconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
        reading.openFiles = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        return reading
    }

    private static func fields(of path: String, after mark: Character? = nil) -> [Substring] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        guard let mark, let end = text.lastIndex(of: mark) else { return text.split(separator: " ") }
        return text[text.index(after: end)...].split(separator: " ")
    }
}

/// Sets the metrics `process_…` and `martlet_disk_…` on request.
enum ProcessMetrics {
    private static let memory = Gauge(label: "process.resident_memory_bytes")
    private static let cpu = FloatingPointCounter(label: "process.cpu_seconds_total")
    /// The value that `cpu` has reached.
    private static let cpuSeconds = Mutex(0.0)
    private static let descriptors = Gauge(label: "process.open_fds")
    private static let maximumDescriptors = Gauge(label: "process.max_fds")
    private static let diskSize = Gauge(label: "martlet.disk.size_bytes")
    private static let diskAvailable = Gauge(label: "martlet.disk.available_bytes")

    static func update() {
        let reading = ProcessReading.current()
        if let bytes = reading.residentBytes { memory.record(bytes) }
        if let seconds = reading.cpuSeconds {
            cpuSeconds.withLock { known in
                cpu.increment(by: max(0, seconds - known))
                known = max(known, seconds)
            }
        }
        if let open = reading.openFiles { descriptors.record(open) }
        maximumDescriptors.record(OpenFileLimit.current)
        if let disk = HostReading.diskSpace() {
            diskSize.record(disk.sizeInBytes)
            diskAvailable.record(disk.availableInBytes)
        }
    }
}
