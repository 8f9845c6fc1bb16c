import Foundation
import MartletCore
import MartletFiles
import MartletTesting
import NIOCore
import Testing

/// A Python with the packages of `deploy/test-tools.txt`: `MARTLET_TEST_PYTHON`, which `deploy/test` sets.
enum TestTools {
    static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap { $0.isEmpty ? nil : $0 }
}

/// Lends a folder that is removed after the test.
func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = NSTemporaryDirectory() + "martlet-files-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

/// Bytes in portions, then an end or an error.
struct Portions: AsyncSequence, Sendable {
    struct Broken: Error {}

    var portions: [ByteBuffer]
    var breaks = false

    init(_ bytes: [UInt8], of length: Int = 1_000, breaks: Bool = false) {
        portions = stride(from: 0, to: bytes.count, by: length).map {
            ByteBuffer(bytes: bytes[$0..<Swift.min($0 + length, bytes.count)])
        }
        self.breaks = breaks
    }

    func makeAsyncIterator() -> Iterator { Iterator(portions: portions[...], breaks: breaks) }

    struct Iterator: AsyncIteratorProtocol {
        var portions: ArraySlice<ByteBuffer>
        var breaks: Bool

        mutating func next() async throws -> ByteBuffer? {
            if let portion = portions.popFirst() { return portion }
            if breaks { throw Broken() }
            return nil
        }
    }
}

/// The back ends that tests run against.
enum Backend: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case local, s3

    static var available: [Backend] { TestTools.python == nil ? [.local] : allCases }

    var testDescription: String { rawValue }

    /// Lends a back end in which the space `app_test…` is empty.
    func with(_ body: (any FileBackend, _ space: String) async throws -> Void) async throws {
        let space = "app_" + String(UInt64.random(in: 0 ... .max), radix: 36)
        switch self {
        case .local: try await withFolder { try await body(LocalFiles(directory: $0 + "/files"), space) }
        case .s3: try await body(S3Files(try await MotoServer.shared.configuration()), space)
        }
    }
}

extension FileBackend {
    func bytes(_ blob: BlobName, _ range: Range<Int>) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await read(blob, in: range) { bytes += $0.readableBytesView }
        return bytes
    }
}

/// One S3 server for all tests of this process; it exits when its standard input ends.
actor MotoServer {
    static let shared = MotoServer()

    private struct Announcement: Decodable {
        var endpoint: String
        var accessKey: String
        var secretKey: String
    }

    private var start: Task<S3Files.Configuration, any Error>?
    private var running: (process: Process, input: Pipe, output: Pipe)?

    func configuration() async throws -> S3Files.Configuration {
        if let start { return try await start.value }
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: try #require(TestTools.python))
        process.arguments = [
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "moto_server.py").path
        ]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        running = (process, input, output)
        let descriptor = output.fileHandleForReading.fileDescriptor
        let start = Task {
            let announcement = try await onOwnThread {
                let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
                var line = Data()
                while !line.contains(UInt8(ascii: "\n")) {
                    let more = output.availableData
                    try #require(!more.isEmpty, "the S3 server did not start")
                    line.append(more)
                }
                return try JSONDecoder().decode(Announcement.self, from: line)
            }
            var configuration = S3Files.Configuration(
                endpoint: announcement.endpoint, bucket: "files", region: "us-east-1",
                accessKey: announcement.accessKey, secretKey: Secret(announcement.secretKey))
            configuration.partSizeInBytes = 5 << 20
            return configuration
        }
        self.start = start
        return try await start.value
    }
}
