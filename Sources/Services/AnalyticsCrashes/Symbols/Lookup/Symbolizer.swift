import Foundation
import MartletCore
import MartletFiles

/// Keeps `llvm-symbolizer` processes running for a while, because reading a large debug file takes longer than querying
/// it.
///
/// A process opens only a few files, which limits its memory, and is ended after a failure. It is isolated: a clean
/// environment (without `DEBUGINFOD_URLS`, so no network), an empty working folder, and limits of memory, time and
/// output.
actor SymbolizerPool {
    /// Why a lookup failed.
    enum Failure: Error {
        /// The file crashes the program, makes it run out of time, or leads to unreadable output.
        case file
    }

    private static let maximumFiles = 8
    private static let maximumAddresses = 500
    private static let maximumIdleTime: Duration = .seconds(60)
    private static let outputLimitPerAddress = 64 << 10

    /// A process and the files it has opened.
    private struct Worker {
        var process: LineProcess
        var folder: String
        var files: Set<UUID> = []
        var lastUse = ContinuousClock.now
    }

    private let program: String
    private let settings: SymbolSettings
    private let cache: DebugFileCache
    private let semaphore: AsyncSemaphore
    private var idle: [Worker] = []

    init(program: String, settings: SymbolSettings, cache: DebugFileCache) {
        self.program = program
        self.settings = settings
        self.cache = cache
        semaphore = AsyncSemaphore(
            limit: settings.maximumProcesses, maximumWaiting: 32 * settings.maximumProcesses,
            refusal: FileError.unavailable(cause: "too many look-ups are waiting"))
    }

    /// The frames of each address, innermost first.
    ///
    /// - Throws: `Failure.file`; `FileError` and others if the file is not the cause.
    nonisolated func frames(at addresses: [UInt64], in part: StoredPart) async throws -> [[SourceFrame]] {
        try await semaphore.withPermit {
            try await cache.withFile(of: part) { path in
                var frames: [[SourceFrame]] = []
                for start in stride(from: 0, to: addresses.count, by: Self.maximumAddresses) {
                    let some = addresses[start..<min(start + Self.maximumAddresses, addresses.count)]
                    frames += try await self.query(some.map { "\"\(path)\" 0x" + String($0, radix: 16) }, part.id)
                }
                return frames
            }
        }
    }

    /// Ends processes that have been idle for a while.
    func endIdle(before time: ContinuousClock.Instant = ContinuousClock.now - SymbolizerPool.maximumIdleTime) {
        for worker in idle where worker.lastUse < time { end(worker) }
        idle.removeAll { $0.lastUse < time }
    }

    /// A reused process may fail because of earlier queries, or because its CPU time is used up, so the query is
    /// retried once in a new process.
    private func query(_ lines: [String], _ file: UUID) async throws -> [[SourceFrame]] {
        var worker = try await worker(for: file)
        let isFresh = worker.files.isEmpty
        worker.files.insert(file)
        do {
            return try await query(lines, worker)
        } catch is Failure where !isFresh {
            var worker = try await newWorker()
            worker.files = [file]
            return try await query(lines, worker)
        }
    }

    private func query(_ lines: [String], _ worker: Worker) async throws -> [[SourceFrame]] {
        do {
            let limit = min(lines.count * Self.outputLimitPerAddress, 16 << 20)
            let answers = try await worker.process.exchange(lines, within: settings.time, upTo: limit)
            let frames = try answers.map { try SourceFrame.frames(in: $0) }
            var worker = worker
            worker.lastUse = .now
            idle.append(worker)
            return frames
        } catch {
            end(worker)
            try Task.checkCancellation()
            if error is LineProcess.Failure || error is SourceFrame.Unreadable { throw Failure.file }
            throw error
        }
    }

    /// A process that has opened the file, or else the longest idle one if it may open another, or else a new one.
    private func worker(for file: UUID) async throws -> Worker {
        if let index = idle.firstIndex(where: { $0.files.contains(file) }) { return idle.remove(at: index) }
        guard let index = idle.indices.min(by: { idle[$0].lastUse < idle[$1].lastUse }) else {
            return try await newWorker()
        }
        let worker = idle.remove(at: index)
        guard worker.files.count < Self.maximumFiles else {
            end(worker)
            return try await newWorker()
        }
        return worker
    }

    private func newWorker() async throws -> Worker {
        let folder = try await cache.prepared() + "/empty-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        var limits = ProcessLimits()
        limits.cpuTimeInSeconds = 120
        limits.dataInBytes = settings.memoryInBytes
        limits.addressSpaceInBytes =
            settings.memoryInBytes + Self.maximumFiles * settings.maximumFileSizeInBytes + (1 << 30)
        limits.outputSizeInBytes = 0
        do {
            let process = try LineProcess(
                program, ["--output-style=JSON", "--inlining", "--demangle"], limits: limits,
                environment: ["HOME": "/nonexistent", "MALLOC_ARENA_MAX": "2"], in: folder)
            return Worker(process: process, folder: folder)
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    private nonisolated func end(_ worker: Worker) {
        worker.process.end()
        try? FileManager.default.removeItem(atPath: worker.folder)
    }
}
