import Hummingbird
import MartletAPI
import MartletCore
import MartletPostgres

/// Runs a request's own statements under various rules, and rolls each one back.
struct RuleTrial: Sendable {
    /// The outcome of the request.
    enum Outcome: Sendable {
        case allowed
        /// Nil for an object that a list omits.
        case refused(ServiceError?)
        /// Stopped by something other than rules, such as a schema or a unique index.
        case stopped(ServiceError)

        var isAllowed: Bool { if case .refused = self { false } else { true } }
        var refusal: ServiceError? { if case .refused(let problem) = self { problem } else { nil } }
    }

    /// Lists of an object that a trial ignores.
    enum IgnoredLists: String { case none, readers, writers, both = "readers, writers" }

    /// The time that a test may take, and each of its statements. Rows that it locks stay locked for that time.
    struct Limits: Sendable {
        var total: Duration = .seconds(5)
        var statementInMilliseconds = 2_000
        var lockInMilliseconds = 1_000
    }

    let space: AppSchema
    let collection: CollectionName
    let test: RuleTest
    let rights: Rights
    /// In a transaction that will be rolled back.
    private let objects: ObjectStore
    private let transaction: PostgresTransaction
    private let end: ContinuousClock.Instant
    /// The object that is read, changed or deleted; nil for a new one.
    private let id: ObjectID?

    /// Stores the test's document, if it is not about a stored object.
    init(
        _ test: RuleTest, on collection: CollectionName, of space: AppSchema, as rights: Rights, _ objects: ObjectStore,
        _ transaction: PostgresTransaction, limits: Limits
    ) async throws {
        end = .now + limits.total
        (self.test, self.collection, self.space, self.rights) = (test, collection, space, rights)
        (self.objects, self.transaction) = (objects.within(transaction, isTrial: true), transaction)
        try await transaction.executeScript(
            """
            SET LOCAL statement_timeout = \(limits.statementInMilliseconds);
            SET LOCAL lock_timeout = \(limits.lockInMilliseconds)
            """)
        switch test.subject {
        case .stored(let id): self.id = id
        case .document where test.operation == .create: id = nil
        case .document(let document):
            let id = document.id ?? .make()
            do {
                _ = try await self.objects.create(
                    document, at: id, in: QueryScope(space: space, collection: collection, rights: .master))
            } catch let problem as ServiceError {
                throw problem.within("document")
            }
            self.id = id
        }
    }

    /// - Throws: `limit-exceeded` when the test has taken too long, `unavailable`.
    func run(_ rules: CollectionRules, ignoring lists: IgnoredLists = .none) async throws -> Outcome {
        guard ContinuousClock.now < end else {
            throw ServiceError(.limitExceeded, "The test takes too long. Try it with fewer or cheaper conditions.")
        }
        try await transaction.executeScript("SAVEPOINT trial")
        let outcome = try await outcome(rules, lists)
        try await transaction.executeScript("ROLLBACK TO SAVEPOINT trial")
        return outcome
    }

    private func outcome(_ rules: CollectionRules, _ lists: IgnoredLists) async throws -> Outcome {
        do {
            try await ignore(lists)
            let scope = QueryScope(
                space: space, collection: collection, rights: rights.replacing(rules, of: collection))
            return try await perform(scope) ? .allowed : .refused(missing)
        } catch let problem as ServiceError {
            // A new object may only take the id of one that the caller may replace.
            let isRefusal = problem.code == .forbidden || (problem.code == .conflict && problem.field == "_id")
            guard problem.isCallersFault else { throw problem }
            return isRefusal ? .refused(problem) : .stopped(problem)
        } catch let error as PostgresError
            where error.isSerializationFailure || ["55P03", "57014"].contains(error.sqlState)
        {
            throw ServiceError(.unavailable, cause: error.description)
        }
    }

    private var missing: ServiceError? { test.operation == .find ? nil : ServiceError(.objectNotFound) }

    private func ignore(_ lists: IgnoredLists) async throws {
        guard let id, lists != .none else { return }
        let columns: PostgresQuery =
            switch lists {
            case .readers: "readers = NULL"
            case .writers: "writers = NULL"
            case .none, .both: "readers = NULL, writers = NULL"
            }
        try await transaction.execute("UPDATE \(try space.table(collection)) SET \(columns) WHERE id = \(id.text)")
    }

    /// Whether the object was found, or the write carried out.
    private func perform(_ scope: QueryScope) async throws -> Bool {
        guard let id else {
            guard case .document(let document) = test.subject else { return false }
            _ = try await objects.create(document, in: scope)
            return true
        }
        var query = try ListQuery(Parameters(), in: scope)
        switch (test.operation, test.change) {
        case (.get, _): return try await objects.find(id, query, in: scope) != nil
        case (.find, _):
            try query.add(.object([.init("_id", .string(id.text))]), in: scope)
            return try await objects.list(query, in: scope).count > 0
        case (.delete, _): return try await objects.delete(id, if: nil, in: scope)
        case (.update, .fields(let document)?):
            return try await objects.change(id, by: document, if: nil, in: scope) != nil
        case (.update, .replacement(let document)?):
            return try await objects.replace(id, with: document, if: nil, in: scope) != nil
        case (.update, nil), (.create, _): return false
        }
    }
}
