import Foundation
import Logging
import MartletCore
import MartletFiles
import Synchronization

/// Runs `swift-demangle` once per batch of names, because it reads all input before it writes anything. Results are
/// cached.
final class Demangler: Sendable {
    private static let maximumNameLength = 4_096
    private static let maximumBatch = 2_000
    private static let maximumRemembered = 50_000
    /// If a name crashes the program, the halves of its batch are retried, up to this number of runs in total.
    private static let maximumRuns = 16

    private let program: String?
    private let cache: DebugFileCache
    private let logger: Logger
    private let semaphore: AsyncSemaphore
    private let process: LimitedProcess
    private let cached = Mutex<[String: String]>([:])

    /// - Parameter time: Time limit of one run. All runs of a batch together have twice this time, so that invented
    ///   names cannot block other callers for long.
    init(program: String?, cache: DebugFileCache, time: Duration, logger: Logger) {
        self.program = program
        self.cache = cache
        self.logger = logger
        semaphore = AsyncSemaphore(
            limit: 2, maximumWaiting: 64, refusal: FileError.unavailable(cause: "too many names are waiting"))
        var process = LimitedProcess()
        process.time = time
        process.limits.cpuTimeInSeconds = 5
        process.keptOutputInBytes = process.limits.outputSizeInBytes
        process.environment = ["HOME": "/nonexistent"]
        self.process = process
    }

    /// Readable forms such as `Bar.baz(qux:)`. Names that are not Swift's, or cannot be demangled, stay as they are.
    func readable(_ names: [String]) async -> [String] {
        guard let program else { return names }
        let mangled = Set(names.filter(Self.isMangled))
        let unknown = cached.withLock { cached in mangled.filter { cached[$0] == nil } }.prefix(
            Self.maximumBatch)
        if !unknown.isEmpty {
            do {
                var runs = Self.maximumRuns
                let end = ContinuousClock.now + process.time * 2
                let found = try await semaphore.withPermit {
                    try await self.run(program, Array(unknown), &runs, until: end)
                }
                cached.withLock { cached in
                    if cached.count + found.count > Self.maximumRemembered { cached.removeAll() }
                    cached.merge(found) { $1 }
                }
            } catch {
                logger.debug("Could not demangle names; leaving them mangled.", metadata: ["error.cause": "\(error)"])
            }
        }
        return cached.withLock { cached in names.map { cached[$0] ?? $0 } }
    }

    /// Whether a text has a prefix of Swift's mangled names (docs/ABI/Mangling.rst) and contains nothing but a name.
    static func isMangled(_ name: String) -> Bool {
        name.utf8.count <= maximumNameLength && prefixes.contains(where: name.hasPrefix)
            && name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
    }

    private static let prefixes = ["$s", "$S", "$e", "_$s", "_$S", "_$e", "_T0", "__T0"]

    private func run(
        _ program: String, _ names: [String], _ runs: inout Int, until end: ContinuousClock.Instant
    ) async throws -> [String: String] {
        guard runs > 0, ContinuousClock.now < end else { return [:] }
        runs -= 1
        let folder = try await cache.prepared() + "/names-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let input = folder + "/names"
        try Data((names.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: input))
        let outcome = try await process.run(program, ["--compact", "--simplified"], input: input, in: folder)
        let lines = outcome.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        if outcome.end == .exited(0), lines.count == names.count {
            return Dictionary(zip(names, lines.map { String($0.prefix(Self.maximumNameLength)) })) { $1 }
        }
        // Cache a name that cannot be demangled as its own result.
        guard names.count > 1 else { return [names[0]: names[0]] }
        let (first, second) = (names.prefix(names.count / 2), names.dropFirst(names.count / 2))
        return try await run(program, Array(first), &runs, until: end).merging(
            try await run(program, Array(second), &runs, until: end)
        ) { $1 }
    }
}
