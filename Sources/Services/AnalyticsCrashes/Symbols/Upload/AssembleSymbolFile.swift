import Crypto
import Foundation
import MartletCore
import MartletFiles
import MartletJobs
import NIOCore

/// The job that assembles a file from its chunks, reads its headers and puts it into use. Holds one portion of it in
/// memory at a time.
struct AssembleSymbolFile: JobHandler {
    struct Parameters: Codable {
        var file: UUID
    }

    static let kind = "symbols.assemble"
    static let timeLimit: Duration = .seconds(900)

    let files: SymbolFileStore
    let chunks: SymbolChunkStore
    let backend: any FileBackend

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        guard let file = try await files.startAssembling(parameters.file) else { return JobNoResult() }
        do {
            try await assemble(file)
        } catch let refusal as ObjectFile.Refusal {
            try await files.refuse(file.id, refusal.reason)
        } catch let error where job.isOver(after: error) {
            try await files.refuse(file.id, "The server could not assemble the file. Upload it again later.")
            throw error
        }
        for blob in try await chunks.delete(file.chunks, of: file.appID) { try await backend.remove(blob) }
        return JobNoResult()
    }

    private func assemble(_ file: SymbolFileStore.Pending) async throws {
        let found = try await chunks.touch(file.chunks, of: file.appID)
        let pieces = try file.chunks.map { sha1 in
            guard let chunk = found[sha1] else {
                throw ObjectFile.Refusal(reason: "Some chunks of the file are gone. Upload it again.")
            }
            return StoredPiece(blob: chunk.blob, sizeInBytes: chunk.sizeInBytes)
        }
        let content = HashedPortions(JoinedBlobs(pieces, in: backend))
        let blob = BlobName.random(in: SymbolChunkStore.blobSpace(of: file.appID))
        let written: WrittenFile
        do {
            written = try await backend.write(content, to: blob, limitInBytes: file.sizeInBytes)
        } catch FileError.missing {
            throw ObjectFile.Refusal(reason: "Some chunks of the file are gone. Upload it again.")
        }
        do {
            guard content.sha1 == file.sha1 else {
                throw ObjectFile.Refusal(reason: "The assembled file does not have this SHA-1.")
            }
            let source = ObjectSource(sizeInBytes: written.sizeInBytes) { [backend] in
                try await backend.bytes(of: blob, in: $0)
            }
            let parts = try await ObjectFile.parts(of: source)
            if let expected = file.expected, !parts.contains(where: { $0.debugID == expected }) {
                throw ObjectFile.Refusal(reason: "The file does not have the debug id \(expected).")
            }
            guard try await files.finish(file, as: blob, parts) else {
                return try await backend.remove(blob)
            }
        } catch let refusal as ObjectFile.Refusal {
            // After any other error the blob may be in use. If the blob is not in use, the sweep removes it.
            try? await backend.remove(blob)
            throw refusal
        }
    }
}

/// A stream that computes its SHA-1.
///
/// `@unchecked Sendable`: read by one task, once.
private final class HashedPortions: AsyncSequence, @unchecked Sendable {
    private let content: JoinedBlobs
    private var hash = Insecure.SHA1()

    init(_ content: JoinedBlobs) {
        self.content = content
    }

    /// The hash of what has been read so far.
    var sha1: String { Hexadecimal.text(hash.finalize()) }

    func makeAsyncIterator() -> Iterator { Iterator(portions: self, base: content.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        let portions: HashedPortions
        var base: JoinedBlobs.Iterator

        mutating func next() async throws -> ByteBuffer? {
            guard let portion = try await base.next() else { return nil }
            portion.withUnsafeReadableBytes { portions.hash.update(bufferPointer: $0) }
            return portion
        }
    }
}
