import CoreMetrics
import Foundation
import Synchronization

/// Memory, CPU time and open files of this process, read from `/proc/self` on request.
enum ProcessMetrics {
    private static let memory = Gauge(label: "process.resident_memory_bytes")
    private static let cpu = FloatingPointCounter(label: "process.cpu_seconds_total")
    /// The value that `cpu` has reached.
    private static let cpuSeconds = Mutex(0.0)
    private static let descriptors = Gauge(label: "process.open_fds")

    static func update() {
        if let pages = fields(of: "/proc/self/statm").dropFirst().first.flatMap({ Int64($0) }) {
            memory.record(pages * Int64(sysconf(Int32(_SC_PAGESIZE))))
        }
        // proc(5): user and system time are fields 14 and 15; counting starts after the name in parentheses.
        let afterName = fields(of: "/proc/self/stat", after: ")")
        if afterName.count > 13, let user = Double(afterName[11]), let system = Double(afterName[12]) {
            let seconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
            cpuSeconds.withLock { known in
                cpu.increment(by: max(0, seconds - known))
                known = max(known, seconds)
            }
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            descriptors.record(open)
        }
    }

    private static func fields(of path: String, after mark: Character? = nil) -> [Substring] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        guard let mark, let end = text.lastIndex(of: mark) else { return text.split(separator: " ") }
        return text[text.index(after: end)...].split(separator: " ")
    }
}
