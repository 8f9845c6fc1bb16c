import AsyncHTTPClient
public import Foundation
public import MartletCore
public import NIOCore
import NIOHTTP1

/// Stores blobs as objects in a bucket of an S3-compatible store.
///
/// A stream longer than one part is sent as a multipart upload, so that its length need not be known and only one part
/// is held in memory. S3 accepts 10,000 parts; with parts of 8 MiB a blob can have up to 78 GiB.
public struct S3Files: FileBackend {
    public struct Configuration: Sendable {
        /// For example `https://s3.eu-central-1.amazonaws.com`, without a path.
        public var endpoint: String
        public var bucket: String
        public var region: String
        public var accessKey: String
        public var secretKey: Secret
        /// At least 5 MiB, which S3 requires of every part but the last.
        public var partSizeInBytes = 8 << 20

        public init(endpoint: String, bucket: String, region: String, accessKey: String, secretKey: Secret) {
            self.endpoint = endpoint
            self.bucket = bucket
            self.region = region
            self.accessKey = accessKey
            self.secretKey = secretKey
        }
    }

    /// The endpoint is not an `http` or `https` address without path, query and user.
    public struct InvalidEndpoint: Error {}

    private let client: S3Client
    private let partSize: Int

    public init(_ configuration: Configuration) throws {
        client = try S3Client(configuration)
        partSize = configuration.partSizeInBytes
    }

    public func write<Content: AsyncSequence & Sendable>(
        _ content: Content, to blob: BlobName, limitInBytes: Int
    ) async throws -> WrittenFile where Content.Element == ByteBuffer {
        var upload: MultipartUpload?
        do {
            var meter = ContentMeter(limitInBytes: limitInBytes)
            var pending = ByteBuffer()
            for try await portion in content {
                try meter.add(portion)
                pending.writeImmutableBuffer(portion)
                while let part = pending.readSlice(length: partSize) {
                    if upload == nil { upload = try await MultipartUpload(of: blob, client) }
                    try await upload?.send(part)
                    pending.discardReadBytes()
                }
            }
            if upload == nil {
                _ = try await client.send(.PUT, blob.key, body: pending)
            } else {
                if pending.readableBytes > 0 { try await upload?.send(pending) }
                try await upload?.complete()
            }
            return meter.result
        } catch {
            // In a separate task, because this one may be cancelled. Uploads missed here are removed by
            // `removeAbandoned`.
            if let upload { Task { try? await upload.abort() } }
            throw error
        }
    }

    public func read(_ blob: BlobName, in range: Range<Int>, _ consume: (ByteBuffer) async throws -> Void) async throws
    {
        guard !range.isEmpty else { return }
        let answer = try await client.send(
            .GET, blob.key, headers: [("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")],
            accepting: [206, 404])
        guard answer.status == 206 else { throw FileError.missing(blob) }
        var count = 0
        for try await portion in answer.body {
            count += portion.readableBytes
            try await consume(portion)
        }
        guard count == range.count else {
            throw FileError.unavailable(cause: "S3 GET: \(count) bytes of \(range.count)")
        }
    }

    public func remove(_ blob: BlobName) async throws {
        _ = try await client.send(.DELETE, blob.key, accepting: [200, 204, 404])
    }

    public func list(_ space: String, after cursor: String?, limit: Int) async throws -> BlobPage {
        var query = [("list-type", "2"), ("max-keys", String(min(limit, 1_000))), ("prefix", space + "/")]
        if let cursor { query.append(("continuation-token", cursor)) }
        return try Self.page(try await client.send(.GET, nil, query: query).text(), of: space)
    }

    /// Only the store's flag shows whether more pages follow: a page may have fewer blobs than requested.
    static func page(_ text: String, of space: String) throws -> BlobPage {
        let answer = XMLText(text)
        let next = answer["IsTruncated"] == "true" ? answer["NextContinuationToken"] : nil
        guard next != nil || answer["IsTruncated"] == "false" else {
            throw FileError.unavailable(cause: "S3 GET: the list does not state whether or where it continues")
        }
        let blobs = answer.all("Contents").compactMap { entry -> StoredBlob? in
            let entry = XMLText(entry)
            guard let id = entry["Key"]?.split(separator: "/").last.map(String.init),
                BlobName(space: space, id: id) != nil,
                let written = entry["LastModified"].flatMap(Self.date)
            else { return nil }
            return StoredBlob(id: id, written: written)
        }
        return BlobPage(blobs: blobs, next: next)
    }

    public func removeAbandoned(before date: Date, in space: String) async throws {
        var marker: [(String, String)] = []
        for _ in 0..<Self.maximumPagesOfUploads {
            let query = [("uploads", ""), ("prefix", space + "/")] + marker
            let page = XMLText(try await client.send(.GET, nil, query: query).text())
            for entry in page.all("Upload").map({ XMLText($0) }) {
                guard let key = entry["Key"], let id = entry["UploadId"],
                    let begun = entry["Initiated"].flatMap(Self.date),
                    begun < date
                else { continue }
                _ = try await client.send(.DELETE, key, query: [("uploadId", id)], accepting: [204, 404])
            }
            guard page["IsTruncated"] == "true", let key = page["NextKeyMarker"], let id = page["NextUploadIdMarker"]
            else { return }
            marker = [("key-marker", key), ("upload-id-marker", id)]
        }
    }

    /// Each page lists up to 1,000 uploads; the next sweep continues.
    private static let maximumPagesOfUploads = 100

    /// Parses a time with or without fractional seconds.
    private static func date(_ text: String) -> Date? {
        Date(rfc3339: text)
    }
}

/// A multipart upload in progress.
private struct MultipartUpload: Sendable {
    private let client: S3Client
    private let key: String
    private let id: String
    private var tags: [String] = []

    init(of blob: BlobName, _ client: S3Client) async throws {
        self.client = client
        key = blob.key
        let answer = try await client.send(.POST, key, query: [("uploads", "")])
        guard let id = XMLText(try await answer.text())["UploadId"] else {
            throw FileError.unavailable(cause: "S3 POST: no upload id")
        }
        self.id = id
    }

    mutating func send(_ part: ByteBuffer) async throws {
        let answer = try await client.send(
            .PUT, key, query: [("partNumber", String(tags.count + 1)), ("uploadId", id)], body: part)
        guard let tag = answer.headers.first(name: "etag") else {
            throw FileError.unavailable(cause: "S3 PUT: no ETag")
        }
        tags.append(tag)
    }

    /// S3 may answer 200 with an error in the body.
    func complete() async throws {
        let parts = tags.enumerated().map { "<Part><PartNumber>\($0 + 1)</PartNumber><ETag>\($1)</ETag></Part>" }
        let body = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        let answer = try await client.send(.POST, key, query: [("uploadId", id)], body: ByteBuffer(string: body))
        let text = try await answer.text()
        guard text.contains("CompleteMultipartUploadResult") else {
            throw FileError.unavailable(cause: "S3 POST: \(XMLText(text)["Code"] ?? "not completed")")
        }
    }

    func abort() async throws {
        _ = try await client.send(.DELETE, key, query: [("uploadId", id)], accepting: [204, 404])
    }
}
