public import Foundation
import Glibc
import MartletCore
public import NIOCore

/// Makes small pictures of large ones with `vipsthumbnail` (Debian package `libvips-tools`), outside this process.
///
/// Only JPEG, PNG, GIF, WebP, HEIC and AVIF: libvips runs with `VIPS_BLOCK_UNTRUSTED`, which blocks SVG, PDF, ImageMagick and all other
/// loaders that were not made for hostile input, and the loader it names must be one of these. The number of pixels is read
/// from the header first. What comes out has no metadata, and so no position; turned upright by its EXIF before.
public struct Thumbnailer: Sendable {
    /// More are not looked at.
    public var maximumSourceSizeInBytes = 64 << 20
    public var maximumPixels = 50_000_000

    private let directory: String
    private let semaphore: AsyncSemaphore
    var process = LimitedProcess()

    /// - Parameters:
    ///   - directory: where work is done, made when missing; every piece of work has a folder in it.
    ///   - maximumAtOnce: processes; as many again and eight times more may wait.
    public init(directory: String, maximumAtOnce: Int) {
        self.directory = directory
        semaphore = AsyncSemaphore(
            limit: maximumAtOnce, maximumWaiting: 8 * maximumAtOnce,
            refusal: FileError.unavailable(cause: "too many pictures are waiting"))
        process.environment = [
            "VIPS_BLOCK_UNTRUSTED": "1", "VIPS_CONCURRENCY": "1", "MALLOC_ARENA_MAX": "2", "HOME": "/nonexistent",
        ]
    }

    public struct Thumbnail: Sendable {
        /// `image/jpeg`, or `image/png` for pictures that can be seen through.
        public var contentType: String
        public var content: ByteBuffer
    }

    /// Why there is no thumbnail of a picture.
    public struct Refusal: Error, Sendable {
        /// For the client.
        public var reason: String
        /// Whether the picture is surely to blame, so that there never will be one.
        public var isLasting = false
    }

    /// - Throws: `Refusal`; `FileError.missing`; `FileError.unavailable` when too many wait, the programs are not there, or something else
    ///   failed that has nothing to do with the picture.
    public func thumbnail(of blob: BlobName, sizeInBytes: Int, in files: any FileBackend, _ size: ThumbnailSize) async throws -> Thumbnail {
        guard sizeInBytes <= maximumSourceSizeInBytes else {
            throw Refusal(reason: "Thumbnails are made of pictures of up to \(maximumSourceSizeInBytes) bytes.")
        }
        return try await semaphore.withPermit {
            let folder = directory + "/" + hexadecimal(UInt64.random(in: 0 ... .max))
            do {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw FileError.unavailable(cause: "no folder for a thumbnail: \(error)")
            }
            defer { try? FileManager.default.removeItem(atPath: folder) }
            return try await files.withFile(of: blob, sizeInBytes: sizeInBytes, copyingTo: folder) { source in
                do {
                    return try await make(size, of: source, in: folder)
                } catch let refusal as Refusal where !refusal.isLasting {
                    // The programs do not say when it was the disk that did not give the bytes.
                    try await disk { try InputFile(source, of: blob).check(sizeInBytes: sizeInBytes) }
                    throw refusal
                }
            }
        }
    }

    /// Removes the folders of work that nobody ends any more, because its process was killed.
    public func removeAbandoned(before date: Date) async throws {
        try await disk { [directory] in
            for name in names(in: directory) where name.utf8.count == 16 && UInt64(name, radix: 16) != nil {
                guard let touched = modified(directory + "/" + name), touched < date else { continue }
                try FileManager.default.removeItem(atPath: directory + "/" + name)
            }
        }
    }

    private func make(_ size: ThumbnailSize, of source: String, in folder: String) async throws -> Thumbnail {
        let header = try await header(of: source, in: folder)
        guard header.width > 0, header.height > 0, header.width <= maximumPixels / header.height else {
            throw Refusal(reason: "The picture has more than \(maximumPixels) pixels.", isLasting: true)
        }
        let name = folder + (header.isTransparent ? "/thumbnail.png" : "/thumbnail.jpg")
        var arguments = ["--size", "\(size.width)x\(size.height)" + (size.isCropped ? "" : ">"), "--export-profile", "srgb"]
        if size.isCropped { arguments += ["--smartcrop", "centre"] }
        arguments += ["-o", name + (header.isTransparent ? "[strip]" : "[Q=82,strip,optimize_coding]"), source]
        let outcome = try await process.run("vipsthumbnail", arguments, in: folder)
        try check(outcome, of: "vipsthumbnail")
        guard let content = FileManager.default.contents(atPath: name), !content.isEmpty else {
            throw Refusal(reason: "The picture cannot be read.")
        }
        return Thumbnail(contentType: header.isTransparent ? "image/png" : "image/jpeg", content: ByteBuffer(bytes: content))
    }

    private struct Header {
        var width: Int
        var height: Int
        var isTransparent: Bool
    }

    /// The longest line of `vipsheader` that is parsed, in bytes.
    private static let maximumHeaderLength = 200

    /// `file: 800x600 uchar, 3 bands, srgb, jpegload`
    private func header(of source: String, in folder: String) async throws -> Header {
        let outcome = try await process.run("vipsheader", [source], in: folder)
        try check(outcome, of: "vipsheader")
        let line = outcome.text.split(separator: "\n").last { $0.hasPrefix(source + ":") } ?? ""
        guard line.utf8.count <= Self.maximumHeaderLength, let match = line.firstMatch(of: /: (\d{1,9})x(\d{1,9}) [a-z]+, (\d+) bands?, ([a-z0-9-]+)(?:, ([a-z]+load)[a-z_]*)?$/),
            let width = Int(match.1), let height = Int(match.2), let bands = Int(match.3), let loader = match.5,
            ["jpegload", "pngload", "gifload", "webpload", "heifload"].contains(loader)
        else { throw Refusal(reason: "This is not a picture that thumbnails are made of.", isLasting: true) }
        return Header(width: width, height: height, isTransparent: match.4 != "cmyk" && (bands == 2 || bands == 4))
    }

    /// The programs end with the same status when a picture is broken and when the disk is full: what they say tells the two apart, where it
    /// does. So only a limit that was met, and what a header says, is held against a picture for good.
    private func check(_ outcome: LimitedProcess.Outcome, of program: String) throws {
        switch outcome.end {
        case .exited(0): return
        case .killed(SIGXCPU), .killed(SIGXFSZ): throw Refusal(reason: "The picture takes too much time or space.", isLasting: true)
        case .exited where outcome.text.contains("\(program): ") && !Self.faults.contains(where: { outcome.text.contains($0) }):
            throw Refusal(reason: "The picture cannot be read.")
        default: throw FileError.unavailable(cause: "\(program) ended with \(outcome.end): \(outcome.text.suffix(400))")
        }
    }

    /// How libvips, glib and the loader begin to speak of the machine rather than of the picture.
    private static let faults = [
        "unix error", "glib: ", "out of memory", "failed to allocate", "does not exist", "error while loading shared libraries",
        "No space left on device", "Input/output error", "Cannot allocate memory", "Resource temporarily unavailable",
    ]
}
