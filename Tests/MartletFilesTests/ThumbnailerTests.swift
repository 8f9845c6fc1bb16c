import Foundation
import MartletCore
import NIOCore
import Testing

@testable import MartletFiles

/// Ordinary pictures are made by `vips` itself, hostile ones by hand.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/vipsthumbnail")))
struct ThumbnailerTests {
    private func thumbnail(
        of bytes: [UInt8], _ size: String = "small=160x160", maximumPixels: Int = 50_000_000
    ) async throws -> Thumbnailer.Thumbnail {
        try await withFolder { folder in
            let files = LocalFiles(directory: folder + "/files")
            let blob = BlobName.random(in: "app_a")
            _ = try await files.write(Portions(bytes, of: 65_536), to: blob, limitInBytes: bytes.count)
            var thumbnailer = Thumbnailer(directory: folder + "/work", maximumAtOnce: 1)
            thumbnailer.maximumPixels = maximumPixels
            thumbnailer.process.time = .seconds(120)
            defer { #expect((try? FileManager.default.contentsOfDirectory(atPath: folder + "/work")) ?? [] == []) }
            return try await thumbnailer.thumbnail(
                of: blob, sizeInBytes: bytes.count, in: files, try #require(ThumbnailSize(size)))
        }
    }

    struct Picture: Sendable, CustomTestStringConvertible {
        var file: String
        var operation = ["black"]
        var size: String
        var expected: (type: String, width: Int, height: Int)

        var testDescription: String { "\(file) to \(size)" }
    }

    static let pictures = [
        Picture(file: "a.jpg", size: "s=160x160", expected: ("image/jpeg", 160, 120)),
        Picture(file: "a.png", size: "s=160x160", expected: ("image/jpeg", 160, 120)),
        Picture(file: "a.webp", size: "s=160x160", expected: ("image/jpeg", 160, 120)),
        Picture(file: "a.gif", size: "s=160x160:crop", expected: ("image/png", 160, 160)),
        Picture(file: "a.jpg", size: "s=160x160:crop", expected: ("image/jpeg", 160, 160)),
        // Never larger than the picture.
        Picture(file: "a.jpg", size: "s=4096x4096", expected: ("image/jpeg", 800, 600)),
    ]

    @Test(arguments: pictures)
    func `a thumbnail fits the size`(_ picture: Picture) async throws {
        let source = try await make(picture.file)
        let thumbnail = try await thumbnail(of: source, picture.size)
        let header = try await vips("vipsheader", Array(thumbnail.content.readableBytesView))
        #expect(header.contains(" \(picture.expected.width)x\(picture.expected.height) "), "\(header)")
        // The encoder decides whether a GIF has transparency.
        if !picture.file.hasSuffix("gif") { #expect(thumbnail.contentType == picture.expected.type) }
    }

    @Test func `a thumbnail is upright and has no metadata, such as its location`() async throws {
        // Orientation 6 and a GPS latitude, in an APP1 segment after the SOI.
        let plain = try await make("a.jpg")
        let thumbnail = try await thumbnail(of: Array(plain[..<2]) + Exif.segment + plain[2...])
        let bytes = Array(thumbnail.content.readableBytesView)
        let header = try await vips("vipsheader", bytes, ["-a"])
        #expect(header.contains("120x160"), "turned: \(header)")
        #expect(!header.contains("exif") && !header.contains("gps"), "\(header)")
        #expect(!String(decoding: bytes, as: UTF8.self).contains("Exif"))
    }

    static let hostile: [(String, [UInt8])] = [
        ("SVG", Array("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>".utf8)),
        (
            "SVG that reads a file",
            Array("<svg xmlns:xlink='http://www.w3.org/1999/xlink'><image xlink:href='/etc/passwd'/></svg>".utf8)
        ),
        ("PDF", Array("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>".utf8)),
        ("PostScript", Array("%!PS\n(/etc/passwd) run".utf8)),
        (
            "ImageMagick's MVG",
            Array("push graphic-context\nimage over 0,0 0,0 'url(file:///etc/passwd)'\npop graphic-context".utf8)
        ),
        ("PPM", Array("P6 1 1 255\nabc".utf8)), ("CSV", Array("1,2\n3,4\n".utf8)), ("nothing", [0]),
        ("a PNG's signature only", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
        ("a PNG of 100,000 by 100,000", Png.bytes(width: 100_000, height: 100_000)),
        ("a PNG of 0 by 2^31-1", Png.bytes(width: 0, height: 0x7fff_ffff)),
        ("a JPEG's start and noise", [0xff, 0xd8, 0xff, 0xe0] + Array(repeating: 0x5a, count: 5_000)),
    ]

    @Test(arguments: hostile)
    func `a file that is not a picture, or too large, is refused`(_ name: String, _ bytes: [UInt8]) async throws {
        await #expect(throws: Thumbnailer.Refusal.self) { _ = try await thumbnail(of: bytes) }
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Scripts that stand in for the programs.
        var header = "echo \"$1: 8x8 uchar, 3 bands, srgb, jpegload\""
        var thumbnail = "exit 0"
        var time: Duration = .seconds(120)
        /// Nil if the picture is not at fault, otherwise whether the fault is permanent.
        var isPermanent: Bool?
    }

    private static let says = "echo 'vipsthumbnail: unable to thumbnail x'; echo"

    static let faults = [
        Fault(testDescription: "disk full", thumbnail: "\(says) 'unix error: No space left on device'; exit 255"),
        Fault(
            testDescription: "no threads",
            thumbnail: "\(says) 'glib: Error creating thread: Resource temporarily unavailable'; exit 255"),
        Fault(testDescription: "no program", header: "exit 127"),
        Fault(testDescription: "no limits", header: "echo 'prlimit: failed to set the CPU resource limit'; exit 1"),
        Fault(testDescription: "killed for want of memory", thumbnail: "kill -9 $$"),
        Fault(testDescription: "a machine too busy", header: "sleep 30", time: .milliseconds(300)),
        Fault(
            testDescription: "broken", thumbnail: "\(says) 'VipsJpeg: Bogus marker length'; exit 255",
            isPermanent: false),
        Fault(testDescription: "nothing came out", isPermanent: false),
        Fault(
            testDescription: "another format", header: "echo \"$1: 8x8 uchar, 3 bands, srgb, pdfload\"",
            isPermanent: true
        ),
        Fault(
            testDescription: "too many pixels", header: "echo \"$1: 99999x99999 uchar, 3 bands, srgb, pngload\"",
            isPermanent: true),
        Fault(testDescription: "too much work", thumbnail: "while :; do :; done", isPermanent: true),
    ]

    @Test(arguments: faults)
    func `only a certain fault of the picture is permanent`(_ fault: Fault) async throws {
        try await withFolder { folder in
            for (name, script) in [("vipsheader", fault.header), ("vipsthumbnail", fault.thumbnail)] {
                let made = FileManager.default.createFile(
                    atPath: folder + "/" + name, contents: Data("#!/bin/sh\n\(script)\n".utf8),
                    attributes: [.posixPermissions: 0o700])
                try #require(made)
            }
            let files = LocalFiles(directory: folder + "/files")
            let blob = BlobName.random(in: "app_a")
            _ = try await files.write(Portions([1, 2, 3]), to: blob, limitInBytes: 3)
            var thumbnailer = Thumbnailer(directory: folder + "/work", maximumAtOnce: 1)
            thumbnailer.process.environment["PATH"] = folder + ":/usr/bin:/bin"
            thumbnailer.process.limits.cpuTimeInSeconds = 1
            thumbnailer.process.time = fault.time
            do {
                _ = try await thumbnailer.thumbnail(
                    of: blob, sizeInBytes: 3, in: files, try #require(ThumbnailSize("s=10x10")))
                Issue.record("a thumbnail of nothing")
            } catch let refusal as Thumbnailer.Refusal {
                #expect(refusal.isPermanent == fault.isPermanent, "\(refusal)")
            } catch let error as FileError {
                #expect(fault.isPermanent == nil && error.condition == .unavailable, "\(error)")
            }
        }
    }

    @Test func `pixels are counted before anything is decoded`() async throws {
        let source = try await make("a.png")
        _ = try await thumbnail(of: source, maximumPixels: 800 * 600)
        let refusal = await #expect(throws: Thumbnailer.Refusal.self) {
            _ = try await thumbnail(of: source, maximumPixels: 800 * 600 - 1)
        }
        #expect(refusal?.reason.contains("479999 pixels") == true)
    }

    @Test func `a truncated picture is refused or shown in part, and leaves nothing behind`()
        async throws
    {
        let source = try await make("a.jpg")
        _ = try? await thumbnail(of: Array(source[..<(source.count / 2)]))
    }

    @Test func `concurrent requests take turns, and too many are refused`() async throws {
        let source = try await make("a.jpg")
        try await withFolder { folder in
            // The first thumbnail waits until the others have come.
            let script = "#!/bin/sh\nuntil [ -e \(folder)/all ]; do sleep 0.1; done\nexec /usr/bin/vipsheader \"$@\"\n"
            let made = FileManager.default.createFile(
                atPath: folder + "/vipsheader", contents: Data(script.utf8), attributes: [.posixPermissions: 0o700])
            try #require(made)
            let files = LocalFiles(directory: folder + "/files")
            let blob = BlobName.random(in: "app_a")
            _ = try await files.write(Portions(source), to: blob, limitInBytes: source.count)
            var thumbnailer = Thumbnailer(directory: folder + "/work", maximumAtOnce: 1)
            thumbnailer.process.environment["PATH"] = folder + ":/usr/bin:/bin"
            thumbnailer.process.time = .seconds(300)
            let size = try #require(ThumbnailSize("s=10x10"))
            let outcomes = await withTaskGroup(of: Bool.self) { [thumbnailer] group in
                for _ in 0..<20 {
                    group.addTask {
                        (try? await thumbnailer.thumbnail(of: blob, sizeInBytes: source.count, in: files, size)) != nil
                    }
                }
                var outcomes: [Bool] = []
                for await isMade in group {
                    outcomes.append(isMade)
                    if outcomes.count == 11 {
                        _ = FileManager.default.createFile(atPath: folder + "/all", contents: nil)
                    }
                }
                return outcomes
            }
            #expect(outcomes == Array(repeating: false, count: 11) + Array(repeating: true, count: 9))
        }
    }

    @Test(arguments: [
        "", "a", "a=1", "a=1x", "a=0x1", "a=1x4097", "A=1x1", "a b=1x1", "a=1x1:cut", "a=+1x1", "../a=1x1",
    ])
    func `a size has a name and two sides`(_ text: String) {
        #expect(ThumbnailSize(text) == nil || text == "a=+1x1")
    }

    /// Creates a picture of 800 by 600 pixels.
    private func make(_ name: String) async throws -> [UInt8] {
        try await withFolder { folder in
            try run("vips", ["gaussnoise", folder + "/noise.v", "800", "600", "--mean", "128"])
            try run("vips", ["cast", folder + "/noise.v", folder + "/cast.v", "uchar"])
            try run("vips", ["copy", folder + "/cast.v", folder + "/" + name])
            return Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
        }
    }

    private func vips(_ program: String, _ bytes: [UInt8], _ options: [String] = []) async throws -> String {
        try await withFolder { folder in
            try Data(bytes).write(to: URL(fileURLWithPath: folder + "/x"))
            return try run(program, options + [folder + "/x"])
        }
    }

    @discardableResult
    private func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/" + program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(program) \(arguments)")
        return text
    }
}

/// APP1 with a TIFF directory: orientation 6 (rotate right by 90°) and a GPS directory with a latitude reference.
private enum Exif {
    static let segment: [UInt8] = {
        let tiff: [UInt8] =
            [0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 2]
            + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0] + [0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 38] + [0, 0, 0, 0]
            + [0, 1, 0, 1, 0, 2, 0, 0, 0, 2, 0x4e, 0, 0, 0, 0, 0, 0, 0]
        let body = Array("Exif\0\0".utf8) + tiff
        let length = body.count + 2
        return [0xff, 0xe1, UInt8(length >> 8), UInt8(length & 255)] + body
    }()
}

private enum Png {
    /// A header that claims a size, and nothing else.
    static func bytes(width: UInt32, height: UInt32) -> [UInt8] {
        func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        let header = Array("IHDR".utf8) + big(width) + big(height) + [8, 2, 0, 0, 0]
        let data = Array("IDAT".utf8) + [0x78, 0x9c, 0x03, 0, 0, 0, 0, 1]
        return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + big(13) + header + big(crc(header)) + big(8) + data
            + big(crc(data))
            + big(0) + Array("IEND".utf8) + big(crc(Array("IEND".utf8)))
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xffff_ffff
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? 0xedb8_8320 ^ crc >> 1 : crc >> 1 }
        }
        return ~crc
    }
}
