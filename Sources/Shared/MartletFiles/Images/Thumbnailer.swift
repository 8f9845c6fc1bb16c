public import Foundation
import Glibc
import MartletCore
public import NIOCore

/// Makes thumbnails with `vipsthumbnail` (Debian package `libvips-tools`) in a separate process.
///
/// Accepts only JPEG, PNG, GIF, WebP, HEIC and AVIF: libvips runs with `VIPS_BLOCK_UNTRUSTED`, which blocks SVG, PDF,
/// ImageMagick and all other loaders not made for hostile input, and the loader it reports must be one of these. The
/// number of pixels is read from the header first. Thumbnails are rotated according to the EXIF data and contain no
/// metadata, and thus no location.
public struct Thumbnailer: Sendable {
    /// Larger pictures are refused.
    public var maximumSourceSizeInBytes = 64 << 20
    public var maximumPixels = 50_000_000

    private let directory: String
    private let semaphore: AsyncSemaphore
    var process = LimitedProcess()

    /// - Parameters:
    ///   - directory: The directory for temporary files, created if missing; each thumbnail has a folder in it.
    ///   - maximumAtOnce: The maximum number of concurrent thumbnails; eight times as many may wait.
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
        /// `image/jpeg`, or `image/png` for pictures with transparency.
        public var contentType: String
        public var content: ByteBuffer
    }

    /// Why no thumbnail was made of a picture.
    public struct Refusal: Error, Sendable {
        /// Worded for the client.
        public var reason: String
        /// Whether the picture is certainly at fault, so that retries are pointless.
        public var isPermanent = false
    }

    /// - Throws: `Refusal`; `FileError.missing`; `FileError.unavailable` if too many requests are waiting, the programs
    ///   are missing, or something unrelated to the picture failed.
    public func thumbnail(of blob: BlobName, sizeInBytes: Int, in files: any FileBackend, _ size: ThumbnailSize)
        async throws -> Thumbnail
    {
        guard sizeInBytes <= maximumSourceSizeInBytes else {
            throw Refusal(reason: "Thumbnails are only made of pictures of up to \(maximumSourceSizeInBytes) bytes.")
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
                } catch let refusal as Refusal where !refusal.isPermanent {
                    // The programs do not report whether it was the disk that failed to return the bytes.
                    try await disk { try InputFile(source, of: blob).check(sizeInBytes: sizeInBytes) }
                    throw refusal
                }
            }
        }
    }

    /// Removes the folders left by killed processes.
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
            throw Refusal(reason: "The picture has more than \(maximumPixels) pixels.", isPermanent: true)
        }
        let name = folder + (header.isTransparent ? "/thumbnail.png" : "/thumbnail.jpg")
        var arguments = [
            "--size", "\(size.width)x\(size.height)" + (size.isCropped ? "" : ">"), "--export-profile", "srgb",
        ]
        if size.isCropped { arguments += ["--smartcrop", "centre"] }
        arguments += ["-o", name + (header.isTransparent ? "[strip]" : "[Q=82,strip,optimize_coding]"), source]
        let outcome = try await process.run("vipsthumbnail", arguments, in: folder)
        try check(outcome, of: "vipsthumbnail")
        guard let content = FileManager.default.contents(atPath: name), !content.isEmpty else {
            throw Refusal(reason: "The picture cannot be read.")
        }
        return Thumbnail(
            contentType: header.isTransparent ? "image/png" : "image/jpeg", content: ByteBuffer(bytes: content))
    }

    private struct Header {
        var width: Int
        var height: Int
        var isTransparent: Bool
    }

    /// The longest line of `vipsheader` that is parsed, in bytes.
    private static let maximumHeaderLength = 200

    /// Parses `file: 800x600 uchar, 3 bands, srgb, jpegload`.
    private func header(of source: String, in folder: String) async throws -> Header {
        let outcome = try await process.run("vipsheader", [source], in: folder)
        try check(outcome, of: "vipsheader")
        let line = outcome.text.split(separator: "\n").last { $0.hasPrefix(source + ":") } ?? ""
        guard line.utf8.count <= Self.maximumHeaderLength,
            let match = line.firstMatch(
                of: /: (\d{1,9})x(\d{1,9}) [a-z]+, (\d+) bands?, ([a-z0-9-]+)(?:, ([a-z]+load)[a-z_]*)?$/),
            let width = Int(match.1), let height = Int(match.2), let bands = Int(match.3), let loader = match.5,
            ["jpegload", "pngload", "gifload", "webpload", "heifload"].contains(loader)
        else { throw Refusal(reason: "Thumbnails cannot be made of this type of file.", isPermanent: true) }
        return Header(width: width, height: height, isTransparent: match.4 != "cmyk" && (bands == 2 || bands == 4))
    }

    /// The programs exit with the same status for a broken picture and for a full disk; only their messages may tell
    /// the two apart. Therefore a refusal is permanent only if a limit was reached or the header is unsuitable.
    private func check(_ outcome: LimitedProcess.Outcome, of program: String) throws {
        switch outcome.end {
        case .exited(0): return
        case .killed(SIGXCPU), .killed(SIGXFSZ):
            throw Refusal(reason: "Processing the picture takes too much time or space.", isPermanent: true)
        case .exited
        where outcome.text.contains("\(program): ") && !Self.faults.contains(where: { outcome.text.contains($0) }):
            throw Refusal(reason: "The picture cannot be read.")
        default: throw FileError.unavailable(cause: "\(program) ended with \(outcome.end): \(outcome.text.suffix(400))")
        }
    }

    /// Messages of libvips, glib and the loader that indicate a fault of the machine rather than the picture.
    private static let faults = [
        "unix error", "glib: ", "out of memory", "failed to allocate", "does not exist",
        "error while loading shared libraries",
        "No space left on device", "Input/output error", "Cannot allocate memory", "Resource temporarily unavailable",
    ]
}
