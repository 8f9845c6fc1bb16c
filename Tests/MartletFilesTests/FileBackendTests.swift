import Crypto
import Foundation
import MartletCore
import MartletFiles
import NIOCore
import Testing

@Suite struct FileBackendTests {
    private static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 42
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }

    @Test(arguments: Backend.available, [0, 1, 1_000, 300_000, 5 << 20, (5 << 20) + 1, 12_345_678])
    func `written bytes are read back, whole and in ranges`(_ backend: Backend, _ size: Int) async throws {
        try await backend.with { files, space in
            let bytes = Self.noise(size)
            let blob = BlobName.random(in: space)
            let written = try await files.write(Portions(bytes, of: 70_001), to: blob, limitInBytes: size)
            #expect(written.sizeInBytes == size && written.prefix == Array(bytes.prefix(1_024)))
            #expect(
                written.sha256 == SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            )
            for range in [0..<size, 0..<min(size, 1), size / 2..<size, size..<size, min(size, 10)..<min(size, 200_000)]
            {
                #expect(try await files.bytes(blob, range) == Array(bytes[range]), "\(range)")
            }
            #expect(try await files.list(space, after: nil, limit: 10).blobs.map(\.id) == [blob.id])
        }
    }

    @Test(arguments: Backend.available)
    func `a stream that exceeds the limit or breaks off leaves nothing`(_ backend: Backend) async throws {
        try await backend.with { files, space in
            for size in [2_000, 6 << 20] {
                await #expect(throws: FileError.self) {
                    _ = try await files.write(
                        Portions(Self.noise(size), of: 65_536), to: .random(in: space), limitInBytes: size - 1)
                }
                await #expect(throws: Portions.Broken.self) {
                    _ = try await files.write(
                        Portions(Self.noise(size), of: 65_536, breaks: true), to: .random(in: space), limitInBytes: size
                    )
                }
            }
            #expect(try await files.list(space, after: nil, limit: 10).blobs == [])
            // An aborted upload may not be removed yet.
            try await files.removeAbandoned(before: Date().addingTimeInterval(60), in: space)
        }
    }

    @Test(arguments: Backend.available)
    func `blobs are listed in pages by id, separately for each space, and removed`(_ backend: Backend) async throws {
        try await backend.with { files, space in
            var ids: [String] = []
            for _ in 0..<7 {
                let blob = BlobName.random(in: space)
                _ = try await files.write(Portions([1]), to: blob, limitInBytes: 1)
                ids.append(blob.id)
            }
            let other = BlobName.random(in: space + "_test")
            _ = try await files.write(Portions([1]), to: other, limitInBytes: 1)
            ids.sort()
            let first = try await files.list(space, after: nil, limit: 4)
            #expect(first.next != nil && first.blobs.map(\.id) == Array(ids[..<4]))
            #expect(first.blobs.allSatisfy { abs($0.written.timeIntervalSinceNow) < 600 })
            let second = try await files.list(space, after: first.next, limit: 4)
            #expect(second.blobs.map(\.id) == Array(ids[4...]) && second.next == nil)
            let blob = try #require(BlobName(space: space, id: ids[0]))
            try await files.remove(blob)
            try await files.remove(blob)
            #expect(try await files.list(space, after: nil, limit: 100).blobs.map(\.id) == Array(ids[1...]))
            await #expect(throws: FileError.self) { _ = try await files.bytes(blob, 0..<1) }
            #expect(try await files.list(space + "_test", after: nil, limit: 100).blobs.map(\.id) == [other.id])
        }
    }

    @Test(arguments: Backend.available)
    func `a program can read a blob`(_ backend: Backend) async throws {
        try await backend.with { files, space in
            let blob = BlobName.random(in: space)
            _ = try await files.write(Portions(Array("hello".utf8)), to: blob, limitInBytes: 5)
            try await withFolder { folder in
                let text = try await files.withFile(of: blob, sizeInBytes: 5, copyingTo: folder) {
                    try String(contentsOfFile: $0, encoding: .utf8)
                }
                #expect(text == "hello")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
                try await files.remove(blob)
                let error = await #expect(throws: FileError.self) {
                    try await files.withFile(of: blob, sizeInBytes: 5, copyingTo: folder) { _ in
                        Issue.record("there is no blob")
                    }
                }
                if case .missing(blob) = error {} else { Issue.record("\(String(describing: error))") }
            }
        }
    }

    @Test func `leftovers of a dead writer are removed once they are old`() async throws {
        try await withFolder { folder in
            let files = LocalFiles(directory: folder)
            _ = try await files.write(Portions([1]), to: .random(in: "app_a"), limitInBytes: 1)
            let leftover = folder + "/app_a/incoming/0123456789abcdef0123456789abcdef"
            _ = FileManager.default.createFile(atPath: leftover, contents: Data([1]))
            try await files.removeAbandoned(before: Date().addingTimeInterval(-60), in: "app_a")
            #expect(FileManager.default.fileExists(atPath: leftover))
            try await files.removeAbandoned(before: Date().addingTimeInterval(60), in: "app_a")
            #expect(!FileManager.default.fileExists(atPath: leftover))
            #expect(try await files.list("app_a", after: nil, limit: 9).blobs.count == 1)
        }
    }

    @Test func `only the service can read files and directories`() async throws {
        try await withFolder { folder in
            let blob = BlobName.random(in: "app_a")
            _ = try await LocalFiles(directory: folder + "/files").write(Portions([1]), to: blob, limitInBytes: 1)
            for (path, mode) in [("", 0o700), ("/app_a", 0o700), ("/" + blob.key, 0o600)] {
                let found =
                    try FileManager.default.attributesOfItem(atPath: folder + "/files" + path)[.posixPermissions]
                    as? Int
                #expect(found == mode, "\(path)")
            }
        }
    }

    @Test(arguments: ["", "..", "a/b", "A", "app-a", "app_a\0", "ü", String(repeating: "a", count: 64)])
    func `no space or blob can be named by text from a client`(_ text: String) {
        #expect(BlobName(space: text, id: String(repeating: "0", count: 32)) == nil)
        #expect(BlobName(space: "app_a", id: text) == nil)
        #expect(BlobName(space: "app_a", id: "../" + String(repeating: "0", count: 29)) == nil)
    }

    @Test(.enabled(if: TestTools.python != nil))
    func `a wrong S3 key is an outage, not a missing file`() async throws {
        var configuration = try await MotoServer.shared.configuration()
        configuration.secretKey = Secret("wrong")
        let files = try S3Files(configuration)
        let error = await #expect(throws: FileError.self) {
            _ = try await files.write(Portions([1]), to: .random(in: "app_a"), limitInBytes: 1)
        }
        #expect(
            error?.condition == .unavailable && "\(error!)".contains("SignatureDoesNotMatch"),
            "\(String(describing: error))")
    }

    @Test func `an S3 store that cannot be reached is an outage`() async throws {
        let files = try S3Files(
            .init(endpoint: "http://127.0.0.1:1", bucket: "b", region: "r", accessKey: "a", secretKey: Secret("s")))
        let error = await #expect(throws: FileError.self) { _ = try await files.list("app_a", after: nil, limit: 1) }
        #expect(error?.condition == .unavailable)
    }

    @Test(arguments: ["", "ftp://a", "http://u:p@a", "http://a/b", "http://a?x=1", "a"])
    func `an S3 endpoint is an address without path, query and user`(_ endpoint: String) {
        #expect(throws: S3Files.InvalidEndpoint.self) {
            _ = try S3Files(.init(endpoint: endpoint, bucket: "b", region: "r", accessKey: "a", secretKey: Secret("s")))
        }
    }
}
