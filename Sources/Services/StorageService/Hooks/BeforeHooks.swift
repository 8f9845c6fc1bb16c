import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Asks the `before…` hooks of a collection whether, and as what, one object may be written.
///
/// Asked before the write begins, so that no connection and no transaction waits for a hook. A write may be asked for
/// more than once, and what is stored may change between the question and the write. Writes that hooks would be asked
/// about and that have no chance are refused here, as the write would: nobody may learn from a hook's answer what their
/// rights keep from them.
struct BeforeHooks: Sendable {
    let hooks: HookStore
    let client: HookClient
    let ledger: HookLedger
    let postgres: PostgresClient
    let settings: HookSettings

    /// What is about to be done.
    enum Write: Sendable {
        case create(Document, mustBeNew: Bool)
        case replace(ObjectID, Document)
        /// An upsert makes what is not there.
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

    /// Whether there is a hook that such a write is asked of.
    func concern(_ events: Set<Hook.Event>, in scope: QueryScope) async throws -> Bool {
        try await hooks.enabled(in: scope.space).contains {
            events.contains($0.event) && $0.collection == scope.collection.text
        }
    }

    /// The document to write, in place of the one given.
    ///
    /// - Throws: `hook-refused`, `hook-failed`; `forbidden`, `object-not-found`, `conflict`, `precondition-failed` as
    ///   the write itself.
    func saving(_ write: Write, _ document: Document, in scope: QueryScope) async throws -> Document {
        try await asked(write, in: scope).document ?? document
    }

    /// The write as the hooks want it, asked one after the other, by name; the same when there is none.
    func asked(_ write: Write, in scope: QueryScope, until deadline: ContinuousClock.Instant? = nil) async throws
        -> Write
    {
        let concerned = try await hooks.enabled(in: scope.space).filter { hook in
            hook.event == write.event && hook.collection == scope.collection.text
        }
        guard !concerned.isEmpty else { return write }
        try scope.access.require(write.operation)
        let deadline = deadline ?? .now + settings.totalTime
        var write = write
        for hook in concerned {
            let states = try await states(of: write, in: scope)
            let message = HookMessage(hook, scope.rights.identity).body(with: [
                ("object", states.after), ("original", states.before),
            ])
            let verdict = try await HookVerdict(hook, in: scope.space, ledger) {
                guard deadline > .now else { return WebhookOutcome(.timeout) }
                return try await client.ask(message, hook, in: scope.space, within: deadline - .now)
            }
            if let object = verdict.answer["object"], object != .null {
                write = try Self.write(write, with: object, hook)
            }
        }
        return write
    }

    /// The hook's fields in place of the client's.
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
        } catch let problem as HTTPProblem {
            throw HTTPProblem(
                .hookFailed, "The hook \"\(hook.name)\" answered with an object that cannot be stored.",
                cause: "\(problem.code.rawValue) \(problem.field ?? "")")
        }
    }

    /// With the client's id and lists of readers and writers where the hook does not name any: leaving them out must
    /// not open an object.
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

    // MARK: What hooks are shown

    /// The object as it is, and as it will be as far as is known, as JSON text; nil: there is none.
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
                throw HTTPProblem(.preconditionFailed, "There is an object with this id.", field: "_id")
            }
            guard found.may else {
                throw found.seen ? Access.refusal(.update) : HTTPProblem(.conflict, "The id is taken.", field: "_id")
            }
            return (found.before, found.after)
        case .replace(let id, let document):
            let kept = scope.access.kept(of: "doc").map { "\($0) || " as PostgresQuery } ?? ""
            return try await writable(id, document, "\(kept)\(document.stored)", .update, in: scope)
        case .change(let id, let document, let isUpsert):
            let doc: PostgresQuery =
                document.operations == nil
                ? "doc || \(document.stored)" : "storage.apply(doc, \(document.stored), FALSE)"
            let veil = try scope.access.veil(document.touched.operated)
            guard isUpsert else { return try await writable(id, document, doc, .update, veil, in: scope) }
            guard let found = try await stored(id, document, doc, .update, veil, in: scope) else {
                try scope.access.require(.create)
                return (nil, try await initial(document, scope))
            }
            guard found.seen else {
                throw HTTPProblem(.preconditionFailed, "There is an object with this id.", field: "_id")
            }
            try Self.check(found, .update, veil)
            return (found.before, found.after)
        case .remove(let id): return (try await writable(id, nil, "doc", .delete, in: scope).before, nil)
        case .delete(let id):
            return (try await writable(id, nil, "doc", .delete, includingRemoved: true, in: scope).before, nil)
        }
    }

    /// - Throws: `object-not-found`, also for what the asker may not read; `forbidden` for what they may read but not
    ///   write.
    private func writable(
        _ id: ObjectID, _ document: Document?, _ doc: PostgresQuery, _ operation: Access.Operation,
        _ veil: Access.Veil? = nil,
        includingRemoved: Bool = false, in scope: QueryScope
    ) async throws -> (before: String?, after: String?) {
        let found = try await stored(id, document, doc, operation, veil, includingRemoved: includingRemoved, in: scope)
        guard let found, found.seen else { throw HTTPProblem(.objectNotFound) }
        try Self.check(found, operation, veil)
        return (found.before, found.after)
    }

    private static func check(_ found: Stored, _ operation: Access.Operation, _ veil: Access.Veil?) throws {
        guard found.may else { throw Access.refusal(operation) }
        if let veil, !found.shows { throw veil.refusal }
    }

    private struct Stored {
        var before: String
        var after: String
        /// Whether the asker may read the object, whether they may also write it, and whether they see every field that
        /// the write depends on.
        var seen: Bool
        var may: Bool
        var shows: Bool
    }

    /// The object, and it with `doc` as its document; nil when there is none. What the asker may not write stays as it
    /// is.
    private func stored(
        _ id: ObjectID, _ document: Document?, _ doc: PostgresQuery, _ operation: Access.Operation,
        _ veil: Access.Veil? = nil,
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
                SELECT *, \(scope.access.columns(for: operation)), (\(veil?.condition ?? "TRUE")) AS shows FROM \(try scope.table)
                WHERE id = \(id.text)\(includingRemoved ? "" : " AND deleted IS NULL" as PostgresQuery) OFFSET 0) AS s
            """, in: scope.space)
        guard let row = rows?.first else { return nil }
        return Stored(
            before: try row.decode(0), after: try row.decode(1), seen: try row.decode(2), may: try row.decode(3),
            shows: try row.decode(4))
    }

    private static func list(_ listing: Document.Listing?, _ column: StaticString) -> PostgresQuery {
        guard let listing, listing != .absent else { return "s.\(unescaped: column)" }
        return "\(listing.names)"
    }

    /// A new object as it was sent, its operations carried out.
    private func initial(_ document: Document, _ scope: QueryScope) async throws -> String {
        guard document.operations != nil else { return String(decoding: document.json.bytes, as: UTF8.self) }
        let rows = try await run("SELECT storage.apply('{}', \(document.stored), TRUE)::text", in: scope.space)
        return try rows?.first?.decode(0) ?? "{}"
    }

    /// Nil when the collection is not there.
    private func run(_ statement: PostgresQuery, in space: AppSpace) async throws -> PostgresRows? {
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
    /// What the rules are asked for first.
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
    /// One write of a batch, as the hooks want it.
    func asked(_ item: Batch.Item, in scope: QueryScope, until deadline: ContinuousClock.Instant) async throws
        -> Batch.Item
    {
        let write: Write =
            switch item.act {
            case .create(let document): .create(document, mustBeNew: false)
            case .replace(let id, let document): .replace(id, document)
            case .change(let id, let document): .change(id, document, isUpsert: false)
            case .delete(let id): .delete(id)
            }
        let asked = try await asked(write, in: scope, until: deadline)
        guard let document = asked.document else { return item }
        let act: Batch.Item.Act =
            switch item.act {
            case .create: .create(document)
            case .replace(let id, _): .replace(id, document)
            case .change(let id, _): .change(id, document)
            case .delete: item.act
            }
        return Batch.Item(collection: item.collection, act: act, precondition: item.precondition)
    }
}
