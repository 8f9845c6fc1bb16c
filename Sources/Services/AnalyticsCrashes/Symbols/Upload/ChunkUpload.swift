import Crypto
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCompression
import MartletCore
import MartletFiles
import MartletHTTP
import NIOCore

/// Receives chunks of files. Holds one chunk of a request in memory at a time, compressed and decompressed.
struct ChunkUpload: Sendable {
    static let maximumChunkSizeInBytes = 8 << 20
    static let maximumChunks = 64
    static let maximumRequestSizeInBytes = 32 << 20
    /// Compression can make a chunk slightly larger.
    private static let maximumPackedSizeInBytes = maximumChunkSizeInBytes + (64 << 10)
    /// Includes the boundaries and headers of the form.
    private static let maximumBodySizeInBytes = maximumRequestSizeInBytes + (1 << 20)

    let chunks: SymbolChunkStore
    let backend: any FileBackend
    let maximumPendingSizeInBytes: Int
    private let semaphore = AsyncSemaphore(
        limit: 4, maximumWaiting: 64,
        refusal: ServiceError(
            .tooManyRequests, "Too many uploads are running. Try again later.", retryAfter: 2))

    init(chunks: SymbolChunkStore, backend: any FileBackend, settings: SymbolSettings) {
        self.chunks = chunks
        self.backend = backend
        maximumPendingSizeInBytes = settings.maximumPendingSizeInBytes
    }

    /// - Throws: `invalid-body`, `payload-too-large`, `limit-exceeded`, `too-many-requests`.
    func receive(_ request: Request, of appID: String) async throws {
        try await semaphore.withPermit {
            guard try await chunks.pendingSizeInBytes(of: appID) < maximumPendingSizeInBytes else {
                throw ServiceError(
                    .limitExceeded,
                    "The app already has \(maximumPendingSizeInBytes) bytes of chunks that are not assembled yet.")
            }
            try await read(request, of: appID)
        }
    }

    private func read(_ request: Request, of appID: String) async throws {
        do {
            var parser = try MultipartParser(contentType: request.headers[.contentType] ?? "")
            var (size, count) = (0, 0)
            var (name, content) = (String?.none, ByteBuffer())
            for try await portion in request.body {
                size += portion.readableBytes
                guard size <= Self.maximumBodySizeInBytes else {
                    throw ServiceError(
                        .payloadTooLarge,
                        "A request may have at most \(Self.maximumRequestSizeInBytes) bytes of chunks.")
                }
                parser.feed(portion)
                while let event = try parser.next() {
                    switch event {
                    case .part(let fileName, _):
                        count += 1
                        guard count <= Self.maximumChunks else {
                            throw ServiceError(
                                .limitExceeded, "A request may have at most \(Self.maximumChunks) chunks.")
                        }
                        name = fileName
                        content.clear()
                    case .data(let bytes):
                        guard content.readableBytes + bytes.readableBytes <= Self.maximumPackedSizeInBytes else {
                            throw Self.tooLarge
                        }
                        content.writeImmutableBuffer(bytes)
                    case .endOfPart:
                        if let name { try await store(content, named: name, of: appID) }
                        name = nil
                    case .end: break
                    }
                }
            }
            guard parser.isAtEnd else { throw MultipartParser.Malformed(reason: "it ends without its last boundary") }
        } catch let error as MultipartParser.Malformed {
            throw ServiceError(.invalidBody, "Expected a multipart/form-data body, but \(error.reason).")
        }
    }

    private func store(_ content: ByteBuffer, named name: String, of appID: String) async throws {
        guard Self.isSHA1(name) else {
            throw ServiceError.unexpectedMember("filename", expected: "the SHA-1 of the chunk", found: name)
        }
        guard try await chunks.touch([name], of: appID).isEmpty else { return }
        let bytes = try Self.unpacked(content, sha1: name)
        let blob = BlobName.random(in: SymbolChunkStore.blobSpace(of: appID))
        _ = try await backend.write(OnePortion(portion: bytes), to: blob, limitInBytes: Self.maximumChunkSizeInBytes)
        let chunk = SymbolChunkStore.Chunk(sha1: name, blob: blob, sizeInBytes: bytes.readableBytes)
        if try await !chunks.insert(chunk, of: appID) { try await backend.remove(blob) }
    }

    /// The bytes with this SHA-1: as received, or decompressed from gzip.
    private static func unpacked(_ content: ByteBuffer, sha1: String) throws -> ByteBuffer {
        if content.readableBytes <= maximumChunkSizeInBytes, content.readableBytes > 0, hash(content) == sha1 {
            return content
        }
        let bytes: ByteBuffer
        do {
            bytes = try Inflate.decode(content, .gzip, upTo: maximumChunkSizeInBytes)
        } catch .tooLarge {
            throw tooLarge
        } catch .damaged {
            throw ServiceError(.invalidBody, "The SHA-1 of a chunk's bytes does not match the chunk's name: \(sha1).")
        }
        guard bytes.readableBytes > 0, hash(bytes) == sha1 else {
            throw ServiceError(.invalidBody, "The SHA-1 of a chunk's bytes does not match the chunk's name: \(sha1).")
        }
        return bytes
    }

    private static let tooLarge = ServiceError(
        .payloadTooLarge, "A chunk may have at most \(maximumChunkSizeInBytes) bytes.")

    private static func hash(_ bytes: ByteBuffer) -> String {
        var hash = Insecure.SHA1()
        bytes.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        return Hexadecimal.text(hash.finalize())
    }

    static func isSHA1(_ text: String) -> Bool {
        text.utf8.count == 40 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
