import Foundation
package import MartletHTTP

/// Settings below `symbols.…`: limits of uploads, and the programs that read debug files.
package struct SymbolSettings: Sendable {
    /// Maximum size of one file.
    var maximumFileSizeInBytes = 1 << 30
    /// Maximum total size of all files of an app.
    var maximumAppSizeInBytes = 20 << 30
    /// Maximum total size of an app's chunks that are not yet assembled.
    var maximumPendingSizeInBytes = 4 << 30
    /// How long chunks wait to be assembled before they are deleted.
    var uploadLifetime: Duration = .seconds(6 * 3_600)
    /// Absolute paths; nil if not installed or switched off.
    var symbolizer: String?
    var demangler: String?
    /// Maximum number of concurrent symbolizer processes.
    var maximumProcesses = 2
    /// Memory limit of one such process, not counting the files it maps.
    var memoryInBytes = 1 << 30
    /// Time limit of one query to the symbolizer.
    var time: Duration = .seconds(20)
    /// Time limit of all queries for one report. Images not queried by then count as missing.
    var reportTime: Duration = .seconds(30)
    /// Time limit of one run of the demangler.
    var demanglerTime: Duration = .seconds(10)
    var cacheDirectory = NSTemporaryDirectory() + "martlet-symbols"
    var cacheSizeInBytes = 4 << 30
    /// How often to look for leftovers, and for reports whose symbols arrived while they were being processed.
    var sweepInterval: Duration = .seconds(60)

    /// Uses the programs found beside this one, as in the package, or on `PATH`.
    package init() {
        symbolizer = Self.find("llvm-symbolizer")
        demangler = Self.find("swift-demangle")
    }

    /// - Throws: `SettingsError`.
    package init(_ settings: Settings) throws {
        maximumFileSizeInBytes = try settings.integer(
            "symbols.file.maximumbytes", default: maximumFileSizeInBytes, in: 1...(2 << 30))
        maximumAppSizeInBytes = try settings.integer(
            "symbols.app.maximumbytes", default: maximumAppSizeInBytes, in: 1...(1 << 50))
        uploadLifetime = .seconds(3_600 * (try settings.integer("symbols.upload.hours", default: 6, in: 1...720)))
        symbolizer = try Self.program("symbols.symbolizer", "llvm-symbolizer", settings)
        demangler = try Self.program("symbols.demangler", "swift-demangle", settings)
        maximumProcesses = try settings.integer("symbols.processes", default: maximumProcesses, in: 1...64)
        memoryInBytes = try settings.integer(
            "symbols.memory.bytes", default: memoryInBytes, in: (64 << 20)...(64 << 30))
        let files = settings.string("files.directory", default: ".martlet/analytics-files")
        let directory = settings.string("symbols.cache.directory", default: files + "/work/symbols")
        // The symbolizer's input quotes this path.
        guard !directory.contains(where: { $0 == "\"" || $0.isNewline }) else {
            throw SettingsError(
                key: "symbols.cache.directory", problem: "must not contain quotation marks or line ends")
        }
        cacheDirectory = URL(filePath: directory, directoryHint: .isDirectory).path
        cacheSizeInBytes = try settings.integer(
            "symbols.cache.bytes", default: cacheSizeInBytes, in: (16 << 20)...(1 << 50))
    }

    /// An absolute path, the name of a program beside this one or on `PATH`, or `off`.
    private static func program(_ key: String, _ name: String, _ settings: Settings) throws -> String? {
        guard let text = settings.optionalString(key) else { return find(name) }
        if text == "off" { return nil }
        guard let path = find(text) else {
            throw SettingsError(key: key, problem: "must name a program that can be run, or be off")
        }
        return path
    }

    private static func find(_ name: String) -> String? {
        guard !name.contains("/") else {
            return name.hasPrefix("/") && FileManager.default.isExecutableFile(atPath: name) ? name : nil
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map {
            URL(filePath: $0).deletingLastPathComponent().path
        }
        return ([own].compactMap { $0 } + path.split(separator: ":").map { String($0) }).map { "\($0)/\(name)" }.first {
            $0.hasPrefix("/") && FileManager.default.isExecutableFile(atPath: $0)
        }
    }
}
