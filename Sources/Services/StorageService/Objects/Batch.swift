import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Several writes in one request, in order: either independent of each other, or all or none.
struct Batch: Sendable {
    static let maximumRequests = 100

    let postgres: PostgresClient
    let objects: ObjectStore
    let collections: CollectionStore
    let rights: RightsStore
    let before: BeforeHooks

    /// One write of a batch: `{"method","path","body"?,"ifMatch"?}`. The path is the part after the app key:
    /// `storage/Note/a`.
    struct Item: Sendable {
        enum Action: Sendable {
            case create(Document)
            case replace(ObjectID, Document)
            case change(ObjectID, Document)
            case delete(ObjectID)
        }

        let collection: CollectionName
        let action: Action
        let precondition: Precondition?

        /// The right that the write needs.
        var operation: Access.Operation {
            switch action {
            case .create: .create
            case .replace, .change: .update
            case .delete: .delete
            }
        }
    }

    /// The answer to one write.
    struct Outcome: Sendable {
        var status: Int
        /// The JSON of an object or a problem; nil for no body.
        var body: ByteBuffer?

        init(_ written: ObjectStore.Written, status: Int) {
            self.status = status
            body = written.rows[0].withBytes(0) { $0.map { ByteBuffer(bytes: $0) } }
        }

        init(status: Int, body: ByteBuffer? = nil) {
            self.status = status
            self.body = body
        }
    }

    /// Runs each write independently: a failure is an outcome, and the others continue.
    ///
    /// - Parameters:
    ///   - currentRights: Reads the caller's rights again, in case they changed during the calls of hooks.
    func run(
        _ items: [Item], in space: AppSchema, with rights: Rights, requestID: String,
        currentRights: () async throws -> Rights
    ) async throws -> [Outcome] {
        var rights = rights
        var outcomes: [Outcome] = []
        let deadline = ContinuousClock.now + before.settings.totalTime
        for item in items {
            var scope = QueryScope(space: space, collection: item.collection, rights: rights)
            do {
                let item = try await before.callHooks(for: item, in: scope, until: deadline)
                outcomes.append(
                    try await objects.repeatingAfterDrop(in: space) {
                        if !self.rights.isCurrent(rights) { rights = try await currentRights() }
                        scope.rights = rights
                        return try await run(item, scope, objects)
                    })
            } catch let problem as ServiceError where problem.isCallersFault || problem.code == .hookFailed {
                let body = try await problem.response(requestID: requestID).wholeBody()
                outcomes.append(Outcome(status: problem.code.status, body: body))
            }
        }
        return outcomes
    }

    /// Whether any of the collections has a `before…` hook.
    func hasHook(for items: [Item], in space: AppSchema, with rights: Rights) async throws -> Bool {
        for name in Set(items.map(\.collection)) {
            let scope = QueryScope(space: space, collection: name, rights: rights)
            if try await before.hasHook(for: [.beforeSave, .beforeDelete], in: scope) { return true }
        }
        return false
    }

    /// Returns an all-or-none batch as changed by the hooks. They are called before the batch begins, so they do not
    /// see what its earlier writes will have changed.
    ///
    /// - Throws: The first refusal, naming the request.
    func callHooks(for items: [Item], in space: AppSchema, with rights: Rights) async throws -> [Item] {
        let deadline = ContinuousClock.now + before.settings.totalTime
        var results: [Item] = []
        for (number, item) in items.enumerated() {
            do {
                let scope = QueryScope(space: space, collection: item.collection, rights: rights)
                results.append(try await before.callHooks(for: item, in: scope, until: deadline))
            } catch let problem as ServiceError {
                throw problem.within("requests.\(number)")
            }
        }
        return results
    }

    /// Runs all writes or none, in the store's transaction or in a new one.
    ///
    /// - Throws: The first failure, naming the request.
    func runAll(
        _ items: [Item], in space: AppSchema, with rights: Rights, _ objects: ObjectStore,
        currentRights: () async throws -> Rights
    ) async throws -> [Outcome] {
        try await makeCollections(for: items, in: space, with: rights)
        if objects.isInTransaction { return try await runEach(items, in: space, with: rights, objects) }
        do {
            return try await runInTransaction(items, in: space, with: rights, objects)
        } catch let error as PostgresError where error.isMissingCollection {
            // Another copy has dropped a collection, and with it the collection's rules.
            self.rights.forget(space)
            let rights = try await currentRights()
            try await makeCollections(for: items, in: space, with: rights)
            return try await runInTransaction(items, in: space, with: rights, objects)
        }
    }

    private func runInTransaction(
        _ items: [Item], in space: AppSchema, with rights: Rights, _ objects: ObjectStore
    ) async throws -> [Outcome] {
        try await postgres.withTransaction(role: space.role, serializationRetries: 3) { transaction in
            try await runEach(items, in: space, with: rights, objects.within(transaction))
        }
    }

    private func runEach(_ items: [Item], in space: AppSchema, with rights: Rights, _ objects: ObjectStore) async throws
        -> [Outcome]
    {
        var outcomes: [Outcome] = []
        for (number, item) in items.enumerated() {
            do {
                outcomes.append(
                    try await run(item, QueryScope(space: space, collection: item.collection, rights: rights), objects))
            } catch let problem as ServiceError {
                throw problem.within("requests.\(number)")
            }
        }
        return outcomes
    }

    private func run(_ item: Item, _ scope: QueryScope, _ objects: ObjectStore) async throws -> Outcome {
        switch item.action {
        case .create(let document):
            let written = try await objects.create(document, in: scope)
            return Outcome(written, status: written.isNew ? 201 : 200)
        case .replace(let id, let document):
            let written = try await objects.replace(id, with: document, if: item.precondition, in: scope)
            guard let written else { throw ServiceError(.objectNotFound) }
            return Outcome(written, status: 200)
        case .change(let id, let document):
            let written = try await objects.change(id, by: document, if: item.precondition, in: scope)
            guard let written else { throw ServiceError(.objectNotFound) }
            return Outcome(written, status: 200)
        case .delete(let id):
            guard try await objects.delete(id, if: item.precondition, in: scope) else {
                throw ServiceError(.objectNotFound)
            }
            return Outcome(status: 204)
        }
    }

    /// Creates the collections before the batch's transaction, which an error about a missing table would abort.
    /// A collection is not created if the rules do not allow its first object; the batch then fails there.
    private func makeCollections(for items: [Item], in space: AppSchema, with rights: Rights) async throws {
        let known = try await self.rights.collections(of: space)
        for name in Set(items.map(\.collection)) where known[name.text] == nil {
            guard (try? rights.access(to: name).require(.create)) != nil else { continue }
            try await collections.create(name, of: space)
        }
    }
}

extension Batch.Item {
    /// - Throws: as `Document`, `invalid-body`, `invalid-path`; the caller names the request.
    init(_ bytes: ArraySlice<UInt8>) throws {
        let refusal = ServiceError(
            .invalidBody, "Expected an object with \"method\", \"path\" and optionally \"body\" and \"ifMatch\".")
        guard bytes.first == UInt8(ascii: "{") else { throw refusal }
        let members = try JSONText.members(of: bytes)
        try JSONText.refuseUnknown(members, known: ["method", "path", "body", "ifMatch"])
        func text(_ name: String) -> ArraySlice<UInt8>? { members.first { $0.name == name }.map { bytes[$0.value] } }
        func value(_ name: String) throws -> JSONValue? { try text(name).map { try JSONText.value(of: $0) } }
        guard case .string(let method) = try value("method"), case .string(let path) = try value("path") else {
            throw refusal
        }
        let parts = path.drop { $0 == "/" }.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.first == "storage", (2...3).contains(parts.count) else {
            throw ServiceError(
                .invalidPath,
                """
                Expected "storage/{collection}" or "storage/{collection}/{id}", \
                found \(JSONValue.excerpt(path)).
                """, field: "path")
        }
        collection = try CollectionName(String(parts[1]))
        let id = try parts.count == 3 ? ObjectID(String(parts[2])) : nil
        guard text("body")?.count ?? 0 <= Document.maximumSizeInBytes else { throw ServiceError(.payloadTooLarge) }
        let body = ByteBuffer(bytes: text("body") ?? [])
        switch (method, id) {
        case ("POST", nil): action = .create(try Document(body, allowingOperations: true))
        case ("PUT", let id?): action = .replace(id, try Document(body, replacing: id))
        case ("PATCH", let id?): action = .change(id, try Document(body, replacing: id, allowingOperations: true))
        case ("DELETE", let id?): action = .delete(id)
        default:
            throw ServiceError.unexpectedMember(
                "method", expected: "POST to a collection, or PUT, PATCH or DELETE of an object", found: method)
        }
        switch try value("ifMatch") {
        case nil: precondition = nil
        case .string(let tags): precondition = Precondition(tags: try EntityTag.list(tags, of: "ifMatch")?.map(\.text))
        case let value?:
            throw ServiceError(
                .invalidBody, "Expected a string with an entity tag in quotes, found \(value.phrase).",
                field: "ifMatch")
        }
    }
}

extension JSONText {
    /// - Throws: `invalid-body`, naming the first unknown member and the most similar known one.
    static func refuseUnknown(_ members: [Member], known: [String]) throws {
        for member in members where !known.contains(where: { $0.hasSameBytes(as: member.name) }) {
            throw ServiceError.unknownMember(member.name, known: known)
        }
    }

    /// As `members(of:)`, with ranges in `bytes`.
    ///
    /// - Throws: as `checked`.
    static func members(of bytes: ArraySlice<UInt8>) throws -> [Member] {
        try bytes.withUnsafeBufferPointer { text in
            try checked { () throws(JSONError) in try members(of: text) }
        }.map {
            Member(
                name: $0.name, value: $0.value.lowerBound + bytes.startIndex..<$0.value.upperBound + bytes.startIndex)
        }
    }

    /// - Throws: as `checked`.
    static func value(of bytes: ArraySlice<UInt8>) throws -> JSONValue {
        try checked { () throws(JSONError) in try JSONValue(parsing: bytes) }
    }
}
