import Foundation
import Testing

@testable import MartletKit

/// These tests run against a real server.
struct FileTests {
    let files: Files
    let folder = TestServer.name("kit-files")
    let local = FileManager.default.temporaryDirectory.appendingPathComponent("martletkit-\(UUID().uuidString)")

    init() async throws {
        files = try await TestServer.device().files
        try FileManager.default.createDirectory(at: local, withIntermediateDirectories: true)
    }

    /// Bytes that differ from part to part.
    static func bytes(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) })
    }

    private func file(_ data: Data) throws -> URL {
        let url = local.appendingPathComponent(UUID().uuidString)
        try data.write(to: url)
        return url
    }

    @Test func `a file is stored, described, listed, linked, read and deleted`() async throws {
        let path = "\(folder)/a b/é?#.txt"
        let record = try await files.upload(Data("hello".utf8), to: path, readers: [.everyone])
        #expect(record.path == path && record.sizeInBytes == 5 && record.version == 1)
        #expect(record.sha256 == SHA256Digest.hexadecimal(Data("hello".utf8)))
        #expect(try await files.record(of: path) == record && record.readers == [.everyone] && record.writers == nil)
        await #expect { try await files.upload(Data(), to: path, replaces: false) } throws: {
            ($0 as? MartletError)?.code == .preconditionFailed
        }
        #expect(try await files.upload(Data("hello 2".utf8), to: path).version == 2)
        #expect(try await files.data(at: path) == Data("hello 2".utf8))
        #expect(try await files.list(folder).directories == ["\(folder)/a b/"])
        #expect(try await files.list("\(folder)/a b/").files.map(\.path) == [path])
        let link = try await files.link(to: path, expiresIn: 60)
        let plain = try await URLSessionTransport().send(HTTPRequest(method: "GET", url: link), progress: nil)
        #expect(plain.status == 200 && plain.body == Data("hello 2".utf8))
        try await files.setAccess(of: path, readers: [], writers: [])
        #expect(try await files.record(of: path) == nil)
        await #expect { try await files.data(at: path) } throws: { ($0 as? MartletError)?.isNotFound == true }
    }

    @Test func `a deleted file is gone, and deleting it again succeeds`() async throws {
        let path = "\(folder)/b.txt"
        try await files.upload(Data("x".utf8), to: path)
        try await files.delete(path)
        try await files.delete(path)
        #expect(try await files.record(of: path) == nil)
    }

    @Test func `a picture has smaller versions, and a text has none`() async throws {
        let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        let path = "\(folder)/p.png"
        try await files.upload(try #require(Data(base64Encoded: pixel)), to: path)
        #expect(try await !files.data(at: path, size: .small).isEmpty)
        try await files.upload(Data("text".utf8), to: "\(folder)/t.txt")
        await #expect { try await files.data(at: "\(folder)/t.txt", size: .small) } throws: {
            ($0 as? MartletError)?.code == .imageRefused
        }
    }

    private struct Page: Storable {
        static let collection = "KitPages"
        var title: String
        var cover: FileReference
        var pictures: [FileReference]
    }

    @Test func `a file that is bound to a field is read through the object, and no longer by its path`() async throws {
        let storage = Storage(api: files.api)
        let (cover, first, second) = ("\(folder)/c é.txt", "\(folder)/1.txt", "\(folder)/2.txt")
        var references: [FileReference] = []
        for path in [cover, first, second] {
            references.append(try await files.upload(Data(path.utf8), to: path).reference)
        }
        let page = try await storage.create(
            Page(title: "t", cover: references[0], pictures: Array(references.dropFirst())))
        #expect(try await files.bind(cover, to: \Page.cover, of: page).readers == [])
        for path in [first, second] { try await files.bind(path, to: \Page.pictures, of: page) }
        #expect(try await files.record(of: cover) == nil)
        #expect(try await files.data(in: \Page.cover, of: page) == Data(cover.utf8))
        #expect(try await files.data(in: \Page.pictures, of: page) == Data(first.utf8))
        #expect(try await files.data(in: \Page.pictures, of: page, path: second) == Data(second.utf8))
        await #expect { try await files.data(in: \Page.cover, of: page, path: second) } throws: {
            ($0 as? MartletError)?.code == .fileNotFound
        }
    }

    @Test(arguments: [0, 1, 3_000_000])
    func `a file on disk is stored in parts and downloaded to disk`(size: Int) async throws {
        let data = Self.bytes(size), source = try file(data), path = "\(folder)/large-\(size)"
        let seen = Locked<[Int]>([])
        let record = try await files.upload(contentsOf: source, to: path) { progress in
            seen.withLock { $0.append(progress.completedBytes) }
        }
        #expect(record.sizeInBytes == size && record.sha256 == SHA256Digest.hexadecimal(data))
        let progress = seen.withLock { $0 }
        #expect(progress.last == size && progress == progress.sorted())
        let destination = local.appendingPathComponent("copy-\(size)")
        try await files.download(path, to: destination)
        try await files.download(path, to: destination)
        #expect(try Data(contentsOf: destination) == data)
        #expect(try FileManager.default.contentsOfDirectory(atPath: local.path).count == 2)
    }

    @Test func `uploads and downloads continue after interruptions`() async throws {
        let data = Self.bytes(4_000_000), source = try file(data), path = "\(folder)/broken"
        let device = try await TestServer.device {
            $0.transport = UnreliableTransport($0.transport)
            $0.clock.sleep = { _ in try await Task.sleep(nanoseconds: 5_000_000) }
        }
        let record = try await device.files.upload(contentsOf: source, to: path)
        #expect(record.sha256 == SHA256Digest.hexadecimal(data))
        let destination = local.appendingPathComponent("copy")
        try await device.files.download(path, to: destination)
        #expect(try Data(contentsOf: destination) == data)
    }

    @Test func `an upload is continued after a restart, or cancelled`() async throws {
        let data = Self.bytes(2_500_000), source = try file(data)
        let started = try await files.beginUpload(of: source, to: "\(folder)/later", writers: [.everyone])
        let kept = try JSON(encoding: started).data
        let dying = try await TestServer.device { $0.transport = DyingTransport($0.transport, after: 2) }
        await #expect(throws: MartletError.self) { try await dying.files.finish(started, from: source) }
        let upload = try JSON(parsing: kept).decoded(as: ResumableUpload.self)
        let first = Locked<Int?>(nil)
        let record = try await files.finish(upload, from: source) { progress in
            first.withLock { $0 = $0 ?? progress.completedBytes }
        }
        #expect(record.sha256 == SHA256Digest.hexadecimal(data) && record.writers == [.everyone])
        #expect(try #require(first.withLock { $0 }) >= 1 << 20, "what arrived is not sent again")

        let other = try await files.beginUpload(of: source, to: "\(folder)/never")
        try await files.cancel(other)
        try await files.cancel(other)
        await #expect { try await files.finish(other, from: source) } throws: {
            ($0 as? MartletError)?.isNotFound == true
        }
    }
}

/// Fails before every third request, and cuts each stream after 700,000 bytes.
final class UnreliableTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let count = Locked(0)

    init(_ transport: any HTTPTransport) { self.transport = transport }

    private func fail() throws {
        let number = count.withLock { count in
            count += 1
            return count
        }
        if number % 3 == 1 { throw MartletError(.connectionLost, "Lost.") }
    }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        try fail()
        return try await transport.send(request, progress: progress)
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream {
        try fail()
        return try await transport.stream(request).cut(after: 700_000)
    }
}

/// Loses its connection after some requests.
final class DyingTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let left: Locked<Int>

    init(_ transport: any HTTPTransport, after count: Int) {
        self.transport = transport
        left = Locked(count)
    }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        let isDead = left.withLock { left in
            left -= 1
            return left < 0
        }
        if isDead { throw MartletError(.notConnected, "No network.") }
        return try await transport.send(request, progress: progress)
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream { try await transport.stream(request) }
}
