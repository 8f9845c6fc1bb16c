import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /config/{kind}/{name}/publish` with perhaps `note`, and `at` for later: 200 with the version, or 202 with what
/// is scheduled.
///
/// `If-Match` with the draft's revision makes sure that what is published is what was looked at. What is live already
/// makes no new version.
struct PublishDraft: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/publish", "publishDraft", "Publishes the draft, now or later.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
            .header("If-Match", .string, "The draft's ETag, or *."),
        ],
        body: .json(
            .object(
                [
                    "note": .string.maxLength(2_000),
                    "at": .time,
                ]), isRequired: false),
        answers: [
            .answer(200, "The version, which is live.", .json(.configVersion)),
            .answer(202, "It is scheduled.", .json(.object)),
        ],
        errors: [
            404: "There is no such document or version (`document-not-found`, `version-not-found`).",
            412: "The draft is not the one that the request names (`precondition-failed`).",
            422: "The document has errors: see `findings` (`document-refused`). Nothing was published.",
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
        guard date > Date(), date < Date(timeIntervalSinceNow: 366 * 86_400) else {
            throw HTTPProblem(.invalidBody, "This must be a time within the next year.", field: "at")
        }
        var response = Response.json(try await publisher.schedule(publication, at: date, if: condition))
        response.status = .accepted
        return response
    }
}

/// `POST /config/{kind}/{name}/rollback` with `version` and perhaps `note`: an older version's content becomes the
/// newest version.
struct RollBack: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/rollback", "rollBack", "An older version becomes the newest one.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
        ],
        body: .json(
            .object(
                [
                    "version": .integer,
                    "note": .string.maxLength(2_000),
                ], required: ["version"])),
        answers: [
            .answer(200, "The version, which is live.", .json(.configVersion))
        ],
        errors: [
            404: "There is no such document or version (`document-not-found`, `version-not-found`).",
            422: "The document has errors: see `findings` (`document-refused`). Nothing was published.",
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, author) = try context.managed(kinds, may: .update)
        try key.checkIsFreeToMove()
        let fields = try await BodyFields(request, ["version", "note"])
        guard let version = try fields.integer("version", in: 1...Int(Int32.max)) else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "version")
        }
        return .json(
            try await publisher.rollBack(
                Publisher.Request(key: key, space: try context.space, note: try fields.note(), author: author),
                to: version))
    }
}

/// `POST /config/{kind}/{name}/withdraw`: clients find it no more until it is published again. 204.
struct Withdraw: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/withdraw", "withdraw", "Holds the document back until it is published again.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [
            404: "There is no such document or version (`document-not-found`, `version-not-found`).",
            409: "The name is taken, or a unique index forbids it (`conflict`).",
        ])

    let publisher: Publisher
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, author) = try context.managed(kinds, may: .update)
        try key.checkIsFreeToMove()
        try await publisher.withdraw(Publisher.Request(key: key, space: try context.space, author: author))
        return Response(status: .noContent)
    }
}

/// `POST /config/{kind}/{name}/promote` with `from`, the other environment, and perhaps its `version` and a `note`:
/// published here, too.
struct Promote: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/promote", "promote", "Publishes what the other environment has.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
        ],
        body: .json(
            .object(
                [
                    "from": .oneOf("live", "test").defaulting(to: "test"),
                    "version": .integer,
                    "note": .string.maxLength(2_000),
                ])),
        answers: [
            .answer(200, "The version, which is live.", .json(.configVersion))
        ],
        errors: [
            404: "There is no such document or version (`document-not-found`, `version-not-found`).",
            422: "The document has errors: see `findings` (`document-refused`). Nothing was published.",
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
            throw HTTPProblem(.invalidBody, "This must be the other environment.", field: "from")
        }
        // The key may be a test key, which reaches nothing of live.
        if environment == .live, try context.principal.kind != .staff {
            throw HTTPProblem(
                .forbidden, "Only staff bring something from live into test: a test key reaches live nowhere.")
        }
        let mayCreate = (try? context.author(may: .create, key.kind.area)) != nil
        return .json(
            try await publisher.promote(
                Publisher.Request(key: key, space: space, note: try fields.note(), author: author), from: environment,
                version: try fields.integer("version", in: 1...Int(Int32.max)), createIfMissing: mayCreate))
    }
}

/// `GET /config/schedules?before=&limit=`: what was scheduled, newest first.
struct ListSchedules: Endpoint {
    static let route = Route(
        .get, "/config/schedules", "listSchedules", "What was scheduled, newest first.",
        callers: .documentManagers(.read),
        parameters: [
            .query("before", .string, "The id in front of which the page ends."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "Done.", .json(.object))
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

/// `DELETE /config/schedules/{id}`: not published any more. 200 with what it was.
struct CancelSchedule: Endpoint {
    static let route = Route(
        .delete, "/config/schedules/{id}", "cancelSchedule", "Not published any more.",
        callers: .documentManagers(.update),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "What it was.", .json(.object))
        ],
        errors: [404: "Nothing waits by this id (`schedule-not-found`)."])

    let schedules: ScheduleStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let kinds = try context.kinds(may: .update)
        guard let id = context.parameters.get("id").flatMap({ UUID(uuidString: $0) }),
            let json = try await schedules.cancel(id, in: try context.space, kinds: kinds)
        else { throw HTTPProblem(.scheduleNotFound) }
        return .json(json)
    }
}

extension Publisher {
    /// Publishes the draft, as it is now, later. It is checked now and then.
    ///
    /// - Throws: as `publish`; `limit-exceeded`.
    fileprivate func schedule(_ request: Request, at date: Date, if condition: DraftCondition) async throws -> String {
        try await run(request) { document, space, transaction in
            try condition.check(document)
            guard let draft = document.draft, let kind = kinds[request.key.kind] else {
                throw HTTPProblem(.documentNotFound)
            }
            let findings = kind.check(try JSONValue(parsing: draft.utf8), named: request.key.name, in: space)
            guard !findings.contains(where: { $0.severity == .error }) else {
                throw HTTPProblem(.documentRefused, "Nothing was scheduled: see findings.", findings: findings.limited)
            }
            return try await ScheduleStore.add(
                draft, of: document, in: request.space, at: date, note: request.note, by: request.author, transaction)
        }
    }
}

extension DocumentKey {
    /// The state of an experiment is not to come back from an older version.
    ///
    /// - Throws: `conflict`.
    fileprivate func checkIsFreeToMove() throws {
        guard kind != .experiment else {
            throw HTTPProblem(.conflict, "An experiment goes on by start, stop and decide.")
        }
    }
}

extension BodyFields {
    /// - Throws: `invalid-body` for more than 2,000 characters.
    func note() throws -> String {
        let note = try string("note") ?? ""
        guard note.unicodeScalars.count <= 2_000 else {
            throw HTTPProblem(.invalidBody, "This may have at most 2,000 characters.", field: "note")
        }
        return note
    }
}

extension ServiceContext {
    /// The kinds with which whoever manages documents may do `action`.
    ///
    /// - Throws: `forbidden` when there is none.
    func kinds(may action: StaffAction) throws -> [DocumentKind] {
        let kinds = DocumentKind.allCases.filter { (try? author(may: action, $0.area)) != nil }
        if kinds.isEmpty { _ = try author(may: action, .config) }
        return kinds
    }
}
