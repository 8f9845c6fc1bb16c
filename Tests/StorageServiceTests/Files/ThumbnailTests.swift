import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/vipsthumbnail")))
struct ThumbnailTests {
    /// A GIF of one red pixel (GIF87a).
    private static let gif = Data(base64Encoded: "R0lGODdhAQABAPAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=")!

    @Test func `a picture's thumbnail is created once and kept`() async throws {
        let app = try await StorageApp()
        #expect(
            try await app.client.send("PUT", "/upload/a.gif", bytes: Array(Self.gif))["contentType"] == #""image/gif""#)
        let first = try await app.client.get("/upload/a.gif?thumbnail=small")
        #expect(first.status == 200 && first.header("content-type")?.hasPrefix("image/") == true, "\(first)")
        let second = try await app.client.send(
            "GET", "/upload/a.gif?thumbnail=small", bytes: nil, headers: ["if-none-match": first.header("etag") ?? ""])
        #expect(second.status == 304)
        let blobs = try await SharedFiles.settings.backend.list(app.space().schema, after: nil, limit: 10).blobs
        #expect(blobs.count == 2, "the picture and one thumbnail")
    }

    @Test func `a file that is not a picture has no thumbnail, and one too large is not tried twice`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/a.txt", "text")
        try await app.expectRefusal(.imageRefused) { try await app.client.get("/upload/a.txt?thumbnail=small") }
        try await app.expectRefusal(.invalidParameter, field: "thumbnail") {
            try await app.client.get("/upload/a.txt?thumbnail=huge")
        }
        _ = try await app.client.send(
            "PUT", "/upload/bomb.png",
            bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Array(repeating: 7, count: 99))
        // A damaged picture may be the disk's fault, so its refusal is not stored; that of too many pixels is.
        #expect(try await app.client.get("/upload/bomb.png?thumbnail=small").isProblem(.imageRefused))
        let thumbnails = try app.space().own("_thumbnails")
        #expect(try await app.superuser.query("SELECT FROM \(thumbnails)").isEmpty)
        _ = try await app.client.send("PUT", "/upload/huge.png", bytes: Self.png(width: 100_000, height: 100_000))
        #expect(try await app.client.get("/upload/huge.png?thumbnail=small").isProblem(.imageRefused))
        #expect(try await app.superuser.query("SELECT refusal FROM \(thumbnails)").count == 1)
        try await app.expectRefusal(.imageRefused) { try await app.client.get("/upload/huge.png?thumbnail=small") }
    }

    @Test func `a picture whose bytes are temporarily unavailable gets a thumbnail later`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/a.gif", bytes: Array(Self.gif))
        let list = try await SharedFiles.settings.backend.list(app.space().schema, after: nil, limit: 1)
        let stored = try #require(list.blobs.first)
        let blob = try #require(BlobName(space: app.space().schema, id: stored.id))
        let path = SharedFiles.directory + "/" + blob.key
        try FileManager.default.moveItem(atPath: path, toPath: path + "-away")
        #expect(try await app.client.get("/upload/a.gif?thumbnail=small").status >= 500)
        try FileManager.default.moveItem(atPath: path + "-away", toPath: path)
        #expect(try await app.client.get("/upload/a.gif?thumbnail=small").status == 200)
    }

    /// A PNG whose header claims a size, with almost no pixel data.
    private static func png(width: UInt32, height: UInt32) -> [UInt8] {
        func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
            let body = Array(name.utf8) + data
            var crc: UInt32 = 0xffff_ffff
            for byte in body {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? 0xedb8_8320 ^ crc >> 1 : crc >> 1 }
            }
            return big(UInt32(data.count)) + body + big(~crc)
        }
        return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
            + chunk("IHDR", big(width) + big(height) + [8, 2, 0, 0, 0])
            + chunk("IDAT", [0x78, 0x9c, 0x03, 0, 0, 0, 0, 1]) + chunk("IEND", [])
    }
}
