import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Calls a collection's `before…` hooks, which decide whether an object may be written, and in what form.
///
/// Runs before the write begins, so that no connection or transaction waits for a hook. A hook may be called for the
/// same write more than once, and stored objects may change between its answer and the write. Writes that cannot
/// succeed are refused here with the write's own error before any hook is called. Otherwise a hook's answer could
/// reveal what the caller may not see.
struct BeforeHooks: Sendable {
    let hooks: HookStore
    let client: HookClient
    let ledger: HookLedger
    let postgres: PostgresClient
    let settings: HookSettings

    /// A write about to be made.
    enum Write: Sendable {
        case create(Document, mustBeNew: Bool)
        case replace(ObjectID, Document)
        /// An upsert creates a missing object.
        case change(ObjectID, Document, isUpsert: Bool)
        case remove(ObjectID)
        case delete(ObjectID)

        var event: Hook.Event {
            switch self {
            case .create, .replace, .change: .beforeSave
            case .remove, .delete: .beforeDelete
            }
        }

        var document: Document? {
            switch self {
            case .create(let document, _), .replace(_, let document), .change(_, let document, _): document
            case .remove, .delete: nil
            }
        }
    }

    func hasHook(for events: Set<Hook.Event>, in scope: QueryScope) async throws -> Bool {
        try await hooks.enabled(in: scope.space).contains {
            events.contains($0.event) && $0.collection == scope.collection.text
        }
    }

    /// Returns the document to write in place of the given one.
    ///
    /// - Throws: `hook-refused`, `hook-failed`; `forbidden`, `object-not-found`, `conflict`, `precondition-failed` as
    ///   the write itself.
    func documentToSave(_ write: Write, _ document: Document, in scope: QueryScope) async throws -> Document {
        try await callHooks(for: write, in: scope).document ?? document
    }

    /// Returns the write as changed by the hooks, which are called one after the other in the order of their names.
    /// Returns it unchanged if there are none.
    func callHooks(
        for write: Write, in scope: QueryScope, until deadline: ContinuousClock.Instant? = nil
    ) async throws -> Write {
        let matching = try await hooks.enabled(in: scope.space).filter { hook in
            hook.event == write.event && hook.collection == scope.collection.text
        }
        guard !matching.isEmpty else { return write }
        // Rules are applied to what the client sent, not to what the hooks make of it.
        let scope = if case .change(_, let document, _) = write { scope.checking(document) } else { scope }
        try scope.access.require(write.operation)
        let deadline = deadline ?? .now + settings.totalTime
        var write = write
        for hook in matching {
            let states = try await states(of: write, in: scope)
            let message = HookMessage(hook, scope.rights.identity).body(with: [
                ("object", states.after), ("original", states.before),
            ])
            let verdict = try await HookVerdict(hook, in: scope.space, ledger) {
                guard deadline > .now else { return WebhookOutcome(.timeout) }
                return try await client.call(message, hook, in: scope.space, within: deadline - .now)
            }
            if let object = verdict.answer["object"], object != .null {
                write = try Self.write(write, with: object, hook)
            }
        }
        return write
    }

    /// Replaces the client's fields with the hook's.
    private static func write(_ write: Write, with object: JSONValue, _ hook: Hook) throws -> Write {
        let body = ByteBuffer(string: completed(object, by: write.document).text)
        func made(_ id: ObjectID?) throws -> Document {
            var made = try id.map { try Document(body, replacing: $0) } ?? Document(body)
            if let sent = write.document { made.touched.keep(sent.touched) }
            return made
        }
        do {
            switch write {
            case .create(let document, let mustBeNew): return .create(try made(document.id), mustBeNew: mustBeNew)
            case .replace(let id, _): return .replace(id, try made(id))
            case .change(let id, _, let isUpsert): return .change(id, try made(id), isUpsert: isUpsert)
            case .remove, .delete: return write
            }
        } catch let problem as ServiceError {
            throw ServiceError(
                .hookFailed, "The hook \"\(hook.name)\" answered with an object that cannot be stored.",
                cause: "\(problem.code.rawValue) \(problem.field ?? "")")
        }
    }

    /// Adds the client's id and lists of readers and writers if the hook's object has none. Otherwise a hook that omits
    /// the lists would open the object to everyone.
    private static func completed(_ object: JSONValue, by document: Document?) -> JSONValue {
        guard case .object(var members) = object, let document else { return object }
        func add(_ field: SystemField, _ value: JSONValue?) {
            if let value, object[field.rawValue] == nil { members.append(.init(field.rawValue, value)) }
        }
        add(.id, document.id.map { .string($0.text) })
        add(.readers, document.readers.json)
        add(.writers, document.writers.json)
        return .object(members)
    }

    // MARK: The states that hooks receive

    /// The stored object and the expected result of the write, as JSON text; nil if there is none.
    private func states(of write: Write, in scope: QueryScope) async throws -> (before: String?, after: String?) {
        switch write {
        case .create(let document, let mustBeNew):
            guard let id = document.id else { return (nil, try await initial(document, scope)) }
            let kept = scope.access.kept(of: "doc").map { "\($0) || " as PostgresQuery } ?? ""
            let doc: PostgresQuery =
                document.operations == nil
                ? "\(kept)\(document.stored)" : "\(kept)storage.apply('{}', \(document.stored), TRUE)"
            guard let found = try await stored(id, document, doc, .update, in: scope) else {
                return (nil, try await initial(document, scope))
            }
            guard !mustBeNew else {
                throw ServiceError(.preconditionFailed, "An object with this id exists.", field: "_id")
            }
            guard found.mayWrite else {
                guard !found.mayRead else { throw Access.refusal(.update) }
                throw ServiceError(.conflict, "The id is taken.", field: "_id")
            }
            return (found.before, found.after)
        case .replace(let id, let document):
            let kept = scope.access.kept(of: "doc").map { "\($0) || " as PostgresQuery } ?? ""
            return try await writable(id, document, "\(kept)\(document.stored)", .update, in: scope)
        case .change(let id, let document, let isUpsert):
            let doc: PostgresQuery =
                document.operations == nil
                ? "doc || \(document.stored)" : "storage.apply(doc, \(document.stored), FALSE)"
            let fieldGuard = try scope.access.hiddenFieldGuard(document.touched.operated)
            guard isUpsert else { return try await writable(id, document, doc, .update, fieldGuard, in: scope) }
            guard let found = try await stored(id, document, doc, .update, fieldGuard, in: scope) else {
                try scope.access.require(.create)
                return (nil, try await initial(document, scope))
            }
            guard found.mayRead else {
                throw ServiceError(.preconditionFailed, "An object with this id exists.", field: "_id")
            }
            try Self.check(found, .update, fieldGuard)
            return (found.before, found.after)
        case .remove(let id): return (try await writable(id, nil, "doc", .delete, in: scope).before, nil)
        case .delete(let id):
            return (try await writable(id, nil, "doc", .delete, includingRemoved: true, in: scope).before, nil)
        }
    }

    /// - Throws: `object-not-found`, also for objects that the caller may not read; `forbidden` for those that they may
    ///   read but not write.
    private func writable(
        _ id: ObjectID, _ document: Document?, _ doc: PostgresQuery, _ operation: Access.Operation,
        _ fieldGuard: Access.HiddenFieldGuard? = nil,
        includingRemoved: Bool = false, in scope: QueryScope
    ) async throws -> (before: String?, after: String?) {
        let found = try await stored(
            id, document, doc, operation, fieldGuard, includingRemoved: includingRemoved, in: scope)
        guard let found, found.mayRead else { throw ServiceError(.objectNotFound) }
        try Self.check(found, operation, fieldGuard)
        return (found.before, found.after)
    }

    private static func check(_ found: Stored, _ operation: Access.Operation, _ fieldGuard: Access.HiddenFieldGuard?)
        throws
    {
        guard found.mayWrite else { throw Access.refusal(operation) }
        if let fieldGuard, !found.seesDependencies { throw fieldGuard.refusal }
    }

    private struct Stored {
        var before: String
        var after: String
        /// Whether the caller may read the object, whether they may also write it, and whether they can see every field
        /// on which the write depends.
        var mayRead: Bool
        var mayWrite: Bool
        var seesDependencies: Bool
    }

    /// The stored object, and the object with `doc` as its document; nil if there is none. The document only changes if
    /// the caller may write the object and can see every field on which the write depends.
    private func stored(
        _ id: ObjectID, _ document: Document?, _ doc: PostgresQuery, _ operation: Access.Operation,
        _ fieldGuard: Access.HiddenFieldGuard? = nil,
        includingRemoved: Bool = false, in scope: QueryScope
    ) async throws -> Stored? {
        let (readers, writers) = (Self.list(document?.readers, "readers"), Self.list(document?.writers, "writers"))
        let after: PostgresQuery = "CASE WHEN s.may AND s.shows THEN \(doc) ELSE doc END"
        let rows = try await run(
            """
            SELECT \(Rendering.object(.master)), (
                SELECT \(Rendering.object(after, keys: nil))
                FROM (SELECT s.id, s.created, s.updated, s.deleted, s.version, \(readers) AS readers, \(writers) AS writers, s.doc) AS state),
                seen, may, shows
            FROM (
                SELECT *, \(scope.access.columns(for: operation)),
                    (\(fieldGuard?.condition ?? "TRUE")) IS TRUE AS shows FROM \(try scope.table)
                WHERE id = \(id.text)\(includingRemoved ? "" : " AND deleted IS NULL" as PostgresQuery) OFFSET 0) AS s
            """, in: scope.space)
        guard let row = rows?.first else { return nil }
        return Stored(
            before: try row.decode(0), after: try row.decode(1), mayRead: try row.decode(2),
            mayWrite: try row.decode(3), seesDependencies: try row.decode(4))
    }

    private static func list(_ listing: Document.Listing?, _ column: StaticString) -> PostgresQuery {
        guard let listing, listing != .absent else { return "s.\(unescaped: column)" }
        return "\(listing.names)"
    }

    /// A new object as sent, with its operations applied.
    private func initial(_ document: Document, _ scope: QueryScope) async throws -> String {
        guard document.operations != nil else { return String(decoding: document.json.bytes, as: UTF8.self) }
        let rows = try await run("SELECT storage.apply('{}', \(document.stored), TRUE)::text", in: scope.space)
        return try rows?.first?.decode(0) ?? "{}"
    }

    /// Nil if the collection does not exist.
    private func run(_ statement: PostgresQuery, in space: AppSchema) async throws -> PostgresRows? {
        var statement = statement
        statement.role = space.role
        do {
            return try await postgres.query(statement)
        } catch let error as PostgresError {
            if error.isUndefinedTable { return nil }
            throw error.clientProblem ?? error
        }
    }
}

extension BeforeHooks.Write {
    /// The operation that the rules must allow first.
    fileprivate var operation: Access.Operation {
        switch self {
        case .create: .create
        case .replace, .change: .update
        case .remove, .delete: .delete
        }
    }
}

extension Document.Listing {
    fileprivate var json: JSONValue? {
        switch self {
        case .absent: nil
        case .everyone: .null
        case .names(let names): .array(names.map { .string($0) })
        }
    }
}

// MARK: - Batches

extension BeforeHooks {
    /// Returns a write of a batch as changed by the hooks.
    func callHooks(
        for item: Batch.Item, in scope: QueryScope, until deadline: ContinuousClock.Instant
    ) async throws -> Batch.Item {
        let write: Write =
            switch item.action {
            case .create(let document): .create(document, mustBeNew: false)
            case .replace(let id, let document): .replace(id, document)
            case .change(let id, let document): .change(id, document, isUpsert: false)
            case .delete(let id): .delete(id)
            }
        let result = try await callHooks(for: write, in: scope, until: deadline)
        guard let document = result.document else { return item }
        let action: Batch.Item.Action =
            switch item.action {
            case .create: .create(document)
            case .replace(let id, _): .replace(id, document)
            case .change(let id, _): .change(id, document)
            case .delete: item.action
            }
        return Batch.Item(collection: item.collection, action: action, precondition: item.precondition)
    }
}
