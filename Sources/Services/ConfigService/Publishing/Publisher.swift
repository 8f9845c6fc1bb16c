import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Makes documents live: checks them, stores versions and notifies all instances.
///
/// Publications in a space are serialized, so a document is always checked against what is live.
struct Publisher: Sendable {
    let postgres: PostgresClient
    let kinds: Kinds
    let live: LiveDocuments
    let now: @Sendable () -> Date

    /// A version that is now live.
    struct Published: Sendable {
        let version: Int
        /// The version as JSON, including the warnings.
        let json: String
    }

    /// The common parameters of a publication.
    struct Request: Sendable {
        var key: DocumentKey
        var space: AppSpace
        var note = ""
        var author: Author
    }

    /// Publishes the draft.
    ///
    /// - Returns: The version as JSON.
    /// - Throws: `document-not-found`, `precondition-failed`, `document-refused` with the findings.
    func publish(_ request: Request, if condition: DraftCondition) async throws -> String {
        try await run(request) { document, space, transaction in
            try condition.check(document)
            guard let draft = document.draft else { throw ServiceError(.documentNotFound) }
            return try await add(draft, request, document, space, .publish, transaction).json
        }
    }

    /// Publishes an older version's content as a new version. The draft is not changed.
    ///
    /// - Throws: `document-not-found`, `version-not-found`, `document-refused` if this program can no longer read the
    ///   version.
    func rollBack(_ request: Request, to version: Int) async throws -> String {
        try await run(request) { document, space, transaction in
            guard let content = try await VersionStore.content(version, of: request.key, in: request.space, transaction)
            else {
                throw ServiceError(.versionNotFound, "There is no version \(version).", field: "version")
            }
            return try await add(
                content, request, document, space, .rollback, source: version, checked: [], transaction
            ).json
        }
    }

    /// Withdraws the live version, so that clients no longer find the document.
    ///
    /// - Throws: `document-not-found`, `conflict` if the document is not live.
    func withdraw(_ request: Request) async throws {
        _ = try await run(request) { document, _, transaction in
            guard document.liveVersion != nil else { throw ServiceError(.conflict, "The document is not live.") }
            try await VersionStore.withdraw(document, in: request.space, transaction)
            return ""
        }
    }

    /// Publishes what is live in another environment of the app. The draft is updated too, unless it has unpublished
    /// changes.
    ///
    /// - Parameter version: The version in the other environment; nil for its live one.
    /// - Throws: `document-not-found`, `version-not-found`, `document-refused`.
    func promote(_ request: Request, from environment: AppEnvironment, version: Int?, createIfMissing: Bool = true)
        async throws -> String
    {
        let other = AppSpace(appID: request.space.appID, environment: environment)
        return try await run(request, createIfMissing: createIfMissing) { document, space, transaction in
            let source = try await transaction.query(
                """
                SELECT v.version, v.content FROM config.documents AS d JOIN config.versions AS v
                    ON v.document_id = d.id AND v.version = coalesce(\(version.map { Int32(clamping: $0) }), d.live_version)
                WHERE d.app_id = \(other.appID) AND d.environment = \(other.environment.rawValue) AND d.kind = \(request.key.kind.rawValue)
                    AND d.name = \(request.key.name)
                """
            ).first
            guard let source else {
                throw ServiceError(
                    .versionNotFound, "There is no such version in \(environment.rawValue).", field: "version")
            }
            let content = try await transferred(try source.decode(1), document, request, transaction)
            if try await hasNoUnpublishedChanges(document, request, transaction) {
                try await DocumentStore.setDraft(content, of: document.id, by: request.author, transaction)
            }
            return try await add(
                content, request, document, space, .promote, source: Int(try source.decode(0, as: Int32.self)),
                transaction
            ).json
        }
    }

    /// Publishes content from another space. The draft is not changed.
    func publishImported(_ content: String, _ request: Request) async throws -> String {
        try await run(request) { document, space, transaction in
            try await add(
                try await transferred(content, document, request, transaction), request, document, space, .import,
                transaction
            ).json
        }
    }

    // MARK: In a transaction

    /// Runs `body` with the space and the document locked. On return, its publications are visible in this instance's
    /// memory.
    func run(
        _ request: Request, createIfMissing: Bool = false,
        _ body: @Sendable (DocumentStore.Document, LiveSpace, PostgresTransaction) async throws -> String
    ) async throws -> String {
        // The space is read before the lock is taken, so that a transaction never waits for another connection. The
        // generation shows whether the space is still current; the fifth attempt proceeds even if it is not.
        var attempts = 0
        while true {
            await live.catchUp(request.space)
            let space = try await live.current(request.space)
            attempts += 1
            let isLast = attempts == 5
            let answer: String? = try await postgres.withTransaction { transaction in
                try await DocumentStore.lock(request.space, transaction)
                guard try await Self.generation(request.space, transaction) == space.generation || isLast else {
                    return nil
                }
                var document = try await DocumentStore.lock(request.key, request.space, transaction)
                if document == nil, createIfMissing {
                    _ = try await DocumentStore.insert(
                        request.key, request.space, "{}", request.author,
                        kinds[request.key.kind]?.maximumDocuments ?? 0, transaction)
                    document = try await DocumentStore.lock(request.key, request.space, transaction)
                }
                guard let document, document.draft != nil || createIfMissing else {
                    throw ServiceError(.documentNotFound)
                }
                return try await body(document, space, transaction)
            }
            if let answer {
                await live.catchUp(request.space)
                return answer
            }
        }
    }

    /// Checks the content and stores it as the next version.
    ///
    /// - Parameter checked: Findings already made; nil to check the content here.
    func add(
        _ content: String, _ request: Request, _ document: DocumentStore.Document, _ space: LiveSpace,
        _ origin: VersionStore.Origin, source: Int? = nil,
        checked: [Finding]? = nil, _ transaction: PostgresTransaction
    ) async throws -> Published {
        guard let kind = kinds[request.key.kind] else { throw ServiceError(.notFound) }
        let value = try JSONValue(parsing: content.utf8)
        let pins = kind.pins(value, named: request.key.name)
        var findings = checked ?? kind.check(value, named: request.key.name, in: space)
        for pin in try await VersionStore.missing(pins, in: request.space, transaction) {
            findings.append(
                Finding(
                    .error, "unknown-version", at: "",
                    "There is no version \(pin.version) of the \(pin.key.kind.rawValue) \(pin.key.name)."))
        }
        if !findings.contains(where: { $0.severity == .error }) {
            do {
                _ = try kind.compile(value, named: request.key.name)
            } catch {
                findings.append(Finding(.error, "unreadable", at: "", "The document cannot be read: \(error)"))
            }
        }
        guard !findings.contains(where: { $0.severity == .error }) else {
            throw ServiceError(.documentRefused, "Nothing was published; see findings.", findings: findings.limited)
        }
        let (version, json) = try await VersionStore.add(
            content, pins: pins, to: document, of: request.key, in: request.space, origin, source: source,
            note: request.note, by: request.author,
            transaction)
        return Published(version: version, json: json.dropLast() + ",\"findings\":" + findings.limited.json.text + "}")
    }

    /// See `PublishedKind.transferred`.
    func transferred(
        _ content: String, _ document: DocumentStore.Document?, _ request: Request, _ transaction: PostgresTransaction
    ) async throws -> String {
        guard let kind = kinds[request.key.kind] else { return content }
        var live: String?
        if let version = document?.liveVersion {
            live = try await VersionStore.content(version, of: request.key, in: request.space, transaction)
        }
        let value = try JSONValue(parsing: content.utf8)
        let transferred = kind.transferred(value, onto: try live.map { try JSONValue(parsing: $0.utf8) })
        return transferred == value ? content : transferred.text
    }

    private func hasNoUnpublishedChanges(
        _ document: DocumentStore.Document, _ request: Request, _ transaction: PostgresTransaction
    ) async throws -> Bool {
        guard let draft = document.draft else { return true }
        // No version yet: either this call has created the document, with the draft {}, or someone has written a draft
        // and has not published it.
        guard document.lastVersion > 0 else { return draft == "{}" }
        return try await VersionStore.content(
            document.liveVersion ?? document.lastVersion, of: request.key, in: request.space, transaction) == draft
    }

    private static func generation(_ space: AppSpace, _ transaction: PostgresTransaction) async throws -> Int64 {
        try await transaction.query(
            "SELECT generation FROM config.spaces WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
        )[0].decode(0)
    }
}

extension [Finding] {
    /// The findings that fit into an answer, errors first.
    var limited: [Finding] {
        Array((filter { $0.severity == .error } + filter { $0.severity == .warning }).prefix(200))
    }

    var json: JSONValue {
        .array(
            map { finding in
                .object([
                    .init("severity", .string(finding.severity.rawValue)), .init("code", .string(finding.code)),
                    .init("path", .string(finding.path)),
                    .init("message", .string(finding.message)),
                ])
            })
    }
}
