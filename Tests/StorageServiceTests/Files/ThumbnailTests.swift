import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletTesting
import Testing

@testable import StorageService

@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/vipsthumbnail")))
struct ThumbnailTests {
    /// A GIF of one red pixel (GIF89a).
    private static let gif = Data(base64Encoded: "R0lGODdhAQABAPAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=")!

    @Test func `a picture's thumbnail is made once and kept`() async throws {
        let app = try await StorageApp()
        #expect(try await app.client.send("PUT", "/upload/a.gif", bytes: Array(Self.gif))["contentType"] == #""image/gif""#)
        let first = try await app.client.get("/upload/a.gif?thumbnail=small")
        #expect(first.status == 200 && first.header("content-type")?.hasPrefix("image/") == true, "\(first)")
        let second = try await app.client.send("GET", "/upload/a.gif?thumbnail=small", bytes: nil, headers: ["if-none-match": first.header("etag") ?? ""])
        #expect(second.status == 304)
        let blobs = try await SharedFiles.settings.backend.list(app.space().schema, after: nil, limit: 10)
        #expect(blobs.count == 2, "the picture and one thumbnail")
    }

    @Test func `what is no picture has none, and is not tried twice`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/a.txt", "text")
        try await app.expectRefusal(.imageRefused) { try await app.client.get("/upload/a.txt?thumbnail=small") }
        try await app.expectRefusal(.invalidParameter, field: "thumbnail") { try await app.client.get("/upload/a.txt?thumbnail=huge") }
        _ = try await app.client.send("PUT", "/upload/bomb.png", bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Array(repeating: 7, count: 99))
        #expect(try await app.client.get("/upload/bomb.png?thumbnail=small").isProblem(.imageRefused))
        try await app.expectRefusal(.imageRefused) { try await app.client.get("/upload/bomb.png?thumbnail=small") }
    }
}
