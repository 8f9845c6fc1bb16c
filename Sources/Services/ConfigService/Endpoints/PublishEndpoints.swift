import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// With `If-Match`, the draft is published only if it has not changed since the caller read it. A draft that is already
/// live does not make a new version. A scheduled publication uses the draft as it is now.
struct PublishDraft: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/publish", "publishDraft", "Publishes the draft, now or later.",
        callers: .documentManagers(.update),
        parameters: [
            .documentKind,
            .documentName,
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any."),
        ],
        body: .json(
            .object(
                [
                    "note": .string.maxLength(2_000),
                    "at": .time,
                ]), isRequired: false),
        answers: [
            .answer(200, "The version that is now live, and its warnings.", .json(.configVersion)),
            .answer(202, "The scheduled publication.", .json(.object)),
        ],
        errors: [
            404: "There is no such document (`document-not-found`).",
            412: "The draft does not meet `If-Match` (`precondition-failed`).",
            422: "The draft has errors: see `findings` (`document-refused`). Nothing was published or scheduled.",
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, author) = try context.managed(kinds, may: .update)
        let fields = try await BodyFields(request, ["note", "at"], isOptional: true)
        let publication = Publisher.Request(key: key, space: try context.space, note: try fields.note(), author: author)
        let condition = try DraftCondition(ifAnyIn: request)
        guard let date = try fields.time("at") else {
            return .json(try await publisher.publish(publication, if: condition))
        }
        let now = publisher.now()
        guard date > now, date < now.addingTimeInterval(366 * 86_400) else {
            throw ServiceError(.invalidBody, "Expected a time in the future, within 366 days.", field: "at")
        }
        var response = Response.json(try await publisher.schedule(publication, at: date, if: condition))
        response.status = .accepted
        return response
    }
}

/// Leaves the draft unchanged.
struct RollBack: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/rollback", "rollBack",
        "Publishes the content of an older version as a new version.",
        callers: .documentManagers(.update),
        parameters: [
            .documentKind,
            .documentName,
        ],
        body: .json(
            .object(
                [
                    "version": .integer,
                    "note": .string.maxLength(2_000),
                ], required: ["version"])),
        answers: [
            .answer(200, "The version that is now live, and its warnings.", .json(.configVersion))
        ],
        errors: [
            404: "There is no such document or version (`document-not-found`, `version-not-found`).",
            422: """
            The server can no longer read the version: see `findings` (`document-refused`). Nothing was published.
            """,
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, author) = try context.managed(kinds, may: .update)
        try key.checkIsNotExperiment()
        let fields = try await BodyFields(request, ["version", "note"])
        guard let version = try fields.integer("version", in: 1...Int(Int32.max)) else {
            throw ServiceError(.invalidBody, "This field is required.", field: "version")
        }
        return .json(
            try await publisher.rollBack(
                Publisher.Request(key: key, space: try context.space, note: try fields.note(), author: author),
                to: version))
    }
}

/// The draft and the versions are kept.
struct Withdraw: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/withdraw", "withdraw",
        "Withdraws the live version, so that clients no longer find the document.",
        callers: .documentManagers(.update),
        parameters: [
            .documentKind,
            .documentName,
        ],
        answers: [
            .answer(204, "The document is no longer live.")
        ],
        errors: [
            404: "There is no such document (`document-not-found`).",
            409: "The document is not live, or it is an experiment, which is stopped instead (`conflict`).",
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, author) = try context.managed(kinds, may: .update)
        try key.checkIsNotExperiment()
        try await publisher.withdraw(Publisher.Request(key: key, space: try context.space, author: author))
        return Response(status: .noContent)
    }
}

/// Publishes the live version of the app's other environment, or the one that `version` names, in this environment. The
/// draft becomes that version, too, unless it has unpublished changes. The document is created if it does not exist and
/// the caller may create it.
struct Promote: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/promote", "promote", "Publishes a version from the app's other environment.",
        callers: .documentManagers(.update),
        parameters: [
            .documentKind,
            .documentName,
        ],
        body: .json(
            .object(
                [
                    "from": .oneOf("live", "test").defaulting(to: "test"),
                    "version": .integer,
                    "note": .string.maxLength(2_000),
                ])),
        answers: [
            .answer(200, "The version that is now live, and its warnings.", .json(.configVersion))
        ],
        errors: [
            404: """
            The other environment has no such version (`version-not-found`), or the document does not exist here and \
            the caller may not create it (`document-not-found`).
            """,
            422: "The version has errors here: see `findings` (`document-refused`). Nothing was published.",
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, author) = try context.managed(kinds, may: .update)
        let space = try context.space
        let fields = try await BodyFields(request, ["from", "version", "note"], isOptional: true)
        guard let environment = AppEnvironment(rawValue: try fields.string("from") ?? "test"),
            environment != space.environment
        else {
            throw ServiceError(.invalidBody, "Expected the app's other environment: live or test.", field: "from")
        }
        // The caller may hold a test key, which must not give access to live documents.
        if environment == .live, try context.principal.kind != .staff {
            throw ServiceError(
                .forbidden,
                "Only staff may promote from live to test, because a test key gives no access to live documents.")
        }
        let mayCreate = (try? context.author(may: .create, key.kind.area)) != nil
        return .json(
            try await publisher.promote(
                Publisher.Request(key: key, space: space, note: try fields.note(), author: author), from: environment,
                version: try fields.integer("version", in: 1...Int(Int32.max)), createIfMissing: mayCreate))
    }
}

/// Lists only the kinds that the caller may read.
struct ListSchedules: Endpoint {
    static let route = Route(
        .get, "/config/schedules", "listSchedules", "Lists scheduled publications in every state, newest first.",
        callers: .documentManagers(.read),
        parameters: [
            .query("before", .string, "`next` from the previous page: only publications scheduled before this one."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "A page of publications: `count`, `data`, and `next` if there are more.", .json(.object))
        ])

    let schedules: ScheduleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let kinds = try context.kinds(may: .read)
        let limit = try context.integer("limit")
        let list = try await schedules.list(
            in: try context.space, kinds: kinds, before: try request.id("before"), limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

struct CancelSchedule: Endpoint {
    static let route = Route(
        .delete, "/config/schedules/{id}", "cancelSchedule", "Cancels a scheduled publication.",
        callers: .documentManagers(.update),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "The cancelled publication.", .json(.object))
        ],
        errors: [404: "No publication with this id is waiting (`schedule-not-found`)."])

    let schedules: ScheduleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let kinds = try context.kinds(may: .update)
        let id = try context.uuid("id", else: .scheduleNotFound)
        guard let json = try await schedules.cancel(id, in: try context.space, kinds: kinds) else {
            throw ServiceError(.scheduleNotFound)
        }
        return .json(json)
    }
}

extension Publisher {
    /// Schedules the publication of the draft as it is now. It is checked now and again when it is due.
    ///
    /// - Throws: The errors of `publish`; `limit-exceeded`.
    fileprivate func schedule(_ request: Request, at date: Date, if condition: DraftCondition) async throws -> String {
        try await run(request) { document, space, transaction in
            try condition.check(document)
            guard let draft = document.draft, let kind = kinds[request.key.kind] else {
                throw ServiceError(.documentNotFound)
            }
            let findings = kind.check(try JSONValue(parsing: draft.utf8), named: request.key.name, in: space)
            guard !findings.contains(where: { $0.severity == .error }) else {
                throw ServiceError(.documentRefused, "Nothing was scheduled; see findings.", findings: findings.limited)
            }
            return try await ScheduleStore.add(
                draft, of: document, in: request.space, at: date, note: request.note, by: request.author, transaction)
        }
    }
}

extension DocumentKey {
    /// Refuses experiments: an older version would restore an older state.
    ///
    /// - Throws: `conflict`.
    fileprivate func checkIsNotExperiment() throws {
        guard kind != .experiment else {
            throw ServiceError(.conflict, "The state of an experiment changes only by start, stop and decide.")
        }
    }
}

extension BodyFields {
    /// - Throws: `invalid-body` for more than 2,000 characters.
    func note() throws -> String {
        let note = try string("note") ?? ""
        guard note.unicodeScalars.count <= 2_000 else {
            throw ServiceError(.invalidBody, "Expected at most 2,000 characters.", field: "note")
        }
        return note
    }
}

extension ServiceContext {
    /// The document kinds for which the caller may do `action`.
    ///
    /// - Throws: `forbidden` if there are none.
    func kinds(may action: StaffAction) throws -> [DocumentKind] {
        let kinds = DocumentKind.allCases.filter { (try? author(may: action, $0.area)) != nil }
        if kinds.isEmpty { _ = try author(may: action, .config) }
        return kinds
    }
}
