import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Publishes the draft with the state `running`, in one transaction. The start is set to now if the draft has none. The
/// draft is refused if it has errors, a pinned version does not exist, or another experiment uses the same units. With
/// `If-Match`, the experiment starts only if its draft has not changed since the caller read it.
struct StartExperiment: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/start", "startExperiment",
        "Starts an experiment that is a draft or stopped, by publishing its draft as running.",
        callers: .documentManagers(.update),
        parameters: [
            .experimentKind,
            .experimentName,
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any."),
        ],
        body: .json(
            .object(
                [
                    "note": .string.maxLength(2_000)
                ]), isRequired: false),
        answers: [
            .answer(200, "The version that is now live, and its warnings.", .json(.configVersion))
        ],
        errors: [
            404: "There is no such experiment (`document-not-found`).",
            409: "The experiment is running or decided, or its end has passed (`conflict`).",
            412: "The draft does not meet `If-Match` (`precondition-failed`).",
            422: "The draft has errors: see `findings` (`document-refused`). Nothing was published.",
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let transition = try await ExperimentTransition(request, context, kinds, publisher)
        let condition = try DraftCondition(ifAnyIn: request)
        return .json(
            try await transition.run(from: [.draft, .stopped]) { draft, _, document, space in
                try condition.check(document)
                let now = publisher.now()
                var changes: [JSONValue.Member] = [.init("state", .string("running")), .init("stoppedAt", .null)]
                if draft["start"] ?? .null == .null { changes.append(.init("start", .string(now.formatted(.iso8601)))) }
                let content = draft.merging(.object(changes))
                let (experiment, findings) = ExperimentKind.read(content)
                if let end = experiment.end, end <= now {
                    throw ServiceError(
                        .conflict, "The end of the experiment has passed; change it first.", field: "end")
                }
                let all =
                    findings
                    + ExperimentKind.conflicts(of: experiment, named: transition.publication.key.name, in: space)
                guard !all.contains(where: { $0.severity == .error }) else {
                    throw ServiceError(.documentRefused, "Nothing was published; see findings.", findings: all.limited)
                }
                return .init(content: content, draft: content, findings: all)
            })
    }
}

/// Publishes the live version with the state `stopped`, and sets the state in the draft too.
struct StopExperiment: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/stop", "stopExperiment",
        "Stops a running experiment, so that all clients get the live documents again.",
        callers: .documentManagers(.update),
        parameters: [
            .experimentKind,
            .experimentName,
        ],
        body: .json(
            .object(
                [
                    "note": .string.maxLength(2_000)
                ]), isRequired: false),
        answers: [
            .answer(200, "The version that is now live, and its warnings.", .json(.configVersion))
        ],
        errors: [
            404: "There is no such experiment (`document-not-found`).",
            409: "The experiment is not running (`conflict`).",
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let transition = try await ExperimentTransition(request, context, kinds, publisher)
        return .json(
            try await transition.run(from: [.running]) { draft, live, _, _ in
                let changes = JSONValue.object([
                    .init("state", .string("stopped")),
                    .init("stoppedAt", .string(publisher.now().formatted(.iso8601))),
                ])
                return .init(content: live.merging(changes), draft: draft.merging(changes))
            })
    }
}

struct DecideExperiment: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/decide", "decideExperiment",
        """
        Ends a running or stopped experiment and publishes the configuration of the chosen variation, in one \
        transaction.
        """, callers: .manager(.update, .experiments),
        parameters: [
            .experimentKind,
            .experimentName,
        ],
        body: .json(
            .object(
                [
                    "variation": .string,
                    "note": .string.maxLength(2_000),
                ], required: ["variation"])),
        answers: [
            .answer(
                200,
                """
                The experiment's new version; `configuration` is the new version of the configuration, if one was \
                tested.
                """, .json(.configVersion))
        ],
        errors: [
            404: "There is no such experiment, or its configuration no longer exists (`document-not-found`).",
            409: "The experiment is neither running nor stopped (`conflict`).",
            422: """
            The experiment or the configuration has errors: see `findings` (`document-refused`). Nothing was \
            published.
            """,
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let transition = try await ExperimentTransition(request, context, kinds, publisher, ["note", "variation"])
        _ = try context.author(may: .update, .config)
        let key = try transition.fields.requiredString("variation")
        return .json(
            try await transition.run(from: [.running, .stopped]) { draft, live, _, _ in
                let (experiment, _) = ExperimentKind.read(live)
                guard let variation = experiment.variations.first(where: { $0.key == key }) else {
                    throw ServiceError(.invalidBody, "The experiment has no such variation.", field: "variation")
                }
                let decision = JSONValue.object([
                    .init("variation", .string(key)), .init("at", .string(publisher.now().formatted(.iso8601))),
                ])
                let changes = JSONValue.object([.init("state", .string("decided")), .init("decision", decision)])
                let winner = experiment.configuration.flatMap { name in
                    variation.configuration.map { (DocumentKey(.configuration, name), $0) }
                }
                return .init(content: live.merging(changes), draft: draft.merging(changes), winner: winner)
            })
    }
}

/// A change of an experiment's state, in one transaction with the versions it publishes.
struct ExperimentTransition: Sendable {
    let publication: Publisher.Request
    let fields: BodyFields
    private let publisher: Publisher

    struct Change {
        /// The content of the experiment's new version.
        var content: JSONValue
        /// The new draft. A draft that equals the live version gets `content` instead.
        var draft: JSONValue
        /// The configuration to publish, and the version whose content it gets.
        var winner: (DocumentKey, PinnedVersion)?
        /// The findings of the check of `content`; it is not checked again.
        var findings: [Finding] = []
    }

    init(
        _ request: Request, _ context: ServiceContext, _ kinds: Kinds, _ publisher: Publisher,
        _ known: Set<String> = ["note"]
    ) async throws {
        let key = try context.documentKey(kinds)
        guard key.kind == .experiment else { throw ServiceError(.notFound) }
        let author = try context.author(may: .update, .experiments)
        fields = try await BodyFields(request, known, isOptional: true)
        publication = Publisher.Request(key: key, space: try context.space, note: try fields.note(), author: author)
        self.publisher = publisher
    }

    /// - Parameter change: Makes the new content and the new draft from the current ones.
    /// - Returns: The version as JSON, with the configuration's version if one was published.
    /// - Throws: `conflict` if the experiment is in none of `states`; the errors of `Publisher.publish`.
    func run(
        from states: Set<ExperimentDocument.State>,
        _ change: @Sendable (_ draft: JSONValue, _ live: JSONValue, DocumentStore.Document, LiveSpace) throws -> Change
    ) async throws -> String {
        try await publisher.run(publication) { document, space, transaction in
            let draft = try JSONValue(parsing: (document.draft ?? "{}").utf8)
            let live = try await liveContent(document, transaction)
            let state = live.map { ExperimentKind.read($0).0.state } ?? .draft
            guard states.contains(state) else { throw ServiceError(.conflict, "The experiment is \(state.rawValue).") }
            let new = try change(draft, live ?? draft, document, space)
            let isDraftLive = live == draft
            try await DocumentStore.setDraft(
                (isDraftLive ? new.content : new.draft).text, of: document.id, by: publication.author, transaction)
            let published = try await publisher.add(
                new.content.text, publication, document, space, .publish, checked: new.findings, transaction)
            guard let (key, pinned) = new.winner else { return published.json }
            let configuration = try await publish(pinned, as: key, space, transaction)
            return published.json.dropLast() + #","configuration":"# + configuration + "}"
        }
    }

    private func liveContent(_ document: DocumentStore.Document, _ transaction: PostgresTransaction) async throws
        -> JSONValue?
    {
        guard let version = document.liveVersion else { return nil }
        let content = try await VersionStore.content(version, of: publication.key, in: publication.space, transaction)
        return try content.map { try JSONValue(parsing: $0.utf8) }
    }

    /// Publishes the content of a pinned version as a configuration. The draft gets the same content, unless it has
    /// unpublished changes.
    private func publish(
        _ pinned: PinnedVersion, as key: DocumentKey, _ space: LiveSpace, _ transaction: PostgresTransaction
    ) async throws -> String {
        var request = publication
        request.key = key
        if request.note.isEmpty { request.note = "Decided by the experiment \(publication.key.name)." }
        let content = try await VersionStore.content(pinned.version, of: pinned.key, in: request.space, transaction)
        guard let content, let document = try await DocumentStore.lock(key, request.space, transaction),
            let draft = document.draft
        else {
            throw ServiceError(
                .documentNotFound,
                "There is no configuration \(key.name), or no version \(pinned.version) of \(pinned.key.name).")
        }
        let renamed = try pinned.key.name == key.name ? content : Self.withoutTheme(content)
        var liveContent: String?
        if let live = document.liveVersion {
            liveContent = try await VersionStore.content(live, of: key, in: request.space, transaction)
        }
        if liveContent == draft {
            try await DocumentStore.setDraft(renamed, of: document.id, by: request.author, transaction)
        }
        return try await publisher.add(renamed, request, document, space, .publish, source: pinned.version, transaction)
            .json
    }

    /// Removes the theme, which repeats a part of the name: the content is published under another name.
    private static func withoutTheme(_ content: String) throws -> String {
        let configuration = try JSONValue(parsing: content.utf8)
        return configuration["theme"] == nil ? content : configuration.merging(.object([.init("theme", .null)])).text
    }
}
