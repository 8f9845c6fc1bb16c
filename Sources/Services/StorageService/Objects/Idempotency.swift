import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `Idempotency-Key` (IETF draft-ietf-httpapi-idempotency-key-header): repeating a request returns the first answer and
/// does not repeat the write.
///
/// Key, write and answer are stored in one transaction, so this works across copies of the service and after crashes. A
/// repetition waits for the first request if it is still in progress. Failures are not recorded, because nothing was
/// written. Answers are kept for a day.
struct Idempotency: Sendable {
    static let header = HTTPField.Name("Idempotency-Key")!
    static let replayed = HTTPField.Name("Idempotency-Replayed")!
    static let maximumAnswerSizeInBytes = 4 << 20
    static let retentionInSeconds = 86_400

    let postgres: PostgresClient
    let objects: ObjectStore
    let collections: CollectionStore

    /// Runs `write` once per key, and passes it the store in a transaction. Without a key, passes the store itself.
    ///
    /// - Parameter write: Runs again if it fails because the collection was dropped, so it must read the caller's
    ///   rights itself, unless they are current.
    /// - Throws: The errors of `write`; `invalid-parameter`; `idempotency-key-reused` if the key was used for
    ///   another request.
    func perform(
        _ request: Request, _ body: ByteBuffer, in scope: QueryScope,
        _ write: @Sendable (ObjectStore) async throws -> Response
    ) async throws -> Response {
        guard let key = request.headers[Self.header] else {
            return try await objects.repeatingAfterDrop(in: scope.space) { try await write(objects) }
        }
        try Self.check(key)
        let digest = Self.digest(request, body)
        let caller = Self.caller(scope)
        do {
            return try await objects.repeatingAfterDrop(in: scope.space) {
                // Read before the transaction, which would otherwise need a second connection for them.
                _ = try await objects.rights.collections(of: scope.space)
                return try await performOnce(key, caller, digest, in: scope, write)
            }
        } catch let error as PostgresError where error.isMissingCollection {
            // The current rules allow the write, so the collection is not created for one that is refused.
            try await collections.create(scope.collection, of: scope.space)
            return try await performOnce(key, caller, digest, in: scope, write)
        }
    }

    /// The recorded answer to the same request, for steps before `perform`; nil if there is no key or no answer yet.
    ///
    /// - Throws: As `perform`.
    func earlier(_ request: Request, _ body: ByteBuffer, in scope: QueryScope) async throws -> Response? {
        guard let key = request.headers[Self.header] else { return nil }
        try Self.check(key)
        let (table, digest, caller) = (
            try scope.space.own("_idempotency"), Self.digest(request, body), Self.caller(scope)
        )
        return try await postgres.withTransaction(role: scope.space.role) { transaction in
            let rows = try await transaction.query("SELECT FROM \(table) WHERE asker = \(caller) AND key = \(key)")
            return rows.isEmpty ? nil : try await recorded(key, caller, digest, table, transaction)
        }
    }

    private static func check(_ key: String) throws {
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            throw ServiceError(
                .invalidParameter, "Expected 1 to 255 printable ASCII characters.", field: "Idempotency-Key")
        }
    }

    private static func caller(_ scope: QueryScope) -> String {
        scope.rights.identity == .master ? "master" : "user:" + (scope.rights.identity.userID ?? "")
    }

    private func performOnce(
        _ key: String, _ caller: String, _ digest: [UInt8], in scope: QueryScope,
        _ write: @Sendable (ObjectStore) async throws -> Response
    ) async throws -> Response {
        let table = try scope.space.own("_idempotency")
        let response = try await postgres.withTransaction(role: scope.space.role, serializationRetries: 3) {
            transaction -> Response in
            let added = try await transaction.execute(
                """
                INSERT INTO \(table) (asker, key, request) VALUES (\(caller), \(key), \(digest)) ON CONFLICT DO NOTHING
                """)
            guard added == 1 else { return try await recorded(key, caller, digest, table, transaction) }
            let response = try await write(objects.within(transaction))
            let answer = try await response.wholeBody()
            guard answer.readableBytes <= Self.maximumAnswerSizeInBytes else {
                throw ServiceError(
                    .limitExceeded,
                    "With an Idempotency-Key an answer may have at most \(Self.maximumAnswerSizeInBytes) bytes.")
            }
            try await transaction.execute(
                """
                UPDATE \(table) SET status = \(response.status.code), etag = \(response.headers[.eTag]),
                    body = \(Array(answer.readableBytesView))
                WHERE asker = \(caller) AND key = \(key)
                """)
            return Response(status: response.status, headers: response.headers, body: .whole(answer))
        }
        objects.signal.written(in: scope.space)
        return response
    }

    private func recorded(
        _ key: String, _ caller: String, _ digest: [UInt8], _ table: PostgresIdentifier,
        _ transaction: PostgresTransaction
    ) async throws -> Response {
        let rows = try await transaction.query(
            "SELECT request, status, etag, body FROM \(table) WHERE asker = \(caller) AND key = \(key)")
        guard let row = rows.first else { throw ServiceError(.unavailable) }
        guard try row.decode(0, as: [UInt8].self) == digest else {
            throw ServiceError(.idempotencyKeyReused, field: "Idempotency-Key")
        }
        let (status, body) = (try row.decode(1, as: Int.self), try row.decode(3, as: [UInt8].self))
        var response =
            body.isEmpty
            ? Response(status: .init(code: status))
            : Response.json(ByteBuffer(bytes: body), status: .init(code: status))
        response.headers[.eTag] = try row.decode(2, as: String?.self)
        response.headers[Self.replayed] = "true"
        return response
    }

    /// A digest of the parts that must be the same in a repeated request: method, path with parameters, `If-Match`,
    /// body.
    private static func digest(_ request: Request, _ body: ByteBuffer) -> [UInt8] {
        var hash = SHA256()
        for part in [request.method.rawValue, request.uri.string, request.headers[.ifMatch] ?? ""] {
            hash.update(data: Data("\(part.utf8.count):\(part)".utf8))
        }
        hash.update(data: body.readableBytesView)
        return Array(hash.finalize())
    }
}
