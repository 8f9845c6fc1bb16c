import MartletFiles
import Testing

@Suite struct ContentTypeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var bytes: [UInt8]
        var declared: String?
        var type: String

        init(_ bytes: [UInt8], _ declared: String? = nil, _ type: String) {
            (self.bytes, self.declared, self.type) = (bytes, declared, type)
        }

        init(_ text: String, _ declared: String? = nil, _ type: String) { self.init(Array(text.utf8), declared, type) }

        var testDescription: String {
            "\(String(decoding: bytes.prefix(24), as: UTF8.self).debugDescription) as \(declared ?? "nothing")"
        }
    }

    static let cases = [
        Case([0xff, 0xd8, 0xff, 0xe0], "text/html", "image/jpeg"),
        Case([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], nil, "image/png"),
        Case("GIF89a<script>alert(1)</script>", "text/html", "image/gif"),
        Case("RIFF\0\0\0\0WEBPVP8 ", nil, "image/webp"),
        Case("\0\0\0\u{18}ftypheic", nil, "image/heic"), Case("\0\0\0\u{18}ftypisom", nil, "video/mp4"),
        Case("%PDF-1.7", "image/png", "application/pdf"), Case([0x50, 0x4b, 3, 4], "image/png", "application/zip"),
        // Markup is detected, whatever type the client declares.
        Case("<!DOCTYPE html><p>", "image/png", "text/html"), Case("  \r\n\t<HTML>", "text/plain", "text/html"),
        Case("\u{feff}<html>", nil, "text/html"), Case("<!-- x --><script>", "text/plain", "text/html"),
        Case([0xff, 0xfe] + "<html>".utf8.flatMap { [$0, 0] }, "text/plain", "text/html"),
        Case("<svg xmlns='http://www.w3.org/2000/svg'>", "image/png", "image/svg+xml"),
        Case("<?xml version='1.0'?><!-- --><svg onload='x()'>", "text/plain", "image/svg+xml"),
        Case("<?xml version='1.0'?><note/>", "text/plain", "application/xml"),
        // The declared type counts if no browser runs it.
        Case("a,b\n1,2\n", "text/csv; charset=utf-8", "text/csv"), Case("{}", "application/json", "application/json"),
        Case("hello", nil, "text/plain"), Case("hello", "text/html", "text/plain"),
        Case("hello", "image/svg+xml", "text/plain"),
        Case("hello", "image/png", "text/plain"), Case("alert(1)", "application/javascript", "text/plain"),
        Case("hello", "text/html\r\nX: y", "text/plain"), Case("grüße", "text/plain", "text/plain"),
        Case([1, 2, 3], "text/plain", "application/octet-stream"),
        Case([1, 2, 3], "application/vnd.martlet", "application/vnd.martlet"),
        Case([1, 2, 3], "application/vnd.x+xml", "application/octet-stream"), Case([], nil, "application/octet-stream"),
        Case([0xc3, 0x28], nil, "application/octet-stream"), Case([UInt8]("ab€".utf8).dropLast(), nil, "text/plain"),
    ]

    @Test(arguments: cases)
    func `the type is determined by the bytes`(_ example: Case) {
        #expect(ContentType.decide(declared: example.declared, prefix: example.bytes) == example.type)
    }

    @Test(arguments: [
        "text/html", "image/svg+xml", "application/xml", "application/pdf", "application/octet-stream", "text/markdown",
        "font/woff",
    ])
    func `types that a browser might run are not shown inline`(_ type: String) {
        #expect(!ContentType.isInline(type))
    }

    @Test(arguments: ["image/jpeg", "image/png", "video/mp4", "audio/mpeg", "text/plain", "application/json"])
    func `types that a browser cannot run are shown inline`(_ type: String) {
        #expect(ContentType.isInline(type))
    }
}
