import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import NIOCore
import Synchronization

/// Receives the parts of resumable uploads and assembles them.
struct TusUploads: Sendable {
    let store: TusUploadStore
    let receiver: FileReceiver

    private var rights: RightsStore { receiver.rights }

    /// Stores as much of a request's body as arrives, even if the connection breaks, so that the upload can be resumed.
    /// Returns the new offset.
    ///
    /// - Throws: `conflict` if `offset` is not the upload's offset, or if other bytes arrived there meanwhile;
    ///   `payload-too-large` beyond the declared size, without keeping anything of the request; `limit-exceeded` if the
    ///   upload has too many parts.
    func receive(_ body: CompleteBody, at offset: Int, of transfer: TusUploadStore.Transfer, in scope: FileScope)
        async throws -> Int
    {
        guard offset == transfer.offset else { throw Self.conflict(transfer.offset) }
        let missing = transfer.sizeInBytes - offset
        guard missing > 0 else { return offset }
        guard transfer.parts.count < TusUploadStore.maximumParts else {
            throw ServiceError(
                .limitExceeded, "An upload may have at most \(TusUploadStore.maximumParts) parts. Begin a new one.")
        }
        let blob = BlobName.random(in: scope.space.schema)
        let written = try await receiver.write(ArrivingBody(body), to: blob, limitInBytes: missing)
        guard written.sizeInBytes > 0 else { return offset }
        guard try await store.append(blob, sizeInBytes: written.sizeInBytes, at: offset, to: transfer.id, in: scope)
        else {
            try? await receiver.settings.backend.remove(blob)
            throw ServiceError(.conflict, "Other bytes have already arrived at this offset.", field: "Upload-Offset")
        }
        return offset + written.sizeInBytes
    }

    /// Creates the file once all bytes have arrived, with the rights of the uploader. Idempotent; any copy of the
    /// service may do it.
    ///
    /// - Throws: `forbidden`.
    func finish(_ transfer: TusUploadStore.Transfer, in scope: FileScope) async throws {
        guard !transfer.isFinished, transfer.offset == transfer.sizeInBytes else { return }
        let scope = try await uploader(of: transfer, in: scope).passing(rights) {
            try await store.files.checkWritable(transfer.path, in: $0)
        }
        let blob = BlobName.random(in: scope.space.schema)
        let backend = receiver.settings.backend
        let parts = JoinedBlobs(
            transfer.parts.map { StoredPiece(blob: $0.blob, sizeInBytes: $0.sizeInBytes) }, in: backend)
        let written = try await backend.write(parts, to: blob, limitInBytes: transfer.sizeInBytes)
        let content = FileStore.Content(written, blob, declaredType: transfer.contentType)
        let current = try await scope.refreshed(rights)
        guard try await store.finish(transfer, as: content, in: current) else {
            try? await backend.remove(blob)
            try await store.files.checkWritable(transfer.path, in: current)
            return
        }
    }

    /// The uploader's scope. The app's server may query any upload, which may finish the upload, but with the
    /// uploader's rights.
    private func uploader(of transfer: TusUploadStore.Transfer, in scope: FileScope) async throws -> FileScope {
        let principal = Principal(
            kind: transfer.isMaster ? .master : .client, appID: scope.space.appID, appNumber: 0,
            environment: scope.space.environment,
            credentialID: scope.credentialID, userID: transfer.uploader)
        return FileScope(scope.space, try await rights.rights(of: principal, in: scope.space), of: principal)
    }

    static func conflict(_ offset: Int) -> ServiceError {
        ServiceError(.conflict, "The upload is at \(offset).", field: "Upload-Offset")
    }
}

/// A body that ends where its connection broke.
private struct ArrivingBody: AsyncSequence, Sendable {
    let body: CompleteBody

    init(_ body: CompleteBody) { self.body = body }

    func makeAsyncIterator() -> Iterator { Iterator(iterator: body.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        var iterator: CompleteBody.Iterator

        mutating func next() async -> ByteBuffer? { try? await iterator.next() }
    }
}
