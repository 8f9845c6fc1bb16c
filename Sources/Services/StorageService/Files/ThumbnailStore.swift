import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import NIOCore

/// Thumbnails by picture and size, generated on first request.
struct ThumbnailStore: Sendable {
    let files: FileStore
    let settings: FileSettings

    /// Answers a request for a file, or for the thumbnail that its query names.
    ///
    /// - Throws: as `thumbnail(of:size:in:)` and `FileResponse.response(to:from:)`.
    func response(to request: Request, with file: FileStore.File, in space: AppSchema) async throws -> Response {
        guard let size = request.uri.queryParameters["thumbnail"] else {
            return try file.response.response(to: request, from: settings.backend)
        }
        let thumbnail = try await thumbnail(of: file, size: String(size), in: space)
        return try thumbnail.response(to: request, from: settings.backend)
    }

    /// The thumbnail of a picture.
    ///
    /// - Throws: `invalid-parameter` for an undeclared size; `image-refused`, which is recorded if it is permanent, so
    ///   that a hostile picture costs resources only once.
    func thumbnail(of file: FileStore.File, size name: String, in space: AppSchema) async throws -> FileResponse {
        guard let size = settings.thumbnailSizes[name] else {
            let names = settings.thumbnailSizes.keys.sorted().joined(separator: ", ")
            throw ServiceError.unexpectedParameter(
                "thumbnail", expected: "one of the sizes \(names)", found: name[...])
        }
        guard ContentType.isPicture(file.contentType) else {
            throw ServiceError(.imageRefused, "Only JPEG, PNG, GIF, WebP, HEIC and AVIF pictures have thumbnails.")
        }
        if let known = try await find(file, size, in: space) { return known }
        let thumbnail: Thumbnailer.Thumbnail
        do {
            thumbnail = try await settings.thumbnailer.thumbnail(
                of: file.blob, sizeInBytes: file.sizeInBytes, in: settings.backend, size)
        } catch let refusal as Thumbnailer.Refusal {
            if refusal.isPermanent { try await keep(nil, refusal: refusal.reason, of: file, size, in: space) }
            throw ServiceError(.imageRefused, refusal.reason)
        }
        let blob = BlobName.random(in: space.schema)
        let written = try await settings.backend.write(
            OnePortion(portion: thumbnail.content), to: blob, limitInBytes: thumbnail.content.readableBytes)
        let made = FileResponse(
            blob: blob, sizeInBytes: written.sizeInBytes, sha256: written.sha256, contentType: thumbnail.contentType,
            name: Self.name(file.response.name, size, thumbnail.contentType))
        try await keep(made, refusal: nil, of: file, size, in: space)
        return made
    }

    private func find(_ file: FileStore.File, _ size: ThumbnailSize, in space: AppSchema) async throws -> FileResponse?
    {
        let rows = try await files.run(
            """
            SELECT blob, size, sha256, content_type, refusal FROM \(try space.own("_thumbnails"))
            WHERE source = \(file.blob.id) AND name = \(size.key)
            """, in: space)
        guard let row = rows.first else { return nil }
        if let refusal = try row.decode(4, as: String?.self) { throw ServiceError(.imageRefused, refusal) }
        let type: String = try row.decode(3)
        return FileResponse(
            blob: try FileStore.blob(row, 0, of: space), sizeInBytes: try row.decode(1), sha256: try row.decode(2),
            contentType: type,
            name: Self.name(file.response.name, size, type))
    }

    /// If two thumbnails were generated concurrently, the first is kept and the other becomes an orphan.
    private func keep(
        _ made: FileResponse?, refusal: String?, of file: FileStore.File, _ size: ThumbnailSize, in space: AppSchema
    ) async throws {
        _ = try await files.run(
            """
            INSERT INTO \(try space.own("_thumbnails")) (source, name, blob, size, sha256, content_type, refusal)
            VALUES (\(file.blob.id), \(size.key), \(made?.blob.id), \(made?.sizeInBytes), \(made?.sha256), \(made?.contentType), \(refusal))
            ON CONFLICT (source, name) DO NOTHING
            """, in: space)
    }

    private static func name(_ file: String, _ size: ThumbnailSize, _ type: String) -> String {
        let stem = file.split(separator: ".").first.map(String.init) ?? "thumbnail"
        return "\(stem)-\(size.name).\(type == "image/png" ? "png" : "jpg")"
    }
}

extension ThumbnailSize {
    /// Differs for different dimensions, even under the same name.
    fileprivate var key: String { "\(name)=\(width)x\(height)\(isCropped ? ":crop" : "")" }
}
