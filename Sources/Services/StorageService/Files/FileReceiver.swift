import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletPostgres
import NIOCore

/// Stores an uploaded file: first its bytes in the back end, then its row in the database. Nothing refers to the bytes
/// before they are durable.
struct FileReceiver: Sendable {
    let files: FileStore
    let rights: RightsStore
    let settings: FileSettings

    /// What an upload declares about its file.
    struct Declaration: Sendable {
        var path: FilePath
        /// The media type according to the client.
        var contentType: String?
        var grants: FileGrants
        var condition = FileCondition.none
    }

    /// The caller must be allowed to write the file before the first byte arrives and after the last one.
    ///
    /// - Throws: `payload-too-large`, `forbidden`, `precondition-failed`, `file-quota-exceeded`; no file is then
    ///   created or changed.
    func receive<Content: AsyncSequence & Sendable>(
        _ content: Content, as declaration: Declaration, in scope: FileScope
    ) async throws -> FileStore.Written where Content.Element == ByteBuffer {
        let scope = try await scope.passing(rights) { try await files.checkWritable(declaration.path, in: $0) }
        try await files.checkRoom(at: declaration.path, in: scope.space)
        let blob = BlobName.random(in: scope.space.schema)
        let written = try await write(content, to: blob, limitInBytes: settings.maximumSizeInBytes)
        do {
            return try await files.put(
                FileStore.Content(written, blob, declaredType: declaration.contentType), at: declaration.path,
                declaration.grants, if: declaration.condition, in: try await scope.refreshed(rights))
        } catch let problem as ServiceError where problem.isCallersFault {
            // The row was certainly not written. After any other error it may have been, so the blob is left to
            // `OrphanFileSweep`.
            try? await settings.backend.remove(blob)
            throw problem
        }
    }

    /// - Throws: `payload-too-large`.
    func write<Content: AsyncSequence & Sendable>(
        _ content: Content, to blob: BlobName, limitInBytes: Int
    ) async throws -> WrittenFile where Content.Element == ByteBuffer {
        do {
            return try await settings.backend.write(content, to: blob, limitInBytes: limitInBytes)
        } catch FileError.tooLarge(let limit) {
            throw ServiceError(.payloadTooLarge, "A file may have at most \(limit) bytes here.")
        }
    }
}
